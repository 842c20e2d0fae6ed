from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.config import settings as config
from memorybook.config.settings import Config, EmbeddingSettings, LLMSettings, load
from memorybook.errors import ConfigError, MissingExtra, NotFound


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout, so that the search for its settings ends here."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def read(project: Path, home: Path, env: dict[str, str] | None = None, **arguments: Any) -> Config:
    named = {name.replace("__", "."): value for name, value in arguments.items()}
    return load(cwd=str(project), env=env or {}, home=str(home), arguments=named)


def user_file(home: Path, text: str) -> None:
    folder = home / ".config" / "memorybook"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


# --- as people have them from elsewhere -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memorybook.yaml",
         "memory:\n  enabled: true\n  auto_session: false\n  export_on_exit: true\n  auto_export: true\n"
         "vector:\n  enabled: true\n  max_search_results: 9\n  similarity_threshold: 0.7\n"),
        ("memorybook.yml", "memory.auto_session: false\nmemory.export_on_exit: true\nmemory.auto_export: true\n"
         "vector.max_search_results: 9\nvector.similarity_threshold: 0.7\n"),
        ("memorybook.json",
         '{"memory": {"auto_session": false, /* 退出时 */ "export_on_exit": true, "auto_export": true,},\n'
         ' "vector": {"max_search_results": 9, "similarity_threshold": 0.7}} // end'),
        ("memorybook.toml", "[memory]\nauto-session = false\nexport_on_exit = true\nauto_export = true\n"
         "[vector]\nmax_search_results = 9\nsimilarity_threshold = 0.7\n"),
        ("config.json", '{"memory": {"auto_session": false, "export_on_exit": true, "auto_export": true, // of ours\n'
         '"vector": {"max_search_results": 9, "similarity_threshold": 0.7}}}'),
        ("memorybook.yaml", "transcripts:\n  auto_session: false\n  export_on_exit: true\n  auto_export: true\n"
         "recall:\n  max_search_results: 9\n  similarity_threshold: 0.7\n"),
    ],
)  # fmt: skip
def test_sections_are_read_under_the_names_that_people_know_them_by(
    project: Path, home: Path, name: str, text: str
) -> None:
    (project / name).write_text(text, encoding="utf-8")
    found = read(project, home)
    assert (found.transcripts.auto_session, found.transcripts.auto_export) == (False, True)
    assert found.transcripts.export_on_exit is True
    assert (found.recall.max_search_results, found.recall.similarity_threshold) == (9, 0.7)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "agent:\n  name: x\nmemory:\n  auto_session: true\n"),
        ("config.yml", "memory: # 记忆\n  # how many\n  max_results: 3\nother: 1\n"),
        ("config.toml", "[agent]\nx = 1\n[memory]\nprovider = 'flat'\n"),
        (".memorybook.toml", "max_results = 3"),
        ("memorybook.jsonc", "{}"),
        (".memorybook.yaml", "max_results: 3"),
    ],
)
def test_a_file_that_is_not_read_is_named(project: Path, home: Path, name: str, text: str) -> None:
    (project / name).write_text(text, encoding="utf-8")
    (project / "src").mkdir()
    [warning] = read(project / "src", home).warnings
    assert warning.startswith(f"{project / name} is not read: settings stand in memorybook.toml")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "memory: 512m\n"),
        ("config.yaml", "limits:\n  memory:\n    max_results: 3\n"),
        ("config.yml", "memory:\n  limit: 3\nmax_results: 3\n"),
        ("config.toml", "[memory]\nlimit = 3\n[other]\nmax_results = 4\n"),
        ("config.toml", "max_results = 3\n"),
        ("memorybook.md", "max_results = 3\n"),
    ],
)
def test_what_belongs_to_something_else_is_not_named(project: Path, home: Path, name: str, text: str) -> None:
    (project / name).write_text(text, encoding="utf-8")
    assert read(project, home).warnings == ()


def test_a_file_of_the_users_that_is_not_read_is_named(project: Path, home: Path) -> None:
    user_file(home, "max_results = 4")
    (home / ".config" / "memorybook" / "memorybook.toml").write_text("max_results = 5")
    found = read(project, home)
    assert found.max_results == 4
    assert found.warnings[0].startswith(f"{home}/.config/memorybook/memorybook.toml is not read")


# --- levels --------------------------------------------------------------------------------------


