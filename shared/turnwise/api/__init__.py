"""What the HTTP API answers, as typed models: the gateway builds them, and the clients return them."""
