"""The answers of the HTTP API as typed models: the gateway builds them, and the clients return them."""
