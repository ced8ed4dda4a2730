"""Libraries of others, each behind its own extra."""
