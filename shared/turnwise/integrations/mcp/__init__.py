"""Tools of servers that speak the Model Context Protocol (MCP).

The only package that imports the protocol's library, which takes a second to load: only when a server is used.
"""
