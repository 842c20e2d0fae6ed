"""Long-term memory for AI agents in Markdown a person can read."""
