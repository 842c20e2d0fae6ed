"""How alike texts that have nothing to do with each other seem to an embedder.

To one embedder such texts have a cosine of 0, to another of 0.8. It is measured on the questions and statements below,
each question against the answers to the others: what a book holds says nothing of it, for all of that may be of one
kind, and questions are spelled unlike what answers them. The bundled embedders carry what was measured of them.
"""

from __future__ import annotations

from math import sqrt
from operator import mul

from memorybook._light import TYPE_CHECKING
from memorybook.inference.static import chosen, vectors_of

if TYPE_CHECKING:
    from memorybook.protocols import Embedder

DEVIATIONS = 3.5
"""Standard deviations above the mean up to which a cosine is one of such texts."""

LARGEST = 0.95

ASSUMED = 0.2
"""For an embedder that reads neither language."""

_EN = """\
What is the dog allergic to?|The vet said that Max must not eat chicken any more; he gets a rash from it.
When does the train to Leeds leave?|I booked the 7:42 from platform 3, it arrives a little after nine.
Who repaired the roof?|Mr Novak came on Tuesday with two men and fixed the leak above the kitchen.
How much is the rent of the flat?|We signed the lease: 1,150 euros a month, heating included, from March on.
Which database do we use in production?|After the load test the team decided for Postgres 16 on the two big servers.
What did my sister name her baby?|Clara's little girl was born on Sunday, they call her Ida.
Where do we keep the spare key?|The second one lies under the blue flower pot beside the garden door.
What should I cook for the guests on Friday?|Tom is vegetarian and Ana eats no gluten, so it will be risotto.
Why was the release delayed?|The migration failed on the staging machine, therefore version 2.4 ships a week later.
How is grandpa after the operation?|The new knee heals well, he walks with a stick and starts physiotherapy on Monday.
Which book did you recommend to me?|You have to read The Left Hand of Darkness, I could not put it down.
What is the plan for the holidays?|In August we take the ferry to Crete and stay at a small house near the beach.
Who is my new manager?|Since the reorganisation I report to Priya from the Berlin office.
What colour shall the living room be?|We agreed on a light sage green for the walls and white for the ceiling.
How often do I take the pills?|The doctor prescribed one tablet of iron every morning before breakfast.
Did the bank approve the loan?|The letter came today: they lend us 200,000 at 3.1 percent over twenty years."""
_ZH = """\
狗对什么过敏？|兽医说旺财不能再吃鸡肉了，一吃就起疹子。
去上海的火车几点开？|我订了早上七点四十二分的高铁，九点多到虹桥。
屋顶是谁修的？|星期二王师傅带了两个人来，把厨房上面漏水的地方补好了。
房子的租金是多少？|合同签好了，每个月四千五，含暖气，三月起租。
生产环境用的是哪个数据库？|压测之后团队决定在两台大机器上用 Postgres。
姐姐的宝宝叫什么名字？|小女孩是周日出生的，他们给她取名叫念念。
备用钥匙放在哪里？|另一把在花园门旁边那个蓝色花盆底下。
周五请客做什么菜？|老李吃素，小安不能碰麸质，所以我打算做蘑菇烩饭。
发布为什么推迟了？|迁移脚本在预发机器上失败了，2.4 版晚一个星期上线。
爷爷手术后怎么样？|新膝盖恢复得不错，拄着拐能走，下周一开始做康复。
你给我推荐过哪本书？|一定要看《三体》，我一口气读完的。
假期有什么安排？|八月我们坐船去海岛，住在沙滩旁边的小房子里。
我的新领导是谁？|部门调整以后，我直接向北京办公室的陈静汇报。
客厅刷什么颜色？|最后定了墙面浅绿色，天花板白色。
药多久吃一次？|医生开了铁剂，早饭前一片，连吃三个月。
银行批了贷款没有？|今天收到通知，借给我们两百万，利率三点一，二十年还清。"""


PAIRS = [[line.split("|") for line in text.splitlines()] for text in (_EN, _ZH)]
QUESTIONS = [question for pairs in PAIRS for question, _ in pairs]
ANSWERS = [answer for pairs in PAIRS for _, answer in pairs]


def unrelated(embedder: Embedder) -> float:
    """Return the cosine up to which texts have nothing in common, measured if the embedder has no `unrelated`.

    Raises EmbedderFailed.
    """
    known: float | None = getattr(chosen(embedder), "unrelated", None)
    return measured(embedder) if known is None else known


def measured(embedder: Embedder) -> float:
    """Measure it in two languages, and return the higher one. Raises EmbedderFailed."""
    questions, answers = vectors_of(embedder, QUESTIONS, asked=True), vectors_of(embedder, ANSWERS)
    found, end = [], 0
    for pairs in PAIRS:
        start, end = end, end + len(pairs)
        asked, told = questions[start:end], answers[start:end]
        cosines = [
            sum(map(mul, memoryview(one).cast("f"), memoryview(other).cast("f")))
            for place, one in enumerate(asked)
            for number, other in enumerate(told)
            if one is not None and other is not None and place != number
        ]
        if 2 * len(cosines) > len(asked) * (len(told) - 1):
            mean = sum(cosines) / len(cosines)
            deviation = sqrt(sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))
            found.append(mean + DEVIATIONS * deviation)
    return min(LARGEST, max(0.0, *found)) if found else ASSUMED
