"""Models: texts to vectors, messages to replies."""
