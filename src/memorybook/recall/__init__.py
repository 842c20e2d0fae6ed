"""Finding: pure steps over the candidates that an index brings."""
