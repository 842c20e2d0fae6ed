"""The documents of a book as values: text in, values out and back, without files or clocks."""
