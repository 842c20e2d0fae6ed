"""Books that are read together: a personal, a project's and a team's; what is written goes to one."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import memorybook
from memorybook import tools
from memorybook.book.book import closed
from memorybook.config.settings import Config, LayerSettings, load
from memorybook.errors import InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.results import Known

SAID = {
    "personal": "The user prefers terse code with few comments.",
    "team": "The team releases on Tuesdays from the branch pre.",
    "project": "The staging server of this project is called harbour.",
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Settings with three books that each know one thing."""
    config = Config(layers=LayerSettings(str(tmp_path / "personal"), str(tmp_path / "team")))
    for name, text in SAID.items():
        with memorybook.open(tmp_path / name, config=Config()) as memory:
            memory.remember(text, importance="high")
    return config


@pytest.fixture
def layered(tmp_path: Path, config: Config) -> Memory:
    return memorybook.open(tmp_path / "project", config=config)


@pytest.mark.parametrize(
    ("question", "layer"),
    [
        ("Which branch does the team release from?", "team"),
        ("How does the user like code?", "personal"),
        ("What is the staging server called?", "project"),
    ],
)
def test_a_search_finds_what_any_of_them_knows_and_says_whose_it_is(layered: Memory, question: str, layer: str) -> None:
    with layered:
        best = layered.search(question).hits[0]
        assert (best.layer, best.passage.text) == (layer, SAID[layer])
        assert best.json()["layer"] == layer
        assert layered.search(question, max_results=1).hits == (best,)
        told = tools.text(tools.call(layered, "memory_search", {"query": question}, for_model=True))
        assert f" {layer}:MEMORY.md#L" in told
        lines = layered.get(f"{layer}:MEMORY.md")
        assert SAID[layer] in str(lines.json())
        found = layered.get(f"{layer}:{best.passage.entry}")
        assert isinstance(found, Known)
        assert found.entry.text == SAID[layer]


def test_a_project_without_a_book_reads_the_others(tmp_path: Path, config: Config) -> None:
    with memorybook.open(tmp_path / "new", config=config) as memory:
        assert memory.search("Which branch does the team release from?").hits[0].layer == "team"
        assert SAID["team"] in memory.recall("From which branch does the team release?").text
    assert not (tmp_path / "new").exists()
    none = Config(layers=LayerSettings(str(tmp_path / "no one"), str(tmp_path / "nowhere")))
    with memorybook.open(tmp_path / "new", config=none) as memory, pytest.raises(NotFound):
        memory.search("Which branch does the team release from?")


def test_a_block_has_a_part_for_each_book(layered: Memory) -> None:
    with layered:
        recalled = layered.recall("From which branch does the team release?", max_tokens=800)
        titles = [line for line in recalled.text.split("\n") if line.startswith("# ")]
        assert titles == ["# Memory of this project", "# Personal memory", "# Memory of the team"]
        assert recalled.text.index("# Memory of the team") < recalled.text.index(SAID["team"])
        assert recalled.text.count("<!-- memorybook:recalled -->") == 1
        assert recalled.text.count("<!-- /memorybook:recalled -->") == 1
        assert recalled.tokens <= 800
        assert "team" in {hit.layer for hit in recalled.cold}
        shown = layered.preview("From which branch does the team release?", max_tokens=800)
        assert shown.text == recalled.text
        chinese = layered.recall("团队从哪个分支发布？ team releases", max_tokens=800).text
        assert "# 团队记忆" in chinese


def test_the_room_of_a_block_is_kept(layered: Memory) -> None:
    with layered:
        for number in range(40):
            layered.remember(f"Harbour fact number {number} of the staging server.")
        for most in (120, 300, 1000):
            assert layered.recall("What is the staging server called?", max_tokens=most).tokens <= most


def test_alone_nothing_says_a_layer(tmp_path: Path, config: Config) -> None:
    with memorybook.open(tmp_path / "project", config=Config()) as memory:
        assert "layer" not in memory.search("staging server").hits[0].json()
        assert "# Memory\n" in memory.recall("staging server").text
    with memorybook.open(tmp_path / "project", config=config, missing_ok=True) as tenant:
        assert {hit.layer for hit in tenant.search("which branch does the team release from?").hits} == {""}


def test_what_is_written_goes_to_the_layer_that_is_named(tmp_path: Path, config: Config) -> None:
    with memorybook.open(layer="team", config=config) as memory:
        assert memory.root == str(tmp_path / "team")
        memory.remember("The team meets on Mondays.")
        assert {hit.layer for hit in memory.search("team code").hits} == {"team", "personal"}
    with memorybook.open(tmp_path / "team", config=Config()) as memory:
        assert memory.entries().total == 2
    with pytest.raises(InvalidInput, match="name two books"):
        memorybook.open(tmp_path / "project", layer="team", config=config)
    with pytest.raises(InvalidInput, match=r"in the setting layers\.team"):
        memorybook.open(layer="team", config=Config())
    with pytest.raises(InvalidInput, match="unknown layer 'mine'"):
        memorybook.open(layer="mine", config=config)  # type: ignore[arg-type]


