"""A log as one HTML page that needs nothing else: no network, no other file, and no script to be read."""
