"""Hooks of agent hosts (Claude Code, Codex, Gemini CLI): read their events, answer with memory."""
