"""The defaults of our images, read from their Dockerfiles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.without_docker.errors import ComposeError
from dockerfile_parse import DockerfileParser


@dataclass(frozen=True, kw_only=True)
class Image:
    """The last stage of a Dockerfile."""

    entrypoint: list[str]
    command: list[str]
    environment: dict[str, str]
    folder: str


def read_image(dockerfile: Path) -> Image:
    """Read the last stage; raises `ComposeError` for an ENTRYPOINT or CMD that a shell would have to read."""
    if not dockerfile.is_file():
        raise ComposeError(f"{dockerfile} does not exist, but a service is built by it")
    parser = DockerfileParser(path=str(dockerfile))
    stage: dict[str, str] = {}
    for line in parser.structure:
        if line["instruction"] == "FROM":
            stage = {}
        stage[line["instruction"]] = line["value"]
    # The image's own programs are not here: this environment's are used.
    environment = {name: value for name, value in parser.envs.items() if name != "PATH"}
    return Image(
        entrypoint=_exec_form(dockerfile, "ENTRYPOINT", stage),
        command=_exec_form(dockerfile, "CMD", stage),
        environment=environment,
        folder=stage.get("WORKDIR", "/"),
    )


def _exec_form(dockerfile: Path, instruction: str, stage: dict[str, str]) -> list[str]:
    text = stage.get(instruction, "[]")
    try:
        words: Any = json.loads(text)
    except json.JSONDecodeError:
        words = None
    if not isinstance(words, list):
        raise ComposeError(f'{dockerfile}: {instruction} is {text}; expected the form ["program", "argument"]')
    return [str(word) for word in words]
