"""Doors that stay open: what a process serves until it is told to stop."""
