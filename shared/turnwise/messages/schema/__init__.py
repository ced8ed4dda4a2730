"""JSON schemas and tools made of Python types."""
