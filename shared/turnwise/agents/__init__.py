"""Agents: a model, a set of tools with their handlers, and a conversation history."""
