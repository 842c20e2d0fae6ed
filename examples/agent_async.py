"""The agent of agent.py, awaited; the model is a coroutine function of messages.

python examples/agent_async.py "I prefer green tea in the morning."
python examples/agent_async.py "What do I drink in the morning?"
"""

import asyncio
import sys

import memorybook.aio


async def model(messages: list[dict[str, str]]) -> str:
    """Answer with the memories in the prompt: put the call of your own model here."""
    return messages[0]["content"]


async def main(messages: list[str]) -> None:
    """Answer each message, then remember the talk."""
    async with memorybook.aio.open("agent-book") as memory:
        await memory.init()  # makes the book, if there is none yet
        talk = []
        for message in messages:
            known = await memory.recall(message)
            prompt = [{"role": "system", "content": known.text}, {"role": "user", "content": message}]
            talk += [prompt[1], {"role": "assistant", "content": await model(prompt)}]
            print(talk[-1]["content"])
        await memory.process_session_end(talk)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["I prefer green tea in the morning."]))
