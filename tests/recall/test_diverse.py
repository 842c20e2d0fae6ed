from __future__ import annotations

from memorybook.recall.diverse import diverse

from memorybook.hits import Hit, Passage


def test_diverse_prefers_what_says_something_else() -> None:
    def hit(text: str, score: float) -> Hit:
        return Hit(Passage("a.md", 1, 1, text, "note"), score, 1.0, text)

    same = [hit("the cat sat on the mat", 1.0), hit("the cat sat on the mat!", 0.99)]
    other = hit("dogs bark at night", 0.9)
    low = hit("rain", 0.0)
    assert [h.snippet for h in diverse([*same, other, low], limit=2)] == [
        "the cat sat on the mat",
        "dogs bark at night",
    ]
    assert diverse([], limit=3) == []
