"""Sessions: their turns, their end, their summaries, and the four recalls of past conversations."""
