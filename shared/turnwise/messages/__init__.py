"""Messages between responders: documents, and the tools found in them."""
