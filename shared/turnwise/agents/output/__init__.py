"""The format that a model's answers must have."""
