"""The events of a run: their places, and their data as typed values."""
