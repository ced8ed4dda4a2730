"""A turn taken apart: what it asks of the database and the broker, and the CPU of its parts."""
