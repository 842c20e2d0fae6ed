"""Settings: their allowed values, the files they come from, and which book a folder belongs to."""
