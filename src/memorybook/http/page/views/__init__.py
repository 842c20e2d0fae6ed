"""Views: each reads what verbs of `Memory` answer, and shows it as the values of its template."""
