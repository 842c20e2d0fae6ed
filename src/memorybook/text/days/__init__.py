"""Days that texts name, English and Chinese: one grammar, three readers.

`grammar` finds the phrases of a text, `spans` says which days one means; `past` reads what a question asks about, `due`
when something is to be done, and `possible` every day that may be meant at all.
"""
