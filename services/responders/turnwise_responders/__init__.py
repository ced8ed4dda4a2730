"""Turnwise responders service."""
