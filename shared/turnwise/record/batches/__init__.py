"""Batches: many runs of one task that are begun as room allows, paid from one budget and read in input order."""
