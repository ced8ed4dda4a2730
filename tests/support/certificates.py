"""Certificates for tests, made with the `openssl` command: authorities, and who they vouch for."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_HERE = "DNS:localhost,IP:127.0.0.1"
_NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2"]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate and its key, as files in PEM."""

    cert: Path
    key: Path


class Authority:
    """One that is trusted by nobody but a test; `cert` is what to trust."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.cert, self._key = folder / f"{name}.pem", folder / f"{name}.key"
        # The tests' servers may run as other users.
        folder.chmod(0o755)
        _openssl("req", "-x509", *_NEW_KEY, "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.cert)
        self.cert.chmod(0o644)

    def vouch_for(self, name: str, names: str = _HERE) -> Certificate:
        """A certificate for a server or a client; `names` are those of its machine."""
        made = Certificate(cert=self._folder / f"{name}.pem", key=self._folder / f"{name}.key")
        of: list[str | Path] = ["-CA", self.cert, "-CAkey", self._key]
        _openssl(
            "req", "-x509", *_NEW_KEY, *of, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
            "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", made.key, "-out", made.cert,
        )  # fmt: skip
        made.cert.chmod(0o644)
        return made


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
