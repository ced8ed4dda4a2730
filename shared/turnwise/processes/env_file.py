"""The `.env` file of the working directory: names and values in it, and its lines that cannot be read.

The parser skips a line that it does not understand, and with it a limit of cost that was meant to hold. After an
opening quote without a closing one it may skip or join further lines. So every such line is refused, also one that is
about another program's variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import Binding, parse_stream

from turnwise.errors import ConfigurationError
from turnwise.processes.setting_names import PREFIX

ENV_FILE = ".env"
# The name of a setting at the beginning of a line, whatever follows it.
_SETTING = re.compile(rf"\s*(?:export\s+)?['\"]?({PREFIX}\w+)", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvFile:
    """The names of the variables in a `.env` file, and a sentence for each line that cannot be read."""

    names: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def read_env_file() -> EnvFile:
    """Read the names and faults of the `.env` file; empty if there is none.

    Raises `ConfigurationError` for a file that cannot be opened or is not text in UTF-8.
    """
    path = Path(ENV_FILE)
    return _read(_text(path), path)


def env_file_values() -> dict[str, str]:
    """Return the values in the `.env` file, by their names in capitals; none if there is no file.

    Raises `ConfigurationError` for a file, or a line of it, that cannot be read.
    """
    path = Path(ENV_FILE)
    if not (text := _text(path)):
        return {}
    if faults := _read(text, path).faults:
        raise ConfigurationError("; ".join(faults))
    # As the settings themselves are read, references to other variables and all.
    found = dotenv_values(stream=StringIO(text))
    return {variable.upper(): value for variable, value in found.items() if value is not None}


def unreadable(path: Path, error: Exception, expected: str) -> ConfigurationError:
    """Return the error to raise for a file or a directory of settings that cannot be read."""
    return ConfigurationError(
        f"{path.absolute()} cannot be read ({error}); expected {expected} that this user may read"
    )


def _text(path: Path) -> str:
    if not (path.is_file() or path.is_fifo()):  # as the settings themselves look for it
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, "a text in UTF-8") from error


def _read(text: str, path: Path) -> EnvFile:
    bindings = list(parse_stream(StringIO(text)))
    return EnvFile(
        names=tuple(variable for binding in bindings if (variable := _name(binding))),
        faults=tuple(_faults(bindings, path.resolve())),
    )


def _name(binding: Binding) -> str | None:
    setting = _setting(binding)
    return setting.upper() if setting is not None and binding.value is None else binding.key


def _faults(bindings: list[Binding], path: Path) -> Iterator[str]:
    # No line is quoted: it may have a key or a password.
    for binding in bindings:
        setting = _setting(binding)
        if setting is not None and binding.value is None:
            name = setting.upper()
            yield (
                f"{path}, line {_line(binding)}: {name} has no value that can be read; expected {name}=VALUE, "
                "with a closing quote for an opening one"
            )
        elif binding.error:
            yield (
                f"{path}, line {_line(binding)} cannot be read; expected NAME=VALUE, with a closing quote for an "
                "opening one, or a comment that begins with #"
            )


def _setting(binding: Binding) -> str | None:
    found = _SETTING.match(binding.original.string)
    return found[1] if found else None


def _line(binding: Binding) -> int:
    """Return the number of the line, which the parser gives for the blank lines before it."""
    text = binding.original.string
    blank = text[: len(text) - len(text.lstrip())]
    return binding.original.line + len(_LINE_END.findall(blank))
