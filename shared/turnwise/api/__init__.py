"""The HTTP API as typed models: answers, which the gateway builds and the clients return, and bodies of requests."""
