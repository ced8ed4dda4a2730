"""The transaction on one run, in which everything about that run is written."""
