"""The demo's session on the terminal."""
