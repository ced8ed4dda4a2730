"""Attempts at claimed asks: the agent, its calls and its budget."""
