"""Durable conversations between LLM agents, tools and humans."""
