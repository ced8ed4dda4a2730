"""Schedules as rules: when a tick is due, and what becomes of ticks that were missed. No I/O and no clock."""
