from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memorybook.inference import static
from memorybook.inference.static import WordPieces

TOKENIZER = Path(sysconfig.get_path("purelib")) / "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
DATA = Path(os.environ.get("MEMORYBOOK_DATA", Path(__file__).parents[3] / "shared" / "data"))

WORDS = """
    The user's favourite café is "Zoë & Co." (open 24/7); naïve coöperation — 3.14% of £1,000,000!
    def __init__(self, *, max_results: int = 10) -> None: return self._index.get(f"{path!r}:{line}", [])
    https://example.org/a/b?c=d&e=f#g C:\\Users\\me\\.ssh\\id_ed25519 /usr/lib/python3.11/re/_parser.py
    ZX9f0aQ== 0xDEADBEEF aaaaaaaaaaaaaaaa abababababab ------->> <0x41> internationalisation ÅÄÖ ĳ ﬁ
    Привет, мир Καλημέρα שלום नमस्ते 喜欢咖啡 記憶 コーヒー 커피 🙂👩‍👩‍👧‍👦 \ufeffBOM \x00 \x7f
""".split()


@pytest.fixture(scope="module")
def pieces() -> WordPieces:
    return static.load_pieces(str(TOKENIZER), None)


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    """The tokenizer itself, but for `<s>` in a text, which is text here."""
    described = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    return Tokenizer.from_str(json.dumps(described | {"added_tokens": []}))


def differing(pieces: WordPieces, reference: Tokenizer, words: list[str]) -> list[str]:
    encoded = reference.encode_batch(words, add_special_tokens=False)
    return [word for word, found in zip(words, encoded, strict=True) if pieces.ids(word) != found.ids]


def test_words_are_cut_as_by_the_tokenizer(pieces: WordPieces, reference: Tokenizer) -> None:
    assert differing(pieces, reference, WORDS) == []


@settings(max_examples=2 * settings().max_examples)
@given(
    st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="▁"), min_size=1, max_size=40)
    | st.text("etaoinshrdl._-/0", min_size=1, max_size=60)  # full of merges
)
def test_any_word_is_cut_as_by_the_tokenizer(pieces: WordPieces, reference: Tokenizer, word: str) -> None:
    assert differing(pieces, reference, [word]) == []


def test_every_piece_that_begins_a_word_is_reached_by_merging_that_word(
    pieces: WordPieces, reference: Tokenizer
) -> None:
    """What lets a word that is one piece be looked up whole."""
    vocabulary = reference.get_vocab()
    words = [piece[1:] for piece in vocabulary if piece[0] == "▁" and piece.strip("▁")]
    assert len(words) > 10_000
    encoded = reference.encode_batch(words, add_special_tokens=False)
    assert [w for w, found in zip(words, encoded, strict=True) if found.ids != [vocabulary["▁" + w]]] == []
    assert differing(pieces, reference, words) == []


def test_texts_of_real_conversations_are_cut_as_by_the_tokenizer(pieces: WordPieces, reference: Tokenizer) -> None:
    files = [DATA / "locomo/queries.jsonl", DATA / "locomo/conv-30.jsonl", DATA / "zh-agent/conversation.jsonl"]
    if not all(file.is_file() for file in files):
        pytest.skip("needs the conversations in MEMORYBOOK_DATA")
    words = {word for file in files for word in file.read_text(encoding="utf-8").split()}
    short = sorted(word for word in words if len(word) <= static.LONGEST_WORD)
    assert len(short) > 5000
    assert differing(pieces, reference, short) == []


def test_a_very_long_word_is_cut_in_stretches(pieces: WordPieces) -> None:
    word = "abcdefgh" * 20
    whole = pieces.ids(word)
    assert whole[: len(pieces.ids(word[:128])) - 2] == pieces.ids(word[:128])[:-2]
    assert len(pieces.ids("x0" * 50_000)) > 10_000


def test_the_cache_is_made_once_and_read_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "new" / "cache"
    static.load_pieces(str(TOKENIZER), str(cache))
    (file,) = cache.iterdir()
    assert file.stat().st_size < 600_000
    assert file.stat().st_mode & 0o777 == 0o600

    def never(path: str) -> bytes:
        raise AssertionError("parsed again")

    monkeypatch.setattr(static, "_from_tokenizer", never)
    assert static.load_pieces(str(TOKENIZER), str(cache)).ids("hello") == [22172]


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"00000000\n<s>\n</s>"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    static.load_pieces(str(TOKENIZER), str(tmp_path))
    (file,) = tmp_path.iterdir()
    sound = file.read_bytes()
    file.write_bytes(damage)
    assert static.load_pieces(str(TOKENIZER), str(tmp_path)).ids("hello") == [22172]
    assert file.read_bytes() == sound


def test_another_tokenizer_file_gets_another_cache(tmp_path: Path) -> None:
    other = tmp_path / "tokenizer.json"
    vocabulary = {f"<{number}>": number for number in range(259)} | {
        "▁": 259, "h": 260, "i": 261, "hi": 262, "▁hi": 263,
    }  # fmt: skip
    other.write_text(json.dumps({"model": {"vocab": vocabulary}}), encoding="utf-8")
    static.load_pieces(str(TOKENIZER), str(tmp_path / "cache"))
    found = static.load_pieces(str(other), str(tmp_path / "cache"))
    assert (found.size, found.ids("hi")) == (264, [263])
    assert found.ids("hé") == [259, 260, 3 + 0xC3, 3 + 0xA9]
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_cache_that_cannot_be_put_in_place_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    static.load_pieces(str(TOKENIZER), None)
    assert list(tmp_path.iterdir()) == [], "none is asked for"
    monkeypatch.setattr("memorybook.inference.static.os.replace", full)
    assert static.load_pieces(str(TOKENIZER), str(tmp_path)).ids("hello") == [22172]
    assert list(tmp_path.iterdir()) == []
