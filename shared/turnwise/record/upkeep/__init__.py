"""Upkeep of the record: gauges, inspection and deletion."""
