"""What a workspace promises of its tenants' books, wherever they are kept."""

from __future__ import annotations

from memorybook.agent import Workspace

SAID = {
    "ann": ("boat", ["The ferry leaves at six.", "Ann plays the oboe.", "The bike is red."]),
    "安": ("几点的船？", ["我不吃香菜。", "渡轮六点开。", "店租每月四千五。"]),
}


def sees_each_book_with_its_own_embedder(workspace: Workspace) -> None:
    """A tenant who writes Chinese gets the multilingual embedder, whoever's book was opened first."""
    with workspace:
        for name, (question, texts) in SAID.items():
            with workspace.session("chat", name).memory() as memory:
                for text in texts:
                    memory.append(text)
                memory.search(question)
        kinds = {}
        for name, (question, texts) in SAID.items():
            with workspace.session("chat", name).memory() as memory:
                assert memory.context.embedder is not None
                kinds[name] = memory.context.embedder.name.partition("/")[0]
                assert memory.search(question).hits[0].passage.text in texts[:2]
        assert kinds == {"ann": "static", "安": "multilingual"}
