"""The addresses on which processes of this machine would listen: are they its own, and free?"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

from turnwise.cli.doctor.finding import Finding, fault, ok
from turnwise.processes.settings import ServiceSettings

_SECONDS = 3.0


def check(settings: ServiceSettings) -> Iterator[Finding]:
    """Open and close each port; one that a gateway of ours holds is as it should be."""
    yield _address("address of the gateway", "TURNWISE_BIND", *settings.bind_address)
    if settings.metrics_address is not None:
        yield _address("address of metrics", "TURNWISE_METRICS_BIND", *settings.metrics_address)


def _address(check: str, name: str, host: str, port: int) -> Finding:
    where = f"{host}:{port}"
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _taken(check, name, host, port)
        why = error.strerror or str(error)
        return fault(check, f"{where} cannot be listened on: {why}", f"set {name} to an address of this machine")
    return ok(check, f"{where} is free")


def _taken(check: str, name: str, host: str, port: int) -> Finding:
    import httpx2

    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    try:
        status = httpx2.get(f"http://{reached}:{port}/health/live", timeout=_SECONDS).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL):
        status = 0
    if status in (200, 503):
        return ok(check, f"a process of Turnwise serves {host}:{port}")
    return fault(check, f"another program listens on {host}:{port}", f"stop that program, or set {name} to a free port")
