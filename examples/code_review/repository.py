"""An MCP server that shows the Python files of one folder, and runs an expression of a module: `repository.py FOLDER`.

The reviewer starts it by itself. Any other client of MCP may use it as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
READ_ONLY = ToolAnnotations(read_only_hint=True)

server = MCPServer("repository")


@server.tool(annotations=READ_ONLY)
def list_files() -> str:
    """The Python files of the folder, one on a line."""
    return "\n".join(sorted(path.name for path in FOLDER.glob("*.py")))


@server.tool(annotations=READ_ONLY)
def read_file(name: str) -> str:
    """A file with the numbers of its lines."""
    lines = _inside(name).read_text().splitlines()
    return "\n".join(f"{number:3} {line}" for number, line in enumerate(lines, start=1))


@server.tool(annotations=READ_ONLY)
def try_call(name: str, function: str, arguments: list[object]) -> str:
    """Call a function of a file in a process of its own, for at most five seconds; its value, or its error."""
    if not function.isidentifier():
        raise ToolError(f"{function!r} is no name of a function")
    program = f"import json, runpy, sys\nprint(runpy.run_path(sys.argv[1])[{function!r}](*json.loads(sys.argv[2])))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(_inside(name)), json.dumps(arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=5,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def _inside(name: str) -> Path:
    """The path of a file of the folder: a model may write any name."""
    path = (FOLDER / name).resolve()
    if path.parent != FOLDER or path.suffix != ".py" or not path.is_file():
        raise ToolError(f"there is no file {name!r}; list_files has them all")
    return path


if __name__ == "__main__":
    server.run("stdio")
