"""Turnwise gateway service."""
