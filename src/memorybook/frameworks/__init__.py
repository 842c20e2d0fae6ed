"""The book in other people's frameworks: one module each, which imports its framework and is imported by its users."""