def test_every_level_wins_over_the_one_below(project: Path, home: Path) -> None:
    user_file(home, "max_results = 11\nmax_memories = 11\nprovider = 'flat'\nlanguage = 'zh'")
    (project / "memorybook.toml").write_text("max_memories = 12\nprovider = 'agentic'\nlanguage = 'en'")
    found = read(project, home, {"MEMORYBOOK_PROVIDER": "tiered", "MEMORYBOOK_LANGUAGE": "zh"}, language="auto")
    assert (found.max_results, found.max_memories, found.provider, found.language) == (11, 12, "tiered", "auto")
    assert found.sources == {
        "max_results": str(home / ".config/memorybook/config.toml"),
        "max_memories": str(project / "memorybook.toml"),
        "provider": "environment variable MEMORYBOOK_PROVIDER",
        "language": "argument",
    }


def test_the_users_file_is_found_under_xdg_config_home(project: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "xdg/memorybook").mkdir(parents=True)
    (tmp_path / "xdg/memorybook/config.toml").write_text("max_results = 3")
    assert read(project, home, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}).max_results == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", '{"max_results": 7}'), ("config.json", '{"memory": {"max_results": 7}}'),
     ("config.yaml", "max_results: 7"), ("config.yml", "max_results: 7")],
)  # fmt: skip
def test_the_users_settings_may_be_json_or_yaml_but_not_two_that_differ(
    project: Path, home: Path, name: str, text: str
) -> None:
    user_file(home, "max_results = 7")
    (home / ".config/memorybook" / name).write_text(text)
    assert read(project, home).max_results == 7
    user_file(home, "max_results = 8")
    with pytest.raises(ConfigError, match=rf"config\.toml.*{name}.* are the same setting with different values"):
        read(project, home)
    (home / ".config/memorybook/config.toml").unlink()
    assert read(project, home).sources["max_results"].endswith(name)


def test_a_projects_file_is_found_from_a_folder_below(project: Path, home: Path) -> None:
    (project / "memorybook.toml").write_text("max_results = 4")
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert read(below, home).max_results == 4


def test_the_search_for_it_ends_at_the_git_top_level(project: Path, home: Path) -> None:
    (project.parent / "memorybook.toml").write_text("max_results = 4")
    assert read(project, home).max_results == 10


def test_the_nearest_file_wins(project: Path, home: Path) -> None:
    (project / "memorybook.toml").write_text("max_results = 4")
    (project / "sub").mkdir()
    (project / "sub/memorybook.toml").write_text("max_memories = 6")
    found = read(project / "sub", home)
    assert (found.max_results, found.max_memories) == (10, 6)


@pytest.mark.parametrize("text", ['{"memory": "512m"}', '{"memory": {"limit": 3}}', "{", "[]", '{"name": "app"}'])
def test_somebody_elses_config_json_is_left_alone(project: Path, home: Path, text: str) -> None:
    (project / "config.json").write_text(text)
    assert read(project, home).sources == {}


@pytest.mark.parametrize(("key", "meant"), [("max_result", "max_results"), ("backnd", "backend")])
def test_a_lone_misspelt_key_of_a_config_json_is_an_error(project: Path, home: Path, key: str, meant: str) -> None:
    (project / "config.json").write_text(json.dumps({"memory": {key: 3}}))
    with pytest.raises(ConfigError, match=f"unknown setting '{key}' .*did you mean '{meant}'"):
        read(project, home)


def test_an_empty_value_or_none_is_not_given(project: Path, home: Path) -> None:
    (project / "memorybook.json").write_text('{"max_results": null}')
    found = read(project, home, {"MEMORYBOOK_MAX_RESULTS": ""}, max_results=None)
    assert found.sources == {}


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "MEMORYBOOK_EMBEDDINGS_BASE_URL",
        "MEMORYBOOK_EMBEDDINGS__BASE_URL",
        "MEMORYBOOK_VECTOR_BASE_URL",
        "MEMORYBOOK_MEMORY__VECTOR__BASE_URL",
    ],
)
def test_spellings_of_an_environment_variable(project: Path, home: Path, name: str) -> None:
    assert read(project, home, {name: "http://x"}).embeddings.base_url == "http://x"


def test_memorybook_home_is_the_workspace(project: Path, home: Path) -> None:
    found = read(project, home, {"MEMORYBOOK_HOME": "~/books"})
    assert found.workspace_dir == str(home / "books")
    assert found.sources["workspace_dir"] == "environment variable MEMORYBOOK_HOME"


