"""A local OpenAI-compatible server with scripted answers, delays and faults, and embeddings without a model."""
