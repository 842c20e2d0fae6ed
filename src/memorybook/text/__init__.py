"""Pure functions on text: tokens for finding, passages for indexing, redaction and screening on the way in."""
