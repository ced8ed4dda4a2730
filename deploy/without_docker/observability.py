"""Prometheus and Alertmanager as programs of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import yaml
from deploy.without_docker.errors import ServerMissingError

_CONFIG = "--config.file="


def prometheus_command(words: Sequence[str], here: Callable[[str], str], folder: Path) -> list[str]:
    """The command for the image's arguments; `folder` gets a copy of its configuration with the addresses of `here`."""
    program = _program(["prometheus"], "prometheus")
    return [program, *(_with_addresses(word, here, folder) if word.startswith(_CONFIG) else word for word in words)]


def alertmanager_command(words: Sequence[str]) -> list[str]:
    """The command for the image's arguments `words`."""
    return [_program(["alertmanager", "prometheus-alertmanager"], "prometheus-alertmanager"), *words]


def page_answers(test: Sequence[str]) -> Callable[[], bool] | None:
    """Return whether the page that a health check fetches is there; None if it fetches none."""
    url = next((word for word in test if word.startswith("http://")), None)
    if url is None:
        return None

    def answers() -> bool:
        try:
            with urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False

    return answers


def _with_addresses(argument: str, here: Callable[[str], str], folder: Path) -> str:
    source = Path(argument.removeprefix(_CONFIG))
    config: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    config["rule_files"] = [str(source.parent / pattern) for pattern in config.get("rule_files", [])]
    for job in config.get("scrape_configs", []):
        found = [f"{name}:{to['port']}" for to in job.pop("dns_sd_configs", []) for name in to["names"]]
        if found:
            job.setdefault("static_configs", []).append({"targets": found})
    copy = folder / source.name
    copy.write_text(here(yaml.safe_dump(config)), encoding="utf-8")
    return f"{_CONFIG}{copy}"


def _program(names: Sequence[str], package: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise ServerMissingError(f"no {names[0]} here; install it (Debian: apt-get install {package})")
    return found
