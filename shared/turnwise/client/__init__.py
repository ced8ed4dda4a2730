"""Clients of the gateway."""

from turnwise.client.async_client import AsyncClient
from turnwise.client.client import Client

__all__ = ["AsyncClient", "Client"]
