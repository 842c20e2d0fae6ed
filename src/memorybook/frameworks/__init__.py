"""The book in other people's frameworks: one module each, which imports its framework and is imported by its users.

What several need: `external_session` (conversations), `file_tree` (files), `key_value` (values by key), `memory_tool`.
"""
