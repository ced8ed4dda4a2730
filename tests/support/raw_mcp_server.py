"""An MCP server over stdio that writes what it is told to: `python raw_mcp_server.py TOOL RESULT [NOISE]`.

The tool and the result are JSON; the noise is a line in Latin-1, which is written before each answer to a call.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main(tool: dict[str, Any], result: dict[str, Any], noise: str = "") -> None:
    """Answer requests until the standard input ends: `tool` is the only one listed, `result` that of every call."""
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": result,
    }
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        found = results.get(request["method"])
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        answer = unknown if found is None else {"result": found}
        if noise and request["method"] == "tools/call":
            sys.stdout.buffer.write(f"{noise}\n".encode("latin-1"))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main(*(json.loads(given) for given in sys.argv[1:3]), *sys.argv[3:])
