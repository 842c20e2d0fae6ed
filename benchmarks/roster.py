"""Whom `peers.py` compares memorybook with: what each is installed from, and its settings.

Every peer has its defaults and the best that its documentation recommends for what is installed with it. Their
adapters are `adapters/with_NAME.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

PLAIN, LABELLED, FIELDS = "plain", "labelled", "fields"
"""How a peer is given a turn: its words; `[date] Speaker: words`; or words, speaker and date each in its place."""


class Setting(NamedTuple):
    """One way to run a peer.

    Attributes:
        name: Short, for the tables.
        options: What its adapter is told.
        hybrid: Whether it joins keyword and vector search.
    """

    name: str
    options: Mapping[str, Any] = {}
    hybrid: bool = False


class Peer(NamedTuple):
    """One store, library or tool.

    Attributes:
        name: Its adapter is `adapters/with_NAME.py`.
        title: For the tables.
        package: The distribution whose version is named; "" for what is not a Python package.
        requirements: What pip installs into its environment.
        settings: Its defaults first.
        texts: How it can be given a turn.
        python: The oldest Python it runs on.
        durable: Whether a write is on disk once its call returns; else the index is in memory until it is saved whole.
        note: What a reader of its rows must know.
    """

    name: str
    title: str
    package: str
    requirements: tuple[str, ...]
    settings: tuple[Setting, ...]
    texts: tuple[str, ...] = (PLAIN, LABELLED)
    python: tuple[int, int] = (3, 11)
    durable: bool = True
    note: str = ""


PEERS = (
    Peer(
        "memorybook",
        "memorybook",
        "memorybook",
        ("-e", str(ROOT)),
        (
            Setting("hybrid", {"backend": "sqlite_hybrid"}, hybrid=True),
            Setting("words", {"backend": "sqlite_fts"}),
        ),
        texts=(FIELDS,),
    ),
    Peer(
        "sqlite",
        "SQLite FTS5 + sqlite-vec by hand",
        "sqlite-vec",
        ("apsw", "sqlite-vec"),
        (
            Setting("RRF", hybrid=True),
            Setting("RRF, Porter, stop words", {"tokenize": "porter unicode61", "stop": True}, hybrid=True),
            Setting("words, Porter, stop words", {"tokenize": "porter unicode61", "stop": True, "vectors": False}),
        ),
    ),
    Peer(
        "lancedb",
        "LanceDB",
        "lancedb",
        ("lancedb",),
        (
            Setting("vectors"),
            Setting("hybrid", {"hybrid": True}, hybrid=True),
            Setting("hybrid, HNSW", {"hybrid": True, "ann": True}, hybrid=True),
        ),
    ),
    Peer(
        "txtai",
        "txtai",
        "txtai",
        ("torch==2.13.0", "txtai"),
        (
            Setting("vectors"),
            Setting("hybrid", {"hybrid": True}, hybrid=True),
            Setting(
                "hybrid, stop words",
                {
                    "hybrid": True,
                    "scoring": {
                        "method": "bm25",
                        "terms": True,
                        "normalize": True,
                        "tokenizer": {"stopwords": True},
                    },
                },
                hybrid=True,
            ),
        ),
        durable=False,
        note="its index is held in memory and saved as a whole; its torch is pinned to a build without CUDA",
    ),
    Peer(
        "chromadb",
        "Chroma",
        "chromadb",
        ("chromadb",),
        (
            Setting("vectors"),
            Setting("cosine, ef 200", {"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}}),
        ),
        note="its hybrid search is its cloud's: not implemented locally",
    ),
    Peer(
        "mem0",
        "mem0, infer off",
        "mem0ai",
        ("mem0ai", "fastembed"),
        (
            Setting("vectors"),
            Setting("hybrid", {"bm25": True, "threshold": 0.0}, hybrid=True),
        ),
        note="its spaCy model, for entities, cannot be fetched here",
    ),
    Peer(
        "langgraph",
        "LangGraph SqliteStore",
        "langgraph-checkpoint-sqlite",
        ("langgraph", "langgraph-checkpoint-sqlite", "pysqlite3-binary"),
        (
            Setting("vectors"),
            Setting("vectors of the text", {"fields": ["text"]}),
        ),
        note="vectors alone: it has no keyword search",
    ),
    Peer(
        "memsearch",
        "memsearch, Milvus Lite",
        "memsearch",
        ("memsearch", "milvus-lite"),
        (Setting("hybrid", hybrid=True),),
        note="its reranker is fetched from a hub: not tried",
    ),
    Peer(
        "basic_memory",
        "basic-memory",
        "basic-memory",
        ("basic-memory==0.23.2", "pysqlite3-binary"),
        (
            Setting("hybrid", {"mode": "hybrid"}, hybrid=True),
            Setting("text", {"mode": "text"}),
        ),
        python=(3, 12),
        note="of 0.24 a dependency could not be found when this was written, so 0.23.2",
    ),
    Peer(
        "reme",
        "ReMe",
        "reme-ai",
        ("reme-ai[as]",),
        (
            Setting("BM25"),
            Setting("hybrid", {"vector_weight": 0.7}, hybrid=True),
            Setting("hybrid, words first", {"vector_weight": 0.3}, hybrid=True),
        ),
        durable=False,
        note="its index is held in memory and written as a whole, at the latest when it is closed",
    ),
    Peer(
        "grep",
        "grep, any word",
        "",
        (),
        (
            Setting("all words"),
            Setting("stop words out", {"stop": True}),
        ),
    ),
)
