"""Entries: remember, extract, match, merge, fade, tidy, review."""
