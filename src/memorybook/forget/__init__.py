"""Forgetting: what says a statement is found wherever it stands, cut out, kept out, and erased when it is purged."""
