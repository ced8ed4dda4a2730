"""Webhooks in the record: receivers, and what is to be sent to them."""
