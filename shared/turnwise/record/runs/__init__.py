"""Runs as requests see them: submission, limits, the inbox, sessions and queries."""
