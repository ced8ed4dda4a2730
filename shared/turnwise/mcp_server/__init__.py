"""An application's tasks as tools of the Model Context Protocol (MCP): `turnwise mcp`.

Loaded only by that command: the protocol's library takes a second to load.
"""
