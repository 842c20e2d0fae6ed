"""Storage of documents, transcripts, journal and index."""
