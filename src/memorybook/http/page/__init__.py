"""The page: HTML views of a book, rendered on the server; needs the extra `ui`."""
