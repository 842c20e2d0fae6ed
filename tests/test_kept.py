"""The benchmark of what rules keep: its labelled talks can be read, and are judged sentence by sentence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import kept
from benchmarks.kept import Line


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_line_has_a_label_and_what_it_makes_untrue_was_said_before(language: str) -> None:
    labels = {"-", "no", "with", "event", "fact", "preference", "instruction", "workflow", "decision", "plan", "todo"}
    for talk in kept.talks(language):
        assert {line.label for line in talk} <= labels
        assert all(line.untrue <= place for place, line in enumerate(talk))


def test_a_sentence_counts_as_kept_if_an_entry_says_it(tmp_path: Path) -> None:
    talk = [
        Line("U", "no", 0, "Could you look at the weather?"),
        Line("A", "-", 0, "It rains."),
        Line("U", "fact", 0, "My sister Ann is a vet in Lyon."),
        Line("U+", "no", 0, "I prefer tea."),
        Line("U", "fact", 0, "Maybe the blue one, who knows."),
    ]
    counts: Counter[str] = Counter()
    missed, wrong = kept.judge(talk, counts, str(tmp_path / "book"))
    assert (missed, wrong) == (["Maybe the blue one, who knows."], ["I prefer tea."])
    assert (counts["worth"], counts["kept"], counts["both"]) == (2, 2, 1)
