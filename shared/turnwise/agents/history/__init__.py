"""The history of an agent's conversation with its model, and what of it fits the model's context."""
