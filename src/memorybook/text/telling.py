"""Whether a text says anything: acknowledgements, and the marks of what was left out, are no evidence."""

from __future__ import annotations

from memorybook._light import lazily

PLACEHOLDERS = ("(left out on request)", "（按要求略去）")
"""What stands for an order to forget that was carried out, in English and in Chinese."""

_EMPTY = lazily(
    r"(?i)\W*(?:(?:(?:i['’]ve |i have |duly )?noted(?: that| it)?(?: down)?|ok|okay|k|got (?:it|that)|gotcha|understood"
    r"|all ?right|sure(?: thing)?|of course|certainly|will do|i see|thanks|thank you|so much|a lot"
    r"|thanks for (?:telling me|letting me know)"
    r"|(?:i['’]ll|i will) (?:remember|note|keep)(?: that| it| this)?(?: in mind)?|remembered|saved"
    r"|我?(?:已经?|都)?(?:记下来?|记住|记录|记好|知道|明白|了解)了?|收到|好的?|好嘞|嗯+|哦+|噢|行|没问题|多谢|谢谢你?|当然|[了啦吧呢]"
    r")(?:\W+|(?<=[\u3400-\u9fff])|\Z))*"
)


def says_something(text: str) -> bool:
    """Whether a text, English or Chinese, says more than that it was heard.

    >>> [says_something(text) for text in ("Noted,", "OK.", "(left out on request)", "OK, at nine.", "No.")]
    [False, False, False, True, True]
    >>> [says_something(text) for text in ("好的，", "嗯，记下了。", "（按要求略去）", "好的，九点。", "不是。")]
    [False, False, False, True, True]
    """
    for mark in PLACEHOLDERS:
        text = text.replace(mark, "")
    return _EMPTY.fullmatch(text) is None
