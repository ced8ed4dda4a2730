"""Turnwise beside other durable libraries: `make bench-peers`."""
