"""Moves of served runs: one decision of the machine in one transaction."""
