"""An agent with a memory: run it twice, and the second process knows what the first was told.

`python examples/agent.py "I prefer green tea in the morning."`
`python examples/agent.py "What do I drink in the morning?"`

It asks the model of your settings (docs/models.md). Without one it answers with what it remembers.
"""

import sys

import memorybook


def reply(memory: memorybook.Memory, message: str) -> str:
    """Answer a message with what the memory has about it."""
    known = memory.recall(message).text  # a block for the prompt, within a budget of tokens
    if memory.llm is None:
        return known
    system = f"You are a helpful assistant.\n\n{known}"
    return memory.llm.complete([{"role": "system", "content": system}, {"role": "user", "content": message}]).text


def main(messages: list[str]) -> None:
    """Answer each message, then remember the talk."""
    with memorybook.open("agent-book") as memory:
        memory.init()  # makes the book, if there is none yet
        talk = []
        for message in messages:
            talk += [{"role": "user", "content": message}, {"role": "assistant", "content": reply(memory, message)}]
            print(talk[-1]["content"])
        memory.process_session_end(talk)  # preferences, decisions, facts and todos become entries


if __name__ == "__main__":
    main(sys.argv[1:] or ["I prefer green tea in the morning."])
