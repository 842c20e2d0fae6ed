"""Tests of the document formats."""