def test_a_nested_group_and_a_group_in_a_group(project: Path, home: Path) -> None:
    user_file(
        home,
        "[memory]\nmax_results = 5\n[llm]\nmodel = 'm'\n[llm.budget]\ncalls_per_day = 9\n"
        "[redaction]\npatterns = ['k-']",
    )
    found = read(project, home)
    assert found.max_results == 5
    assert found.llm == LLMSettings(model="m", budget=config.Budget(calls_per_day=9))
    assert found.redaction.patterns == ("k-",)


def test_two_spellings_that_differ_are_an_error_naming_both(project: Path, home: Path) -> None:
    user_file(home, "[vector]\nmodel = 'a'\n[embeddings]\nmodel = 'b'")
    with pytest.raises(ConfigError, match=r"vector\.model .* and embeddings\.model .* same setting"):
        read(project, home)


@pytest.mark.parametrize(
    ("written", "near"),
    [("max_result", "max_results"), ("embedings.batch", "embeddings.batch"), ("Vector.modl", "embeddings.model")],
)
def test_an_unknown_setting_is_an_error_naming_the_nearest(project: Path, home: Path, written: str, near: str) -> None:
    with pytest.raises(ConfigError, match=rf"unknown setting .* did you mean '{near}'\?"):
        load(cwd=str(project), env={}, home=str(home), arguments={written: "1"})


def test_variables_that_are_no_settings_are_left_alone(project: Path, home: Path) -> None:
    assert read(project, home, {"MEMORYBOOK_DEBUG": "1", "MEMORYBOOK_DATA": "/d"}).sources == {}


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "value"), [("true", True), ("YES", True), ("1", True), ("off", False), ("0", False)])
def test_switches_in_the_environment(project: Path, home: Path, text: str, value: bool) -> None:
    assert read(project, home, {"MEMORYBOOK_ENABLED": text}).enabled is value


@pytest.mark.parametrize(
    ("text", "value"), [("sk-, 密钥", ("sk-", "密钥")), ('["a,b"]', ("a,b",)), ("[", None), ("[1]", None)]
)
def test_lists_in_the_environment(project: Path, home: Path, text: str, value: tuple[str, ...] | None) -> None:
    env = {"MEMORYBOOK_REDACTION_PATTERNS": text}
    if value is not None:
        assert read(project, home, env).redaction.patterns == value
    else:
        with pytest.raises(ConfigError, match="must be a list of texts"):
            read(project, home, env)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("45", 45), (12, 12), ("1.5h", 5400), (0, 0)],
)
def test_durations(project: Path, home: Path, value: Any, seconds: float) -> None:
    assert read(project, home, idle_timeout=value).idle_timeout == seconds


