"""The search index: BM25, vectors, and how both follow the documents."""
