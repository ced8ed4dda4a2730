"""The directory of secret files: the names in it, and whether every setting there can be read."""

from __future__ import annotations

from pathlib import Path

from turnwise.errors import ConfigurationError
from turnwise.processes.env_file import unreadable
from turnwise.processes.setting_names import PREFIX


def read_secret_names(folder: str) -> tuple[str, ...]:
    """Return the names of the files in `folder`.

    Raises `ConfigurationError` for a folder that is none, and for one that cannot be read or has such a file.
    """
    place = Path(folder)
    try:
        if not place.is_dir():
            raise ConfigurationError(f"TURNWISE_SECRETS_DIR is {folder!r}, which is not a directory")
        files = list(place.iterdir())
    except OSError as error:
        raise unreadable(place, error, "a directory") from error
    for file in files:
        if file.name.upper().startswith(PREFIX):
            _check(file)
    return tuple(file.name for file in files)


def _check(file: Path) -> None:
    # The settings would tell neither the file nor the reason.
    try:
        if file.is_file():
            file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error, "a text in UTF-8") from error
