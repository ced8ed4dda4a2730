"""Webhooks on their way: the addresses that are allowed, the message, its signature, and the request."""
