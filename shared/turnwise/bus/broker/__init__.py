"""The broker: addresses, connections, exchanges, publishing and listening."""
