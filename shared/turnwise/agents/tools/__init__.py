"""The tools of an agent: registration, handlers, and their calls."""
