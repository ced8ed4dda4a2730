"""The addresses and folders of containers, on this machine.

Every container has all ports to itself, and names for the others; here all share one loopback. So each port that is
mentioned gets a free one, and what is mounted is used where it lies. Both are replaced in the texts that a service is
given: its settings, its arguments, its health check.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from pathlib import Path

from deploy.without_docker.compose_file import ComposeFile

_OWN = r"0\.0\.0\.0|127\.0\.0\.1|localhost"


def free_port() -> int:
    """A TCP port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Places:
    """`data` is the folder of named volumes; `used` has the URL of each server that stands in for a service."""

    def __init__(self, file: ComposeFile, data: Path, used: Mapping[str, str] | None = None) -> None:
        self._file = file
        self._data = data
        self._ports: dict[tuple[str, int], int] = {}
        self._names = "|".join(map(re.escape, sorted(file.services, key=len, reverse=True))) or "(?!)"
        self._used = {name: self._others(url) for name, url in (used or {}).items()}
        for name, service in file.services.items():
            for *_, published, target in service.ports:
                self._ports[name, int(target)] = int(published)

    def port(self, service: str, port: int) -> int:
        """The port of this machine that stands for a container's: the published one, else a free one."""
        while (service, port) not in self._ports:
            found = free_port()
            if found not in self._ports.values():
                self._ports[service, port] = found
        return self._ports[service, port]

    def published(self) -> dict[str, str]:
        """Address of each service that has one outside."""
        return {
            name: f"127.0.0.1:{service.ports[0][-2]}" for name, service in self._file.services.items() if service.ports
        }

    def folder(self, service: str, path: str) -> Path | None:
        """Return the folder at `path` of a container, if it is in something that is mounted there."""
        for target, source in self._mounts(service).items():
            if path == target or path.startswith(target + "/"):
                return source / path[len(target) :].lstrip("/")
        return None

    def volumes(self, service: str) -> list[Path]:
        """The folders of a service's named volumes."""
        return [source for source in self._mounts(service).values() if self._data in source.parents]

    def text(self, service: str, text: str) -> str:
        """`text` of a service, with the addresses and folders that it has here."""
        mounts = self._mounts(service)
        used = "|".join(map(re.escape, self._used)) or "(?!)"
        paths = "|".join(map(re.escape, mounts)) or "(?!)"
        pattern = (
            rf"[\w+.-]+://(?:[^\s/@]*@)?(?P<used>{used}):\d+[^\s\"']*"
            rf"|(?<![\w.-])(?P<host>{self._names}|{_OWN}):(?P<port>\d+)\b"
            rf"|(?<![\w./-])(?P<path>{paths})(?![\w.-])"
        )

        def here(found: re.Match[str]) -> str:
            if found["used"]:
                return self._used[found["used"]]
            if found["path"]:
                return str(mounts[found["path"]])
            host = found["host"] if found["host"] in self._file.services else service
            return f"127.0.0.1:{self.port(host, int(found['port']))}"

        return re.sub(pattern, here, text)

    def _others(self, url: str) -> str:
        """A URL in which services of the file may be named; its own loopback addresses are meant as they are."""
        return re.sub(
            rf"(?<![\w.-])({self._names}):(\d+)\b", lambda to: f"127.0.0.1:{self.port(to[1], int(to[2]))}", url
        )

    def _mounts(self, service: str) -> dict[str, Path]:
        """Folder here by folder there, the deepest ones first."""
        found = {}
        for source, target, *_ in self._file.services[service].volumes:
            named = "/" not in source and not source.startswith(".")
            found[target] = self._data / source if named else (self._file.folder / source).resolve()
        return dict(sorted(found.items(), key=lambda pair: len(pair[0]), reverse=True))
