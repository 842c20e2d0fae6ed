"""What agent hosts (Claude Code, Codex, Gemini CLI) tell a book while they work, and what it answers them."""
