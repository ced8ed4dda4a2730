"""Recorded conversations, and a player that holds Turnwise against them."""
