"""Play programs of the reference implementation on both sides, and compare the conversations."""
