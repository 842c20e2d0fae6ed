"""`memorybook sync-summaries`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Shell


def test_two_machines_exchange_what_they_have_over_a_folder(shell: Shell, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shell("--book", "laptop", "add", "Deploys are on Fridays.", "--group", "work")
    talk = b'{"role": "user", "content": "We decided to meet at the harbour."}\n'
    shell("--book", "laptop", "memorize", "-", "--session", "tea", stdin=talk)
    exchange = ["sync-summaries", "--from", str(shared), "--to", str(shared), "--group", "work"]
    handed = shell("--book", "laptop", *exchange, "--node", "laptop")
    assert handed.out == f"handed out in {shared}/laptop: 3 written, 0 removed, 0 as they were\n"
    taken = shell("--book", "desk", *exchange, "--node", "desk")
    assert taken.out.startswith("laptop: 1 summary new, 1 entry new\n")
    assert "to take it back: memorybook undo" in taken.err
    assert shell("--book", "desk", *exchange, "--node", "desk").out.startswith("laptop: nothing new\n")
    assert "sessions/laptop/" in shell("--book", "desk", "search", "harbour").out
    give = ["--book", "laptop", "sync-summaries", "--to", str(shared), "--node", "laptop", "--sessions"]
    counts = [shell(*give, *names).out.partition(": ")[2] for names in (["none"], ["x", "tea"], ["all"], ["none"])]
    assert counts == [
        "0 written, 2 removed, 1 as they were\n",
        "1 written, 0 removed, 1 as they were\n",
        "0 written, 0 removed, 2 as they were\n",
        "0 written, 1 removed, 1 as they were\n",
    ]
    assert shell(*give, "none", "tea").code == 2


def test_what_is_left_out_gone_and_skipped_is_shown(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "phone" / "sessions"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("---\nsession: a\n---\n# A\n\nAll is well.\n")
    shell("--book", "desk", "sync-summaries", "--from", f"pocket={tmp_path}/phone")
    [page] = Path("desk/sessions/pocket").iterdir()
    (folder / "a.md").write_text("---\n")
    (folder / "b.md").write_text("---\nsession: b\n---\n# B\n\nAll is well.\n")
    again = shell("--book", "desk", "sync-summaries", "--dry-run", "--from", f"pocket={tmp_path}/phone", "/nowhere")
    assert again.code == 0
    assert (
        "pocket: 1 summary new\n  left out (is no summary of a session, or is still being written): a.md" in again.out
    )
    assert "no longer there" not in again.out, "it is not known what it was"
    assert "skipped /nowhere: there is no folder" in again.err
    (folder / "a.md").unlink()
    gone = shell("--book", "desk", "sync-summaries", "--json", "--from", f"pocket={tmp_path}/phone")
    answer = json.loads(gone.out)
    assert answer["nodes"][0]["gone"] == [f"sessions/pocket/{page.name}"]
    assert shell("--book", "desk", "sync-summaries", "--from", f"pocket={tmp_path}/phone").out.count("kept here") == 1
    assert shell("--book", "desk", "sync-summaries").code == 2
    assert shell("--book", "desk", "sync-summaries", "--from", "/nowhere").code == 3


def test_an_operation_of_very_many_changes_is_cut_among_others_and_whole_alone(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.md").write_text(f"---\nsession: s{number}\n---\n# Talk {number}\n")
    shell("add", "Tea is green.")
    done = json.loads(shell("sync-summaries", "--json", "--from", f"laptop={tmp_path}").out)
    shown = shell("history").out
    assert shown.count("sessions/laptop/") == 50
    assert f"… 10 more: memorybook history {done['operation']}" in shown
    assert shell("history", done["operation"]).out.count("sessions/laptop/") == 60
