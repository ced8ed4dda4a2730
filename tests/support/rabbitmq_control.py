"""Virtual hosts, permissions and policies of the local RabbitMQ.

`rabbitmqctl` starts an Erlang of its own for each command, which takes more than a second of processor time, and the
tests give hundreds of commands. So it is asked once for the node, and Erlang's `erl_call` has the node do what the
commands would. Where there is no `erl_call`, or this RabbitMQ has other functions, it is `rabbitmqctl` again.

Each function returns whether it succeeded.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

_EVERYTHING = ".*"


def add_vhost(name: str) -> bool:
    """Make a virtual host."""
    return _done("rabbit_vhost:add", [name], "add_vhost", name)


def delete_vhost(name: str) -> bool:
    """Delete a virtual host with all that is in it."""
    return _done("rabbit_vhost:delete", [name], "delete_vhost", name)


def set_permissions(
    vhost: str, user: str, configure: str = _EVERYTHING, write: str = _EVERYTHING, read: str = _EVERYTHING
) -> bool:
    """Set what a user may do in a virtual host; each is a regular expression of names."""
    rights = [configure, write, read]
    function = "rabbit_auth_backend_internal:set_permissions"
    return _done(function, [user, vhost, *rights], "set_permissions", "-p", vhost, user, *rights)


def clear_permissions(vhost: str, user: str) -> bool:
    """Let a user no longer into a virtual host."""
    function = "rabbit_auth_backend_internal:clear_permissions"
    return _done(function, [user, vhost], "clear_permissions", "-p", vhost, user)


def set_policy(vhost: str, name: str, definition: str) -> bool:
    """Set a policy, in JSON, for all queues of a virtual host."""
    given = [vhost, name, _EVERYTHING, definition, "0", "queues"]
    command = ["set_policy", "-p", vhost, "--apply-to", "queues", name, _EVERYTHING, definition]
    return _done("rabbit_policy:parse_set", given, *command)


def clear_policy(vhost: str, name: str) -> bool:
    """Delete a policy of a virtual host."""
    return _done("rabbit_policy:delete", [vhost, name], "clear_policy", "-p", vhost, name)


def _done(function: str, arguments: list[str], *command: str) -> bool:
    if shutil.which("rabbitmqctl") is None:
        return False
    return _called(function, arguments) or _run("rabbitmqctl", "-q", *command).returncode == 0


def _called(function: str, arguments: list[str]) -> bool:
    """Have the node call one of its functions, with who asks for it as the last argument."""
    node = _node()
    if node is None:
        return False
    name, cookie = node
    expression = f"{function}({', '.join(map(_binary, [*arguments, 'tests']))}).\n"
    done = _run("erl_call", "-c", cookie, "-n", name, "-e", given=expression)
    return done.returncode == 0 and done.stdout == "{ok, ok}"


@functools.cache
def _node() -> tuple[str, str] | None:
    """The node's name and cookie; None where it cannot be called."""
    if shutil.which("erl_call") is None:
        return None
    told = _run("rabbitmqctl", "-q", "eval", "{node(), erlang:get_cookie()}.").stdout
    found = re.search(r"\{'?([^',]+)'?,'?([^',}]+)'?\}", told)
    return (found[1], found[2]) if found else None


def _binary(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'<<"{escaped}">>'


def _run(*command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
