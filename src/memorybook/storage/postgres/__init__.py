"""Books in PostgreSQL: one tenant each, the same tables and the same ranking as in files."""
