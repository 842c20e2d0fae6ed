"""The settings of hosts: our server in them, everything else as it was."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybook.errors import Conflict, InvalidInput
from memorybook.hooks import host_files
from memorybook.hooks.hosts import HOSTS, entry_of, file_of, install, places, snippet


@pytest.fixture(autouse=True)
def nowhere() -> None:
    """These tests set up what they need themselves."""


def entry(name: str, book: str = "/books/茶 and more") -> dict[str, Any]:
    return entry_of(name, book)


def kept_in(name: str, path: Path) -> dict[str, Any]:
    """The servers that a host reads from its file."""
    text = path.read_text(encoding="utf-8-sig")
    found: Any = tomllib.loads(text) if name == "codex" else json.loads(text)
    for key in HOSTS[name].keys:
        found = found[key]
    servers: dict[str, Any] = found
    return servers


@pytest.mark.parametrize("name", HOSTS)
def test_a_server_is_put_in_and_taken_out_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings"
    assert install(name, str(path), entry(name)) == ("written", str(path), "")
    server = kept_in(name, path)["memorybook"]
    assert server == {
        **({"type": "stdio"} if HOSTS[name].typed else {}),
        "command": sys.executable,
        "args": server["args"],
    }
    assert server["args"] == ["-P", "-m", "memorybook", "--book", "/books/茶 and more", "mcp"]
    before = path.read_bytes()
    assert install(name, str(path), entry(name)).action == "unchanged"
    assert path.read_bytes() == before == snippet(name, entry(name)).encode()
    assert [each.name for each in path.parent.iterdir()] == ["settings"], "no backup of what did not change"
    assert install(name, str(path), None) == ("removed", str(path), "")
    assert list(path.parent.iterdir()) == [], "a file that holds nothing else goes"
    assert install(name, str(path), None).action == "unchanged"
    theirs = b'name = "theirs"\n' if name == "codex" else b'{"name": "theirs"}\n'
    path.write_bytes(theirs)
    kept = {install(name, str(path), each).backup for each in (entry(name), None, entry(name), None)}
    places = [f"{path}.memorybook-backup" + end for end in ("", "-2", "-3", "-4")]
    assert kept < set(places), "no state is kept twice"
    assert Path(places[0]).read_bytes() == theirs, "what was there first stays"
    assert install(name, str(tmp_path / "nothing"), None).action == "unchanged"
    assert not (tmp_path / "nothing").exists()


JSON_FILES = {
    "two spaces": '{\n  "theme": "dark",\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n',
    "four spaces, no end": '{\n    "n": 1e3,\n    "mcpServers": {}\n}',
    "tabs": '{\n\t"名字": "\\ud83c",\n\t"big": 123456789012345678901234567890\n}\n',
    "windows": '\ufeff{\r\n  "a": "é",\r\n  "b": [\r\n    1\r\n  ]\r\n}\r\n',
    "one line": '{"a": 1, "mcpServers": {"z": {"command": "z"}, "a": {"command": "a"}}}',
    "empty": "",
    "nothing in it": "{}\n",
}


@pytest.mark.parametrize("text", JSON_FILES.values(), ids=JSON_FILES)
def test_the_rest_of_a_json_file_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    path.chmod(0o600)
    install("cursor", str(path), entry("cursor"))
    after = path.read_bytes().decode()
    was = json.loads(text.removeprefix("\ufeff") or "{}")
    servers = {**was.get("mcpServers", {}), "memorybook": entry("cursor")}
    assert json.loads(after.removeprefix("\ufeff")) == {**was, "mcpServers": servers}
    assert list(json.loads(after.removeprefix("\ufeff"))) == list(dict.fromkeys([*was, "mcpServers"]))
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in after, "\n\t" in after, '\n    "n"' in after) == ("\r\n" in text, "\t" in text, '    "n"' in text)
    assert ("\n" in after) == (not text.startswith('{"'))
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}.memorybook-backup").read_bytes() == text.encode()
    install("cursor", str(path), None)
    left = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
    assert left == ({**was, "mcpServers": was.get("mcpServers", {})} if was else {})


def test_what_a_person_added_to_our_entry_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    more = {"env": {"MEMORYBOOK_LLM_API_KEY": "$KEY"}, "timeout": 9}
    remote = {"url": "https://old.example/mcp", "headers": {"a": "b"}, **more}
    path.write_text(json.dumps({"mcpServers": {"memorybook": remote}}), encoding="utf-8")
    install("gemini", str(path), entry("gemini"))
    assert kept_in("gemini", path)["memorybook"] == {**entry("gemini"), **more}
    assert install("gemini", str(path), entry("gemini")).action == "unchanged"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("vscode", '{"servers": {"memorybook": {"args": [ /* so */ ]}}}', "comments of what changes"),
        ("openclaw", "{mcp: {}}", "line 1 is not JSON, with or without comments"),
        ("vscode", '{"servers": []}', "'servers' is no object"),
        ("openclaw", '{"mcp": 1}', "'mcp' is no object"),
        ("cursor", "[]", "it is no object"),
        ("cursor", '{"a": 1, "a": 2}', "a name stands twice"),
        ("cursor", '{"a": 1e400}', "1e400 is a number that would be rounded"),
        ("cursor", '{"a": 1.00000000000000000001}', "is a number that would be rounded"),
        ("cursor", '{"a": %s}' % ("9" * 5000), "an integer of thousands of digits"),
        ("cursor", "[" * 100_000, "it is nested too deeply"),
        ("cursor", '{"a": ' + "[" * 900 + "]" * 900 + "}", "it is nested too deeply"),
        ("codex", "[mcp_servers", "it is no TOML"),
        ("codex", 'mcp_servers = {memorybook = {command = "x"}}', "cannot be a table of its own there"),
        ("codex", "mcp_servers = {}", "cannot be a table of its own there"),
        ("codex", 'mcp_servers.memorybook.command = "x"', "cannot be a table of its own there"),
        ("codex", "mcp_servers = 1", "cannot be a table of its own there"),
    ],
)  # fmt: skip
def test_what_would_lose_something_is_refused_and_left(name: str, text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="is left as it is") as refused:
        install(name, str(path), entry(name))
    assert why in str(refused.value)
    assert "--print shows what belongs there" in str(refused.value)
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_utf8_is_left(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        install("cursor", str(path), entry("cursor"))


CODEX = '''# mine
model = "gpt"  # the good one
notify = ["a",
  "[mcp_servers.memorybook]",
]

[mcp_servers.other]
command = "x"

# ours, says a person
[mcp_servers.memorybook] # here
command = "old"
args = [
  "a", # why
]
# slow machine
startup_timeout_sec = 30
env = { KEY = "v" }

[mcp_servers.memorybook.tools.memory_forget]
approval_mode = "prompt"

# of the profile
[profiles."mcp_servers.memorybook"]
model = """
[mcp_servers.memorybook]
"""
'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_our_lines_of_a_toml_file_change(end: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(CODEX.replace("\n", end).encode())
    install("codex", str(path), entry("codex"))
    new = f'command = "{sys.executable}"\nargs = ["-P", "-m", "memorybook", "--book", "/books/茶 and more", "mcp"]\n'
    wanted = CODEX.replace('command = "old"\nargs = [\n  "a", # why\n]\n', new)
    assert path.read_bytes().decode() == wanted.replace("\n", end)
    assert install("codex", str(path), entry("codex")).action == "unchanged"
    install("codex", str(path), None)
    head, _, rest = CODEX.partition("[mcp_servers.memorybook] # here")
    assert path.read_bytes().decode() == (head + rest[rest.index("# of the profile") :]).replace("\n", end)


def test_a_new_table_stands_at_the_end_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    before = '\ufeffmodel = "gpt"\nweight = nan\n'
    for text in (before, before.removesuffix("\n")):
        path.write_text(text, encoding="utf-8")
        install("codex", str(path), entry("codex"))
        assert path.read_text(encoding="utf-8") == before + "\n" + snippet("codex", entry("codex"))
        install("codex", str(path), None)
        assert path.read_text(encoding="utf-8") == before


VALUE = st.recursive(
    st.one_of(
        st.booleans(), st.integers(-(2**60), 2**60), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
TABLES = st.dictionaries(
    st.sampled_from(["a", "mcp_servers.x", "mcp_servers.memorybook", "z"]),
    st.dictionaries(st.sampled_from(["command", "args", "env", "k"]), VALUE, max_size=3),
)


@settings(max_examples=settings().max_examples // 2)
@given(TABLES)
def test_any_toml_file_keeps_its_meaning(tables: dict[str, dict[str, Any]]) -> None:
    from memorybook.hooks.host_files import toml_with

    text = "".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
        for name, table in tables.items()
    ).replace("\x7f", "\\u007f")
    before = tomllib.loads(text)
    keys, new = ("mcp_servers", "memorybook"), {"command": "c", "args": ['茶\x7f"\\']}

    def put(root: dict[str, Any]) -> None:
        table = root.setdefault("mcp_servers", {})
        table["memorybook"] = {**table.get("memorybook", {}), **new}

    after = toml_with(text, keys, new, frozenset({"command", "args"}), put)
    found = tomllib.loads(after)
    server = found["mcp_servers"].pop("memorybook")
    old = before.get("mcp_servers", {}).pop("memorybook", {})
    assert server == {**{key: value for key, value in old.items() if key not in new}, **new}
    assert {**found, "mcp_servers": found["mcp_servers"]} == {**before, "mcp_servers": before.get("mcp_servers", {})}
    without = tomllib.loads(
        toml_with(after, keys, None, frozenset(), lambda root: root["mcp_servers"].pop("memorybook"))
    )
    assert {**without, "mcp_servers": without.get("mcp_servers", {})} == found


def test_a_link_to_settings_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "mcp.json"
    real.write_text("{}\n", encoding="utf-8")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    install("cursor", str(link), entry("cursor"))
    assert link.is_symlink()
    assert "memorybook" in real.read_text(encoding="utf-8")


def test_a_save_at_the_same_moment_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}\n", encoding="utf-8")
    write = host_files._write

    def saved_meanwhile(aside: str, data: bytes, mode: int) -> None:
        write(aside, data, mode)
        path.write_text('{"theirs": 1}\n', encoding="utf-8")

    monkeypatch.setattr(host_files, "_write", saved_meanwhile)
    with pytest.raises(Conflict, match="saved by somebody else"):
        install("cursor", str(path), entry("cursor"))
    assert path.read_text(encoding="utf-8") == '{"theirs": 1}\n'
    assert not [each for each in tmp_path.iterdir() if str(os.getpid()) in each.name]


@pytest.mark.parametrize(
    ("platform", "env", "files"),
    [
        ("linux", {"HOME": "/h"},
         ".claude.json .config/Claude/claude_desktop_config.json .codex/config.toml .cursor/mcp.json "
         ".config/Code/User/mcp.json .gemini/settings.json .openclaw/openclaw.json"),
        ("darwin", {"HOME": "/h", "CODEX_HOME": "/h/c", "CLAUDE_CONFIG_DIR": "/h/d", "OPENCLAW_STATE_DIR": "/h/o"},
         "d/.claude.json Library/Application\u00a0Support/Claude/claude_desktop_config.json c/config.toml "
         ".cursor/mcp.json Library/Application\u00a0Support/Code/User/mcp.json .gemini/settings.json "
         "o/openclaw.json"),
        ("win32", {"USERPROFILE": "/h", "APPDATA": "/h/A", "OPENCLAW_CONFIG_PATH": "/h/claw.json"},
         ".claude.json A/Claude/claude_desktop_config.json .codex/config.toml .cursor/mcp.json "
         "A/Code/User/mcp.json .gemini/settings.json claw.json"),
    ],
)  # fmt: skip
def test_each_host_has_its_file(platform: str, env: dict[str, str], files: str) -> None:
    at = places(env, platform)
    found = [file_of(name, "user", at=at, folder="/p") for name in HOSTS]
    assert found == [f"/h/{file}".replace("\u00a0", " ") for file in files.split(" ")]


def test_a_project_has_a_file_where_the_host_reads_one() -> None:
    at = places({"HOME": "/h"})
    found = {name: host for name, host in HOSTS.items() if host.project}
    assert [file_of(name, "project", at=at, folder="/p") for name in found] == [
        "/p/.mcp.json", "/p/.codex/config.toml", "/p/.cursor/mcp.json", "/p/.vscode/mcp.json",
        "/p/.gemini/settings.json",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="Claude Desktop has no settings of a project"):
        file_of("claude-desktop", "project", at=at, folder="/p")
    with pytest.raises(InvalidInput, match="scope 'team' is not one of user, project"):
        file_of("cursor", "team", at=at, folder="/p")
    with pytest.raises(InvalidInput, match="host 'emacs' is not one of claude-code, "):
        file_of("emacs", "user", at=at, folder="/p")
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        entry_of("cursor", "/b/\udcff")
