"""Days that texts name, English and Chinese: one grammar, three readers.

`grammar` finds the phrases of a text, `table` holds them, and `readers` say which days one means: what a question asks
about, when something is to be done, and every day that may be meant at all.
"""
