"""Runs: submission, transactions, sessions and queries."""
