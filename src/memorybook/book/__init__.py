"""The open book: transactions, commits, undo, and the background thread that embeds passages."""
