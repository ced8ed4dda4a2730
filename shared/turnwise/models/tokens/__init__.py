"""Tokens: counts, limits and prices."""
