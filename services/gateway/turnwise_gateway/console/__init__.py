"""The console: the pages that a browser gets from the gateway. All their data comes from the public API."""
