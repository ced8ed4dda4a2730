"""From Python types to JSON schemas and tools."""
