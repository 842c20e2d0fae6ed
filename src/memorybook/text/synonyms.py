"""Chinese words that people use for one another, so that one is found by the other: 老婆 by 妻子.

Each line is one meaning, under its first word, which stands for the others before a text is cut into pairs. What is
merged here cannot be told apart by any search, nor when it is decided what to forget. So a word is left out if it
also means something else, alone or in a longer word (太太 in 老太太, 动车 in 电动车), and if its characters often meet
across the border of two words (理由 in 处理由他负责). In simplified characters only; English has vectors for this.
"""

from __future__ import annotations

_MEANINGS = """
妻子 老婆
爸爸 父亲 老爸
妈妈 母亲 老妈
父母 爸妈 双亲
外公 姥爷
外婆 姥姥
女儿 闺女
男友 男朋友
女友 女朋友
亲戚 亲属
邻居 街坊
医生 大夫
老师 教师
生病 患病
头疼 头痛
胃疼 胃痛
牙疼 牙痛
吃药 服药
减肥 减重 瘦身
睡觉 入睡
年龄 年纪 岁数
番茄 西红柿
土豆 马铃薯
玉米 苞米
餐厅 餐馆 饭馆
早餐 早饭
午餐 午饭
晚餐 晚饭
好吃 美味
甜食 甜品 甜点
雪糕 冰淇淋 冰激凌
做饭 烹饪
酒店 宾馆 旅馆
卧室 睡房
宿舍 寝室
房租 租金
搬家 搬迁
商店 店铺
汽车 轿车
火车 列车
驾驶 驾车
停车 泊车
乘坐 搭乘
旅行 旅游
预订 预定
密码 口令
照片 相片
衣服 衣物 服装
手表 腕表
礼物 礼品
错误 报错 出错
讨论 商量 商讨
方法 办法
原因 缘故
建议 提议
意见 观点
同意 赞成 赞同
辞职 离职
工资 薪水 薪资 薪酬
价格 价钱
便宜 廉价
存款 积蓄
外号 绰号 昵称
性格 脾气
爱好 兴趣
喜欢 喜爱 偏爱
讨厌 厌恶 反感
开心 快乐 愉快
悲伤 伤心
生气 愤怒 恼火
害怕 恐惧 惧怕
担心 担忧 忧虑
疲惫 疲劳 疲倦 劳累
孤独 孤单 寂寞
后悔 懊悔
感谢 感激
吵架 争吵
离婚 离异
跳舞 舞蹈
跑步 慢跑
爬山 登山
小狗 狗狗
小猫 猫咪
颜色 色彩
帮助 帮忙 协助
聚会 派对
推迟 延期 延后
忘记 忘掉 遗忘
丢失 弄丢 遗失
选择 挑选
洗澡 沐浴
生日 诞辰
傍晚 黄昏
立刻 立即
"""

FIRST = {word: first for first, *others in map(str.split, _MEANINGS.split("\n")[1:-1]) for word in others}
"""From a word to the one that stands for all of its meaning."""

BEGINNING: dict[str, list[tuple[str, str]]] = {}
"""From the first two characters of words to these words, each with the one that stands for it."""
for _word, _first in FIRST.items():
    BEGINNING.setdefault(_word[:2], []).append((_word, _first))
