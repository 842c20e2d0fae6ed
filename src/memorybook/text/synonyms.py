"""Chinese words that people use for one another, so that one is found by the other.

Words of two characters, as text is cut into pairs; of a longer one the pair that stands in no other word
(男朋友 by 男朋, 西红柿 by 红柿). Each line is one meaning, under its first word. A word that also means something else
is left out: what is merged here cannot be told apart by any search. English has vectors for this.
"""

from __future__ import annotations

_MEANINGS = """
妻子 老婆 太太 媳妇
丈夫 老公
爸爸 父亲 老爸
妈妈 母亲 老妈
父母 爸妈 双亲
爷爷 祖父
奶奶 祖母
外公 姥爷
外婆 姥姥
孩子 小孩
女儿 闺女
男友 男朋
女友 女朋
亲戚 亲属
邻居 街坊
老板 上司
医生 大夫
老师 教师
警察 民警
生病 患病 得病
发烧 发热
头疼 头痛
胃疼 胃痛
牙疼 牙痛
吃药 服药
药物 药品
减肥 减重 瘦身
锻炼 健身
睡觉 入睡 睡眠
手术 开刀
年龄 年纪 岁数
逝世 去世 过世 离世
番茄 红柿
土豆 铃薯
玉米 苞米
餐厅 饭店 餐馆 饭馆
早餐 早饭
午餐 午饭 中饭
晚餐 晚饭
食物 食品
饮料 饮品
喝酒 饮酒
好吃 美味
素食 吃素
甜食 甜品 甜点
雪糕 冰淇 冰激
做饭 烹饪 下厨
吃饭 用餐 就餐
酒店 宾馆 旅馆
房子 房屋 住房
住址 地址
卧室 睡房
宿舍 寝室
房租 租金
搬家 搬迁
公司 企业
商店 店铺
汽车 轿车 车子
火车 列车
高铁 动车
飞机 航班 班机
打车 叫车
开车 驾车 驾驶
停车 泊车
乘坐 搭乘
旅行 旅游 出游
出发 启程 动身
抵达 到达
预订 预定
电脑 算机
电话 手机
密码 口令
照片 相片
拍照 照相 摄影
衣服 衣物 服装
手表 腕表
钱包 皮夹
礼物 礼品
书籍 图书
文件 文档
代码 源码
发布 上线
错误 报错 出错
修复 修好 修正
会议 开会
讨论 商量 商讨
计划 规划 打算
截止 期限
进度 进展
方法 办法
目标 目的
原因 缘故 理由
建议 提议
意见 看法 观点 想法
同意 赞成 赞同
工作 上班 职业
辞职 离职
工资 薪水 薪资 薪酬
价格 价钱 售价
费用 花费 开销 开支 支出
便宜 廉价
存款 积蓄
贷款 借款
名字 姓名
外号 绰号 昵称
性格 脾气
爱好 兴趣
喜欢 喜爱 热爱 钟爱 偏爱
讨厌 厌恶 反感
高兴 开心 快乐 愉快
悲伤 难过 伤心
生气 愤怒 恼火
害怕 恐惧 惧怕
担心 担忧 忧虑
疲惫 疲劳 疲倦 劳累
孤独 孤单 寂寞
后悔 懊悔
感谢 感激
思念 想念
吵架 争吵
离婚 离异
读书 看书 阅读
跳舞 舞蹈
跑步 慢跑
爬山 登山
画画 绘画
电影 影片
小狗 狗狗
小猫 猫咪
考试 测验
成绩 分数
作业 功课
大学 高校
快递 包裹
降雨 下雨
温度 气温
颜色 色彩
帮助 帮忙 协助
联系 联络
见面 碰面 会面
聚会 派对
参加 出席 参与
准备 筹备
推迟 延期 延后
忘记 忘掉 遗忘
丢失 弄丢 遗失
选择 挑选
洗澡 沐浴
生日 诞辰
早晨 早上 清晨
夜晚 晚上 夜里 晚间
正午 中午
傍晚 黄昏
昨天 昨日
今天 今日
明天 明日
每天 每日 天天
经常 常常 时常
立刻 马上 立即
最后 最终
星期 礼拜
周一 期一 拜一
周二 期二 拜二
周三 期三 拜三
周四 期四 拜四
周五 期五 拜五
周六 期六 拜六
周日 期日 拜日 期天 拜天
"""

FIRST = {word: first for first, *others in map(str.split, _MEANINGS.split("\n")[1:-1]) for word in others}
"""From a word to the one under which all of its meaning stand."""
