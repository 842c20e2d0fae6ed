"""What replaces or corrects a known statement by rules, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known import known, told
from memorybook.entries.replaces import claims, outdated, replaces


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at Acme", "I work at Globex since May"),
        ("The user works at Acme as a developer.", "The user got a new job at a bank."),
        ("Ann works for Acme", "Ann has joined Globex."),
        ("I live in Oslo with my dog", "I moved to Bergen with my wife"),
        ("The user lives in Oslo.", "The user now lives in Bergen."),
        ("The user's favourite editor is Helix.", "The user's favourite editor is now Zed."),
        ("My name is Ann", "My name is Bob"),
        ("Ann: I live in Oslo.", "Ann: I moved to Bergen."),
        ("Ann: My boss is Kim", "Ann's boss is Lee"),
        ("Ann's phone number is 555", "Ann's phone number is 777"),
        ("The user prefers tabs over spaces.", "The user prefers spaces over tabs."),
        ("The user prefers tabs over spaces.", "The user prefers spaces."),
        ("The user prefers spaces.", "The user prefers tabs over spaces."),
        ("The user prefers dark mode.", "The user prefers light mode."),
        ("The weekly meeting is on Monday at 10", "The weekly meeting moved from Monday to Tuesday"),
        ("Search in the app runs on Solr", "We replaced Solr with Lucene for search in the app"),
        ("用户在银行工作，住在滨江。", "用户在腾讯上班。"),
        ("用户在银行工作", "用户跳槽去了腾讯。"),
        ("用户在银行工作", "用户加入了青梭科技。"),
        ("我住在杭州", "我搬到了上海"),
        ("I live in Berlin.", "I live in Hamburg."),
        ("The user lives in Berlin.", "The user lives in New York City."),
        ("用户住在杭州。", "用户住在上海。"),
        ("我家在杭州市", "我住在上海"),
        ("用户的编辑器是 GoLand。", "用户的编辑器换成了 VS Code。"),
        ("用户的生日是 6 月 25 日", "用户的生日是 6 月 26 日"),
        ("用户更喜欢深色主题。", "用户更喜欢浅色主题。"),
        ("用户更喜欢茶而不是咖啡", "用户更喜欢咖啡而不是茶"),
        ("I live in Berlin.", "Correction: I live in Hamburg."),
        ("更正：我住在杭州", "更正：我住在上海"),
        ("I live in Salthill with Tomas.", "We moved to Oranmore last weekend."),
        ("用户住在江北，和女儿一起住。", "我们上周末搬到镇海了。"),
        ("组里的周会在周一上午", "组里的周会从周一上午改到周二上午"),
        ("织桥的数据库用 MySQL", "织桥的数据库从 MySQL 换成 PostgreSQL"),
    ],
)
def test_a_new_value_of_the_same_thing_replaces_the_old_one(old: str, new: str) -> None:
    assert replaces(told(new), known("a", old)) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann joined a travel club", "Ann joined a church"),
        ("Ann works at Acme", "Ann joined a gym"),
        ("我在银行上班", "我加入了读书会"),
        ("Ann: I live in Oslo", "Kim: I now live in Bergen"),
        ("Ann: I work at Acme", "I work at Globex"),
        ("I live in Oslo", "I live in Norway"),
        ("I live in Oslo", "I now live in a small flat"),
        ("My boss is Kim", "My boss is angry"),
        ("My job is hard", "My job is boring"),
        ("我住在杭州", "我住在浙江"),
        ("我在青梭科技工作", "我在杭州工作"),
        ("用户的老板是王总", "用户的老板是个好人"),
        ("The user works at Acme", "The user works for Acme Inc"),
        ("我住在杭州滨江", "我住在杭州"),
        ("Ann works at Acme", "Bob works at Globex"),
        ("The user might work at Globex", "I work at Acme"),
        ("I work at Acme", "I might work at Globex"),
        ("I work at Acme", "Do I work at Globex?"),
        ("I work at Acme", "I do not work at Globex"),
        ("My friend is Ann", "My friend is Bob"),
        ("I live in Oslo", "I lived in Bergen"),
        ("I live in Oslo", "I used to live in Bergen"),
        ("The user lives in Oslo.", "The user's sister lives in Bergen."),
        ("用户住在杭州", "用户的妹妹住在上海"),
        ("用户住在杭州", "用户打算搬到上海"),
        ("I live in Berlin", "I also live in Hamburg"),
        ("I live in Berlin", "I live in Hamburg on weekends"),
        ("I live in Berlin on weekdays", "I live in Hamburg"),
        ("I live in Berlin", "I live in Kreuzberg"),
        ("用户住在杭州", "用户周末住在上海"),
        ("用户住在杭州", "用户住在浦东"),
        ("用户住在杭州", "用户住在 Hangzhou"),
        ("The user prefers tea.", "The user prefers coffee."),
        ("The user prefers tea over coffee.", "The user prefers juice over water."),
        ("用户喜欢绿茶", "用户喜欢红茶"),
        ("The meeting about hiring is on Monday", "The tests moved from Monday to Tuesday"),
        ("I live in Oslo", "I moved to the next stage"),
        ("我在吃饭", "我在公司做晚饭"),
        ("用户在利兹当护士", "用户在周末上班"),
    ],
)
def test_what_is_doubtful_is_left_alone(old: str, new: str) -> None:
    assert replaces(told(new), known("a", old)) is None


@pytest.mark.parametrize(
    ("todo", "said"),
    [
        ("Send the tax report to Kim by 2026-07-01", "The tax report was sent to Kim"),
        ("Renew the domain.", "The domain renew is done"),
        ("顾怀川要在 2026-06-30 之前完成个税汇算。", "顾怀川 2026-06-19 完成了个税汇算，退税 1860 元。"),
        ("别忘了买降噪耳机", "降噪耳机已买"),
        ("Mrs Keane's cello needs new pegs before Christmas.", "Mrs Keane's cello is done, pegs and all."),
        ("冯阿姨的座钟春节前要换发条。", "冯阿姨的座钟发条已经换好了。"),
    ],
)
def test_a_todo_that_is_done_is_no_longer_true(todo: str, said: str) -> None:
    finished = said.replace("was sent", "is sent")
    assert replaces(told(finished), known("a", todo, category="todo")) == "the todo is done"
    assert replaces(told(finished, category="todo"), known("a", todo, category="todo")) is None


def test_another_todo_stays() -> None:
    todo = known("a", "Send the tax report to Kim", category="todo")
    assert replaces(told("The slides are sent to Bob"), todo) is None
    assert replaces(told("The tax report to Kim is not sent"), todo) is None
    assert replaces(told("The tax report to Kim is sent"), known("a", "The tax report goes to Kim")) is None


def test_a_claim_names_whose_attribute_has_which_value() -> None:
    [work, live] = claims("My boss is Kim. I live in Oslo, near the sea")
    assert {tuple(work), tuple(live)} == {
        ("user", "live", "oslo", "", False),
        ("user", "boss", "kim", "", False),
    }
    assert claims("用户的职位现在是技术负责人") == (("user", "职位", "技术负责人", "", True),)
    assert claims("If I work at Acme") == ()


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert claims("x. " * 300 + "I live in Oslo") == ()


# --- a correction ------


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        ("The user's sister's name is Lena.", "The user's sister's name is not Lena but Lina.", ""),
        ("用户的女儿叫小雨。", "用户的女儿不叫小雨，叫小语。", ""),
        ("用户的女儿叫小雨。", "用户的女儿不是叫小雨，是叫小语。", ""),
        ("用户的女儿叫小雨。", "用户的女儿叫小语。", "不对，我女儿叫小语"),
        ("The server listens on port 8080.", "The server listens on port 9090 rather than 8080.", ""),
        ("The user lives in Boston.", "The user lives in New York, not Boston.", ""),
        ("The user drinks coffee.", "The user no longer drinks coffee.", ""),
        ("用户住在三楼。", "用户不住三楼，住五楼。", ""),
        ("会议在周五。", "会议在周一，不是周五。", ""),
        ("会议周五下午3点。", "会议改到周五下午4点。", ""),
        ("The meeting is on Friday.", "The meeting has moved to Monday.", ""),
        ("The meeting is at 3pm on Friday.", "The meeting is at 4pm on Friday, not 3pm.", ""),
        ("用户对花生过敏。", "用户对虾过敏，不是花生。", ""),
        ("The user's sister's name is Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user goes to Shanghai next Tuesday. (2026-11-24)",
         "The user goes to Shanghai on Thursday, not Tuesday. (2026-11-26)", ""),
        ("We decided to ship on Friday. (2026-11-27)", "We decided to ship on Monday instead of Friday. (2026-11-23)",
         ""),
        ("The gate code is 4711.", "The gate code is 4712.", "No, the gate code is 4712."),
        ("The flour order goes out every Tuesday before noon.",
         "The flour order goes out every Wednesday before noon, not Tuesday.",
         "Correction: remember that the flour order goes out every Wednesday before noon, not Tuesday."),
        ("The keys were with Ines before the move.", "The keys were with Bela before the move.",
         "Correction: the keys were with Bela before the move."),
        ("面粉每周二中午前下单。", "面粉每周三中午前下单，不是周二。", "更正：面粉每周三中午前下单，不是周二。"),
        ("搬家之前钥匙在3楼。", "搬家之前钥匙在5楼。", "更正：搬家之前钥匙在5楼。"),
        ("门禁密码是4711。", "门禁密码是4712。", "更正：门禁密码是4712。"),
        ("我们决定周五发布。（2026-11-27）", "我们决定改到周一发布。（2026-11-23）", ""),
        ("用户喜欢喝咖啡。", "用户现在不喝咖啡了，改喝茶。", ""),
        ("用户不吃香菜。", "用户现在可以吃香菜了。", ""),
        ("The user doesn't eat coriander.", "The user can eat coriander now.", ""),
    ],
)  # fmt: skip
def test_a_correction_replaces_what_it_corrects(old: str, new: str, quote: str) -> None:
    assert replaces(told(new, quote=quote), known("a", old)) == "corrects it"


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        ("Our backend ships on Friday.", "Our frontend ships on Monday, not Friday.", ""),
        ("The dinner is on Friday.", "The team dinner is on Monday, not Friday.", ""),
        ("The user drinks coffee.", "The user drinks tea in the evening instead of coffee.", ""),
        ("The user drinks coffee.", "The user drinks tea instead of coffee in the evening.", ""),
        ("The user drinks coffee in the morning.", "The user drinks tea, not coffee.", ""),
        ("The user's sister's name is Lena.", "Ann's sister's name is Lina, not Lena.", ""),
        ("Ann's sister's name is Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user likes Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user's sister's name is Lina, not Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user's sister's name is Lina, not Lena.", "The user's cat's name is Mimi, not Lena.", ""),
        ("用户的儿子叫小雨。", "用户的女儿叫小语，不是小雨。", ""),
        ("用户的女儿叫小雨。", "用户的大女儿叫小语，不是小雨。", ""),
        ("The backup runs at 3am.", "The backup runs at 4am.", ""),
        ("The backup of the shop runs at 3am.", "The backup runs at 4am.", "No, the backup runs at 4am"),
        ("The backup runs at 3am.", "The backup runs at 4am on 5 nodes.", "No, …"),
        ("用户喜欢喝咖啡。", "用户的妻子现在不喝咖啡了，改喝茶。", ""),
        ("用户的妻子不吃香菜。", "用户现在可以吃香菜了。", ""),
        ("用户不吃香菜。", "用户现在可以吃香菇了。", ""),
        ("Ann doesn't eat coriander.", "The user can eat coriander now.", ""),
        ("The user does not ship on Friday.", "The user ships on Monday, not Friday.", ""),
        ("The user has a dog, not a cat.", "The user has a bird, not a cat.", ""),
        ("用户住在杭州。", "用户现在不在杭州工作。", ""),
        ("Use tabs in Go.", "Use spaces in Python, not tabs.", ""),
        ("Use tabs in Go.", "Use spaces, not tabs.", ""),
        ("The user ran 5 km on Monday.", "The user ran 3 km on Tuesday.", "no, I ran"),
        ("The team works on Monday and Friday.", "The team works on Monday, not Tuesday.", ""),
        ("The user flies to Oslo on 3 May.", "The user flies to Bergen on 9 May, not Oslo.", ""),
        ("Call Bob instead of Ann.", "Call Kim instead of Ann.", ""),
        ("The API returns 404.", "The UI returns 500, not 404.", ""),
        ("Ann likes tea.", "Bob likes coffee, not tea.", ""),
        ("Ann is at 3pm.", "Bob is at 4pm, not 3pm.", ""),
    ],
)
def test_a_correction_of_something_else_leaves_it_alone(old: str, new: str, quote: str) -> None:
    assert replaces(told(new, quote=quote), known("a", old)) is None


@pytest.mark.parametrize(
    ("old", "new", "is_gone"),
    [
        ("Nobody deploys on Thursdays.", "The deploy ban is on Fridays.", True),
        ("The team lunch is at 12 pm.", "Lunch starts at 1 pm.", True),
        ("The user wants to enter Eastford, exam 347.", "The user is switching to Westford, exam 347.", True),
        ("Mondays 7 to 8 am before work.", "Tuesdays instead, still 7 to 8.", True),
        ("退房最晚十一点。", "退房改十二点。", True),
        ("目标东大，专业课 347。", "换西大，专硕照考 347。", True),
        ("The deploy script is in bin.", "The deploy ban is on Fridays.", False),
        ("The user has 2 cats.", "The user has 2 dogs now.", False),
        ("奶奶下周六到。", "鲜奶不订了。", False),
        ("我们决定买平板烤箱，因为另一台要三相电。", "烤箱跳闸两次，慢启动之后就好了。", False),
        ("域名的证书这周要清一遍。（2026-06-26）", "清完了，一共 46 个域名。", True),
        ("里屋租给小邵，一月起。", "小邵打电话来，说里屋不租了。", True),
        (
            "The user's supplier for spruce is Holzer in Mittenwald.",
            "User: Holzer is too slow, from now on I order spruce elsewhere.",
            True,
        ),
        ("The user's partner lives in Berlin with two cats.", "The user moved to Berlin for the job.", False),
        ("客户星河要十二张插图，截止日期是12月10日。", "星河要的是十四张，不是十二张。", True),
        ("Nova wants twelve pictures by May 10.", "It is fourteen pictures for Nova, not twelve.", True),
        ("客户星河要十二张插图。", "海风要的是十四张，不是十二张。", False),
        ("我妹妹小雨在成都当护士", "更正：小雨现在在重庆当护士，不在成都", True),
        ("小雨对花生过敏", "更正：小雨现在在重庆当护士，不在成都", False),
        ("The wifi password is on the fridge.", "Correction: the wifi password is in the drawer.", True),
        ("The user's sister Lena is a nurse in Lyon.", "Correction: Lena now works in Bonn.", True),
        ("The user does not want hostels.", "The user goes to Seville instead of Lisbon.", False),
        ("Declan's rent is 280 euros a month, due on the 5th.", "User: I earn 2,900 euros a month before tax.", False),
    ],
)
def test_what_says_another_value_of_the_same_thing_outdates_it(old: str, new: str, is_gone: bool) -> None:
    assert bool(outdated(replace(told(new), changes=True), [known("a", old)])) is is_gone


@pytest.mark.parametrize(
    ("old", "another", "same"),
    [
        ("The rent of flat 3 is 900 euros.", "The rent of flat 5 is 1200 euros.", "The rent of flat 3 is 950 euros."),
        ("The rent of flat 3 is 900 euros.", "The rent of flat 5 went up to 950 euros.", "The rent is now 950 euros."),
        ("The server db1 runs on port 5432.", "The server db2 runs on port 5433 now.",
         "The server db1 runs on port 5433 now."),
        ("Anna's birthday is on May 3.", "Bob's birthday is on June 7.", "Anna's birthday is on May 4."),
        ("Anna's meeting is on Monday.", "Bob's meeting was moved to Friday.", "Anna's meeting was moved to Friday."),
        ("The dentist visit in March costs 80 euros.", "The dentist visit in May costs 120 euros.",
         "The dentist visit in March costs 120 euros."),
        ("The meeting in room 101 is on Monday.", "The meeting in room 204 moved to Friday.",
         "The meeting in room 101 moved to Friday."),
        ("3号楼的房租是900元。", "5号楼的房租涨到1200元了。", "3号楼的房租涨到950元了。"),
        ("安娜的生日是5月3日。", "鲍勃的生日是6月7日。", "安娜的生日是5月4日。"),
        ("用户的老婆的航班九点起飞。", "用户的弟弟的航班改到十一点了。", "用户的老婆的航班改到十一点了。"),
    ],
)  # fmt: skip
def test_what_differs_in_two_ways_is_another_thing(old: str, another: str, same: str) -> None:
    found = [outdated(replace(told(new), changes=True), [known("a", old)]) for new in (another, same)]
    assert [[one.text for one in gone] for gone in found] == [[], [old]]