@pytest.mark.parametrize("value", ["", "m", "-5m", "soon", "1e9", -1, True, float("nan"), float("inf"), "³s"])
def test_durations_that_are_none(project: Path, home: Path, value: Any) -> None:
    with pytest.raises(ConfigError, match="'90s', '30m', '2h'"):
        read(project, home, idle_timeout=value)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("min_score", 1.5, "from 0 to 1"), ("min_score", "nan", "a number"), ("min_score", True, "a number"),
        ("max_results", 0, "from 1 to 200"), ("max_results", 201, "from 1 to 200"),
        ("max_results", 2.5, "a whole number"), ("max_results", True, "a whole number"),
        ("max_results", "ten", "a whole number"), ("hybrid_vector_weight", -0.1, "at least 0"),
        ("hybrid_text_weight", float("inf"), "a number"), ("llm.budget.calls_per_day", -1, "at least 0"),
        ("llm.timeout", 0, "from 0.1 to 86400"), ("enabled", "maybe", "true or false"), ("enabled", 1, "true or false"),
        ("backend", "mysql", "one of sqlite_hybrid, sqlite_fts, scan"), ("provider", "", "one of tiered"),
        ("project_key", 3, "text"), ("project_key", "a\0b", "text"), ("redaction.patterns", [1], "a list of texts"),
        ("timezone", "Mars/Base", "an IANA name"), ("timezone", "../etc", "an IANA name"),
        ("index_history_jsonl", True, "false: raw history"),
    ],
)  # fmt: skip
def test_values_out_of_type_or_range(project: Path, home: Path, name: str, value: Any, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        load(cwd=str(project), env={}, home=str(home), arguments={name: value})


def test_a_file_has_types_and_text_is_no_number(project: Path, home: Path) -> None:
    user_file(home, "max_results = '5'")
    with pytest.raises(ConfigError, match=r"max_results \(.*config\.toml\) must be a whole number, not '5'"):
        read(project, home)


def test_paths_are_absolute_and_start_from_where_they_are_written(project: Path, home: Path) -> None:
    user_file(home, "db_path = 'i.sqlite'\n[transcripts]\ndb_path = '~/t.sqlite'")
    found = read(project, home, root_dir="book", workspace_dir="~")
    assert found.db_path == str(home / ".config/memorybook/i.sqlite")
    assert found.transcripts.db_path == str(home / "t.sqlite")
    assert found.root_dir == str(project / "book")
    assert found.workspace_dir == str(home)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("turns.db", "{project}/turns.db"), ("file:turns.db", "{project}/turns.db"),
        ("file:/srv/turns.db", "/srv/turns.db"), ("./a:1.db", "{project}/a:1.db"),
        ("file:///srv/turns.db", "/srv/turns.db"), ("~/turns.db", "{home}/turns.db"),
        ("libsql://db.example.com", "libsql://db.example.com"), ("", ""),
    ],
)  # fmt: skip
def test_turns_over_libsql_are_a_file_or_a_server(project: Path, home: Path, given: str, kept: str) -> None:
    found = read(project, home, transcripts__url=given, transcripts__auth_token="secret").transcripts
    assert found.url == kept.format(project=project, home=home)
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgres://me:hidden@host", "not that"),
        ("libsql:/srv/turns.db", "not 'libsql:/srv/turns.db'"),
        ("libsql:turns.db?authToken=hidden", "not that"),
        ("http:/db.example.com", "not 'http:/db.example.com'"),
        ("file://host/turns.db", "not 'file://host/turns.db'"),
    ],
)
def test_what_is_neither_a_file_nor_a_known_server_is_refused(
    project: Path, home: Path, given: str, shown: str
) -> None:
    with pytest.raises(ConfigError, match=r"a file such as 'file:///.*, or a server's address.* libsql://") as raised:
        read(project, home, transcripts__url=given)
    assert str(raised.value).endswith(shown)
    assert "hidden" not in str(raised.value)


@given(
    st.dictionaries(
        st.text(max_size=12), st.text(max_size=12) | st.integers() | st.floats() | st.booleans(), max_size=3
    )
)
def test_any_argument_is_taken_or_refused_as_a_setting(arguments: dict[str, Any]) -> None:
    with suppress(ConfigError):
        load(cwd="/", env={}, home="/nowhere", arguments=arguments)


