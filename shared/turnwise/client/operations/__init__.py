"""The operations of the gateway, each described once; `Client` and `AsyncClient` have them as methods."""
