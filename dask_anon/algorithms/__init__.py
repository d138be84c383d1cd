"""Algorithms: from summaries to decisions. No algorithm moves data."""
