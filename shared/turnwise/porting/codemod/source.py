"""A program's file: read with its encoding, and replaced in one step."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from turnwise.errors import PortingError


@dataclass(frozen=True)
class Source:
    """Text of a program with its line ends as they are, and the encoding that it declares."""

    text: str
    encoding: str

    @classmethod
    def decode(cls, content: bytes) -> Source:
        """Decode a program as Python does; raises `PortingError` if that fails."""
        try:
            encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
            return cls(content.decode(encoding), encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise PortingError(f"cannot be decoded: {error}") from error

    def encode(self, text: str) -> bytes:
        """Encode another text in the same way, with the byte order mark that was there."""
        return text.encode(self.encoding)


def read(path: Path) -> bytes:
    """Return the bytes of a regular file; raises `PortingError` if it is none or cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise PortingError("is no regular file")
        return path.read_bytes()
    except OSError as error:
        raise PortingError(f"cannot be read: {error.strerror}") from error


def replace(path: Path, content: bytes) -> None:
    """Replace a file in one step; its permissions and its owner stay. Raises `PortingError` and changes nothing.

    A link stays a link: the file that it leads to is replaced.
    """
    target = path.resolve()
    try:
        status = target.stat()
        if not status.st_mode & stat.S_IWUSR:
            # Replacing needs the directory's permission only; who made the file read-only means the file.
            raise PortingError("is read-only")
        _swap(target, content, status)
    except OSError as error:
        raise PortingError(f"cannot be written: {error.strerror}") from error


def _swap(target: Path, content: bytes, status: os.stat_result) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(stat.S_IMODE(status.st_mode))
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.chown(name, status.st_uid, status.st_gid)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
