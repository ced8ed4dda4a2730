"""A client of the gateway."""

from turnwise.client.client import Client

__all__ = ["Client"]