def test_entries_of_another_layer_are_not_changed_from_here(layered: Memory) -> None:
    with layered:
        other = layered.search("Which branch does the team release from?").hits[0]
        assert other.passage.entry is not None
        for change in (lambda id: layered.update(id, text="x"), layered.pin, layered.forget):
            with pytest.raises(NotFound):
                change(other.passage.entry)


def test_a_book_that_cannot_be_read_is_named_and_the_rest_answers(layered: Memory, tmp_path: Path) -> None:
    with layered:
        personal, team = layered.context.layers
        layered.context = layered.context._replace(layers=(personal, team._replace(book=closed(team.book))))
        answer = layered.search("What is the staging server called?")
        assert answer.hits[0].layer == "project"
        assert any(reason.startswith("the team book cannot be read: ") for reason in answer.state["degraded"])
        assert SAID["project"] in layered.recall("What is the staging server called?").text


def test_a_book_that_is_not_there_is_read_as_empty(tmp_path: Path) -> None:
    config = Config(layers=LayerSettings(team=str(tmp_path / "nowhere")))
    with memorybook.open(tmp_path / "project", config=config) as memory:
        memory.remember("Tea.")
        assert [hit.layer for hit in memory.search("tea").hits] == ["project"]
    assert not (tmp_path / "nowhere").exists()


def test_a_projects_file_names_a_team_book_only_if_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "memorybook.toml").write_text('[layers]\nteam = "../team"\n')
    found = load(cwd=str(tmp_path), env={}, home=str(tmp_path / "home"))
    assert (found.layers.team, "layers.team left out" in found.warnings[0]) == ("", True)


# --- nothing of one is written into another --------------------------------------------------------


class ThreeBooks(RuleBasedStateMachine):
    """Whatever is done through one of three books that are read together, the two others stay byte for byte."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0

    @initialize()
    def make(self) -> None:
        root = Path(self._folder.name)
        self._config = Config(layers=LayerSettings(str(root / "personal"), str(root / "team")))
        self.places = {name: root / name for name in SAID}
        for name, text in SAID.items():
            with memorybook.open(self.places[name], config=Config()) as memory:
                memory.remember(text)
        self.books = {name: memorybook.open(place, config=self._config) for name, place in self.places.items()}
        self.before = {name: self._state(name) for name in self.places}

    def _state(self, name: str) -> dict[str, bytes | str]:
        """Documents by path, and what the journal tells."""
        place = self.places[name]
        files = [path for path in place.rglob("*.md*") if ".memorybook" not in path.parts]
        told: dict[str, bytes | str] = {str(path): path.read_bytes() for path in files}
        memory = self.books[name]
        told["history"] = json.dumps(memory.history(limit=1000).json(), default=str)
        told["sessions"] = json.dumps(memory.sessions(limit=None).json(), default=str)
        told["uses"] = str([(known.entry.id, known.access_count) for known in memory.entries().entries])
        return told

    def _wrote(self, name: str) -> None:
        self.before[name] = self._state(name)

    @rule(name=st.sampled_from(sorted(SAID)), text=st.sampled_from(["喜欢红茶", "The port is", "Bergen is rainy"]))
    def remember(self, name: str, text: str) -> None:
        self._count += 1
        self.books[name].remember(f"{text} {self._count}")
        self._wrote(name)

    @rule(name=st.sampled_from(sorted(SAID)), query=st.sampled_from([*SAID.values(), "喜欢什么茶？"]))
    def recall(self, name: str, query: str) -> None:
        self.books[name].search(query)
        self.books[name].recall(query)
        self._wrote(name)

    @rule(name=st.sampled_from(sorted(SAID)), query=st.sampled_from([*SAID.values(), "Bergen"]))
    def forget(self, name: str, query: str) -> None:
        self.books[name].forget(query=query)
        self._wrote(name)

    @rule(name=st.sampled_from(sorted(SAID)))
    def memorize(self, name: str) -> None:
        self._count += 1
        said = [{"role": "user", "content": f"I moved to flat {self._count}. The team releases on Fridays now."}]
        self.books[name].process_session_end(said, f"talk-{self._count}")
        self.books[name].tidy()
        self._wrote(name)

    @invariant()
    def others_stay(self) -> None:
        for name in getattr(self, "places", ()):
            assert self._state(name) == self.before[name]

    def teardown(self) -> None:
        for memory in getattr(self, "books", {}).values():
            memory.close()
        self._folder.cleanup()


TestThreeBooks = ThreeBooks.TestCase
TestThreeBooks.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
