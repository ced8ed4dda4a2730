"""Scripts of the fake model: a JSON file of rules, or a Python file or module with a function `answer`."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from turnwise.errors import ConfigurationError
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.batch_script import BatchScript
from turnwise.testing.fake_llm.limits import ServerLimits
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.rules import FakeLLM, Rule, RuleReply, check_groups

T = TypeVar("T", bound=BaseModel)

# What decides answers; a string is an answer of that content.
Answerer = Callable[[ChatRequest], Answer | str]


class _JsonScript(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rules: list[Rule] = Field(default_factory=list)
    default: str | RuleReply | None = None
    limits: ServerLimits | None = None
    batches: BatchScript | None = None

    @field_validator("default")
    @classmethod
    def _fills_nothing(cls, default: str | RuleReply | None) -> str | RuleReply | None:
        if default is not None:
            check_groups(default, None)
        return default


@dataclass(frozen=True, kw_only=True)
class Script:
    """The content of a script: the answers to requests, the limits of the server, and the course of its batches."""

    answer: Answerer
    limits: ServerLimits | None = None
    batches: BatchScript | None = None

    def __call__(self, request: ChatRequest) -> Answer | str:
        return self.answer(request)


def load_script(path: str | Path) -> Script:
    """Read a script; raises `ConfigurationError` with file, line and field of each fault.

    A `.json` file holds a list of rules, or an object with `rules`, and maybe a `default`, `limits` and `batches`. A
    `.py` file is executed and has to define `answer(request: ChatRequest) -> Answer | str`; it may define `limits` and
    `batches`, which are dictionaries.
    The dotted name of an installed module, such as `turnwise.demo.fake_model`, stands for its file.
    """
    path = _installed(str(path)) or Path(path)
    if path.suffix not in (".json", ".py"):
        raise ConfigurationError(
            f"script {path}: expected a .json file of rules, a .py file with answer(request), or the name of a module"
        )
    if not path.is_file():
        raise ConfigurationError(f"script {path}: no such file; give the path of a .json or .py script")
    return _load_json(path) if path.suffix == ".json" else _load_python(path)


def _installed(name: str) -> Path | None:
    """The file of a module `package.module`, if `name` is one; only its packages are imported."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", name) or name.endswith((".json", ".py")):
        return None
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _load_json(path: Path) -> Script:
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"script {path} cannot be read: {error}") from error
    try:
        script = _JsonScript.model_validate({"rules": value} if isinstance(value, list) else value)
    except ValidationError as error:
        lines = _rule_lines(text)
        faults = [_fault(path, lines, fault["loc"], fault["msg"]) for fault in error.errors()]
        raise ConfigurationError("\n".join(faults)) from error
    return Script(answer=FakeLLM(script.rules, script.default), limits=script.limits, batches=script.batches)


def _fault(path: Path, lines: list[int], where: tuple[int | str, ...], message: str) -> str:
    field = ".".join(str(part) for part in where) or "script"
    in_rule = len(where) > 1 and where[0] == "rules" and isinstance(where[1], int) and where[1] < len(lines)
    line = lines[int(where[1])] if in_rule else 1
    return f"{path}:{line}: {field}: {message.removeprefix('Value error, ')}"


def _rule_lines(text: str) -> list[int]:
    """The line on which each rule of a valid JSON script starts."""
    start = re.match(r"\s*\[", text) or re.search(r'"rules"\s*:\s*\[', text)
    if start is None:
        return []
    decoder, at = json.JSONDecoder(), start.end()
    lines: list[int] = []
    while True:
        while text[at : at + 1] in tuple(" \t\r\n,"):
            at += 1
        if text[at : at + 1] in ("]", ""):
            return lines
        lines.append(text.count("\n", 0, at) + 1)
        at = decoder.raw_decode(text, at)[1]


def _load_python(path: Path) -> Script:
    try:
        names: dict[str, Any] = runpy.run_path(str(path), run_name=f"fake_llm_{path.stem}")
    except Exception as error:  # a script may raise anything; all of it is told
        line = _line_in(path, error)
        raise ConfigurationError(f"{path}:{line}: the script fails to load: {type(error).__name__}: {error}") from error
    answer = names.get("answer")
    if not callable(answer):
        raise ConfigurationError(f"{path}: defines no function answer(request: ChatRequest) -> Answer | str")
    function: Answerer = answer
    limits = _given(path, "limits", names.get("limits"), ServerLimits)
    return Script(answer=function, limits=limits, batches=_given(path, "batches", names.get("batches"), BatchScript))


def _given(path: Path, name: str, value: object, kind: type[T]) -> T | None:
    """A dictionary of a Python script as what it stands for."""
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(_field_fault(name, fault["loc"], fault["msg"]) for fault in error.errors())
        raise ConfigurationError(f"{path}: {faults}") from error


def _field_fault(name: str, where: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join([name, *map(str, where)])}: {message}"


def _line_in(path: Path, error: Exception) -> int:
    """The innermost line of `path` in the error's traceback; 1 where it has none."""
    if isinstance(error, SyntaxError):
        return error.lineno or 1
    line, frame = 1, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(path):
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
