"""Search: candidates, evidence, ranking, relevance and result types."""