# --- files that cannot be read -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memorybook.toml", "a = "), ("memorybook.json", "{"), ("memorybook.yaml", "a: [secret-key"),
        ("memorybook.json", "[]"), ("memorybook.json", '{"a":' * 100_000),
        ("memorybook.json", '{"a":' * 700 + "1" + "}" * 700), ("memorybook.yaml", "a: " + "[" * 2_000),
        ("memorybook.toml", "语言 = 中文"), ("memorybook.json", '{"记忆": }'), ("memorybook.yaml", "记忆: [一, 二"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(project: Path, home: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    with pytest.raises(ConfigError, match=name) as caught:
        read(project, home)
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"memory": {"max_results": 3}, "x": }', '{"memory": {"max_results": 3', '{"agent": {}, "memory" : {"项目": ',
        '{"memory":\n{"project_key": "acme"}]', "{'memory': {'max_results': 3}}", '{"memory": {"root_dir": /srv/book}}',
    ],
)  # fmt: skip
def test_a_config_json_with_a_memory_section_that_cannot_be_parsed_is_named(
    project: Path, home: Path, text: str
) -> None:
    (project / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"cannot read the settings in .*config\.json"):
        read(project, home)


@pytest.mark.parametrize("text", ["{", "[1, 2", '{"name": "memory", }}', '{"memory": "512m",, }', "memory", "\x00"])
def test_somebody_elses_broken_config_json_is_left_alone(project: Path, home: Path, text: str) -> None:
    (project / "config.json").write_text(text)
    assert read(project, home).sources == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memorybook.json", '{\n  // how many\n  "max_results": 7\n}'),
        ("memorybook.json", '{"max_results": 7, /* 中文 , } */ "language": "zh",}'),
        ("memorybook.json", '{"recall": {"keywords": ["a // b", "/* c */", ",}"],}, "max_results": 7 // end\n}'),
        ("memorybook.json", '\ufeff// first line\n{"max_results": 7, "timezone": "UTC", // last\n}'),
        ("config.json", '{"agent": {}, // theirs\n "memory": {"max_results": 7,},}'),
        ("config.json", '{/**/"memory"/**/:/* " */{"max_results"/*\n*/:7}}'),
    ],
)
def test_json_may_have_comments_and_commas_that_end_a_list(project: Path, home: Path, name: str, text: str) -> None:
    (project / name).write_text(text, encoding="utf-8")
    found = read(project, home)
    assert found.max_results == 7
    if "keywords" in text:
        assert found.recall.keywords == ("a // b", "/* c */", ",}")


def test_a_file_that_is_not_utf8_is_named(project: Path, home: Path) -> None:
    (project / "memorybook.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        read(project, home)


def test_yaml_without_its_library_names_the_install_command(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "memorybook.yaml").write_text("max_results: 3")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memorybook\[yaml\]'"):
        read(project, home)


# --- secrets -------------------------------------------------------------------------------------


def test_no_repr_shows_a_key_or_an_address(project: Path, home: Path) -> None:
    found = read(
        project, home, llm__api_key="hidden-1", embeddings__api_key="hidden-2",
        transcripts__url="libsql://x?authToken=hidden-3", llm__base_url="http://u:hidden-4@x",
    )  # fmt: skip
    assert found.llm.api_key == "hidden-1"
    assert "hidden" not in repr(found)
    assert "api_key='***'" not in repr(found)
    assert "api_key=***" in repr(found)


def test_no_error_shows_a_key(project: Path, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(project, home, llm__api_key=["hidden"])
    assert "hidden" not in str(caught.value)


def test_the_embedding_server_is_that_of_the_llm_unless_it_says_otherwise(project: Path, home: Path) -> None:
    shared = read(project, home, llm__base_url="http://l", llm__api_key="k")
    assert (shared.embedding_base_url, shared.embedding_api_key) == ("http://l", "k")
    own = shared._replace(embeddings=EmbeddingSettings(base_url="http://e", api_key="f"))
    assert (own.embedding_base_url, own.embedding_api_key) == ("http://e", "f")


# --- trust ---------------------------------------------------------------------------------------


def risky_project(project: Path) -> Path:
    file = project / "memorybook.toml"
    file.write_text(
        "max_results = 5\nroot_dir = 'book'\n[vector]\nbase_url = 'http://evil'\n[redaction]\nenabled = false"
    )
    return file


def test_of_an_untrusted_file_only_harmless_settings_count(project: Path, home: Path) -> None:
    risky_project(project)
    found = read(project, home)
    assert (found.max_results, found.root_dir, found.embeddings.base_url, found.redaction.enabled) == (5, "", "", True)
    assert len(found.warnings) == 1
    assert "root_dir, vector.base_url, redaction.enabled left out" in found.warnings[0]
    assert "memorybook trust" in found.warnings[0]


def test_where_the_book_is_can_be_told_while_the_settings_cannot_be_read(project: Path, home: Path) -> None:
    def where(env: dict[str, str] | None = None) -> tuple[str, ...]:
        found = config.where(cwd=str(project), env=env or {}, home=str(home))
        return found.root_dir, found.workspace_dir, found.project_key

    usual = str(home / ".memorybook")
    assert where() == ("", usual, "")
    user_file(home, "[memory]\n# root_dir = '/no'\nroot_dir = '~/书' # mine\nx = \n")
    (project / "memorybook.json").write_text('{"project-key": "teal", "root_dir": "/theirs", "max_resulst": 3}')
    assert where() == (str(home / "书"), usual, "")
    config.trust(str(project / "memorybook.json"), env={}, home=str(home))
    assert where() == ("/theirs", usual, "teal")
    (project / "memorybook.json").write_text('{"project-key": "teal", "root_dir": "/other", "max_res')
    assert where() == (str(home / "书"), usual, "")
    user_file(home, "root_dir = 7\n")
    assert where({"MEMORYBOOK_HOME": "/mnt", "MEMORYBOOK_MAX_RESULTS": "x"}) == ("", "/mnt", "")


def test_a_trusted_file_counts_wholly_until_it_changes(project: Path, home: Path) -> None:
    file = risky_project(project)
    assert config.trust(str(file), env={}, home=str(home)) == ["root_dir", "vector.base_url", "redaction.enabled"]
    trusted = read(project, home)
    assert trusted.root_dir == str(project / "book")
    assert trusted.warnings == ()
    file.write_text(file.read_text() + "# changed\n")
    assert read(project, home).root_dir == ""


def test_a_link_that_takes_a_trusted_books_place_leads_nowhere_out_of_the_project(project: Path, home: Path) -> None:
    file = risky_project(project)
    config.trust(str(file), env={}, home=str(home))
    (project / "inner").mkdir()
    (project / "book").symlink_to("inner")
    assert (read(project, home).root_dir, read(project, home).warnings) == (str(project / "book"), ())
    (project / "book").unlink()
    (project / "book").symlink_to(home)
    found = read(project, home)
    assert found.root_dir == config.where(cwd=str(project), env={}, home=str(home)).root_dir == ""
    assert found.warnings == (
        f"{file}: root_dir left out, a link there leads out of the project; name the place itself",
    )


@pytest.mark.parametrize(
    ("written", "left_out"),
    [
        ("project_key = 'acme'", "project_key"),
        ("memory.project-key = 'acme'", "memory.project-key"),
        ("require_user_confirmation = false", "require_user_confirmation"),
        ("memory.require_user_confirmation = true", "memory.require_user_confirmation"),
        ("[memory]\nproject_key = '别人的项目'", "memory.project_key"),
        ("conflicts = 'newest'", "conflicts"),
        ("[tidy]\napply = ['remove']", "tidy.apply"),
        ("[llm]\nmodel = 'qwen3'", "llm.model"),
        ("[llm.budget]\ntokens_per_day = 0", "llm.budget.tokens_per_day"),
        ("[embeddings]\nmodel = 'BAAI/bge-m3'", "embeddings.model"),
        ("[vector]\nmodel = 'BAAI/bge-m3'", "vector.model"),
        ("[llm]\napi = 'anthropic'", "llm.api"),
        ("[llm]\nmodel = 'pydantic-ai/openai:gpt-5'", "llm.model"),
        ("[embeddings]\nmodel = 'local//models/mine'", "embeddings.model"),
        ("[embeddings]\nmodel = 'local/./mine'", "embeddings.model"),
        ("[embeddings]\nmodel = 'local/org/name'", "embeddings.model"),
        ("[redaction]\npatterns = ['acme-', '/(a+)+$/']", "redaction.patterns"),
    ],
)
def test_a_project_that_is_not_trusted_chooses_neither_book_nor_confirmation_nor_model(
    project: Path, home: Path, written: str, left_out: str
) -> None:
    user_file(home, "require_user_confirmation = true\nconflicts = 'ask'\n[llm]\nbase_url = 'http://127.0.0.1:1/v1'")
    before = read(project, home)
    file = project / "memorybook.toml"
    file.write_text(written)
    found = read(project, home)
    assert found._replace(warnings=(), sources={}) == before._replace(sources={})
    assert found.warnings == (
        f"{file} is not trusted, its {left_out} left out; read it, then run: memorybook trust {file}",
    )
    assert config.trust(str(file), env={}, home=str(home)) == [left_out]
    assert read(project, home).sources[
        left_out.replace("memory.", "").replace("vector", "embeddings").replace("-", "_")
    ]
    assert read(project, home).warnings == ()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("local//models/mine", "local//models/mine"), ("local/~/models/mine", "local/{home}/models/mine"),
        ("local/./mine", "local/{project}/mine"), ("local/../mine", "local/{parent}/mine"),
        ("local/org/name", "local/org/name"), ("org/name", "org/name"),
    ],
)  # fmt: skip
def test_the_folder_of_a_local_model_is_made_absolute(given: str, meant: str, project: Path, home: Path) -> None:
    found = read(project, home, embeddings__model=given).embeddings.model
    assert found == meant.format(home=home, project=project, parent=project.parent)


def test_words_to_mask_need_no_trust(project: Path, home: Path) -> None:
    (project / "memorybook.toml").write_text("[redaction]\npatterns = ['acme-', '/srv/acme']\n")
    assert read(project, home).redaction.patterns == ("acme-", "/srv/acme")


def test_trusting_a_file_that_is_not_there(project: Path, home: Path) -> None:
    with pytest.raises(NotFound, match="no settings file"):
        config.trust(str(project / "memorybook.toml"), env={}, home=str(home))
