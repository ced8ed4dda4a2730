"""Asks: claims, replies, pauses, parking and recovery."""
