"""A talk in the terminal: with a language model, or with the book alone, which remembers and recalls all the same."""
