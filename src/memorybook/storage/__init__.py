"""Where documents, transcripts, the journal and the index are kept."""
