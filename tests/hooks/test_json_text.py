"""JSON with comments: read as editors read it, changed with every comment kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import InvalidInput
from memorybook.hooks.host_files import edited, values, without_comments
from memorybook.hooks.hosts import entry_of, hooks_in, hooks_of, install, install_hooks, server_in

VSCODE = """{
    // servers of mine
    "servers": {
        "other": {
            "command": "x", // "fast"
            "args": ["a", "b"], /* as the manual says: // nothing */
        }, // 茶
    },
    "inputs": [], // none
}
"""

ONE_LINE = '{"servers": {/* none */}} // end'

WINDOWS = VSCODE.replace("\n", "\r\n")


@pytest.mark.parametrize("text", [VSCODE, ONE_LINE, WINDOWS, '{\n  "a": 1 // last\n  // end\n}'])
def test_a_server_is_put_beside_comments_and_taken_out_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode())
    install("vscode", str(path), entry_of("vscode", "/books/茶"))
    after = path.read_bytes().decode()
    wanted = values(text)
    wanted.setdefault("servers", {})["memorybook"] = entry_of("vscode", "/books/茶")
    assert values(after) == wanted
    assert server_in("vscode", str(path)) == entry_of("vscode", "/books/茶")
    assert ("\r\n" in after) == ("\r\n" in text)
    assert install("vscode", str(path), entry_of("vscode", "/books/茶")).action == "unchanged"
    install("vscode", str(path), None)
    again = path.read_bytes().decode()
    if "other" in text:
        assert again == text, "as it was, to the byte"
    for comment in ("// servers of mine", "// 茶", "/* none */", "// end", "// last"):
        assert (comment in text) == (comment in after) == (comment in again)


def test_hooks_are_put_beside_those_of_others_and_their_comments(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    theirs = (
        '{\n  "hooks": {\n    // say it\n    "Stop": [\n      {"hooks": [{"command": "say"}]} // aloud\n    ]\n  }\n}\n'
    )
    path.write_text(theirs, encoding="utf-8")
    install_hooks(str(path), hooks_of("claude-code", lambda event: f"memorybook-hook {event} --host claude-code"))
    assert list(hooks_in(str(path))) == ["Stop", "SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"]
    assert "// say it" in path.read_text(encoding="utf-8")
    assert "// aloud" in path.read_text(encoding="utf-8")
    install_hooks(str(path), {})
    assert path.read_text(encoding="utf-8") == theirs


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "// no, /* no */ ,}", "b": "\\"//"}', {"a": "// no, /* no */ ,}", "b": '"//'}),
        ("[1, /* 2, */ 3, // 4\n]", [1, 3]),
        ('// 你好\n{"url": "http://x"}', {"url": "http://x"}),
    ],
)
def test_comments_and_last_commas_are_no_values(text: str, value: Any) -> None:
    assert values(text) == value
    assert len(without_comments(text)) == len(text)


def test_a_comment_inside_of_what_is_replaced_is_not_lost() -> None:
    with pytest.raises(InvalidInput, match="comments"):
        edited('{"a": {"b": 1 /* why */}}', {})
    with pytest.raises(InvalidInput, match="comments"):
        edited('{"a": [ /* why */ ]}', {"a": 1})


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["//", "/*", "*/", ",}", '"', "\\", "茶"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc茶"), inner, max_size=3),
    max_leaves=8,
)
ROOT = st.dictionaries(st.sampled_from("abcd"), VALUE, max_size=4)


@given(ROOT, ROOT, st.sampled_from([None, 2, "\t"]))
def test_any_change_means_what_it_should(before: dict[str, Any], after: dict[str, Any], indent: Any) -> None:
    text = json.dumps(before, indent=indent, ensure_ascii=False) + " // end\n"
    changed = edited(text, after)
    assert values(changed) == after
    assert changed.endswith(" // end\n")
    assert edited(changed, after) == changed
