"""From a question to the block that an agent is told: one pipeline, used by every door."""
