"""Turnwise coordinator service."""
