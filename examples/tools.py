"""Give the memory to a model as tools: the schemas for your request, and one line that runs what the model calls.

python examples/tools.py
"""

import memorybook
from memorybook import tools

CALLS = (  # what a model might answer; here it is written down, so that the example needs none
    ("memory_remember", '{"text": "The user prefers green tea.", "category": "preference"}'),
    ("memory_search", '{"query": "what does the user drink?"}'),
)

with memorybook.open("tools-book") as memory:
    schemas = tools.schemas("openai")  # also "openai-responses" and "anthropic"
    print(len(schemas), "tools for the request")
    for name, arguments in CALLS:
        answer = tools.call(memory, name, arguments, for_model=True)
        print(name, "→", tools.text(answer))
