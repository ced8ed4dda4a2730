"""Rules from requests to answers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest

_GROUP = re.compile(r"\$(?:(\d+)|\{(\w+)\})")


class RuleReply(BaseModel):
    """Text and calls of a rule; `$1` and `${name}` stand for groups of its `match`, in all strings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    reasoning: str | None = None


class Rule(BaseModel):
    """An answer and when it is given: all of `match`, `system` and `role` that are set must hold.

    `match` is searched for in the last message, `system` in the system messages (regular expressions; `.` matches
    newlines), `role` is the last message's. `uses` limits how often the rule applies; `delay` is in seconds, and so
    is `pace`, the time before each piece of an answer that is streamed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: str | None = None
    system: str | None = None
    role: str | None = None
    reply: str | RuleReply = ""
    uses: int | None = Field(None, gt=0)
    delay: float | None = Field(None, ge=0)
    pace: float | None = Field(None, ge=0)
    fault: ScriptedFault | Literal["disconnect"] | None = None

    @field_validator("match", "system")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _knows_its_names(self) -> Rule:
        check_groups(self.reply, self.match)
        return self

    @property
    def _filled_in(self) -> RuleReply:
        return self.reply if isinstance(self.reply, RuleReply) else RuleReply(content=self.reply)

    def answer(self, request: ChatRequest) -> Answer | None:
        """The rule's answer, or None where it does not apply."""
        if self.role is not None and request.role != self.role:
            return None
        if self.system is not None and not re.search(self.system, request.system, re.DOTALL):
            return None
        found = re.search(self.match or "", request.last, re.DOTALL)
        if found is None:
            return None
        filled = _fill(self._filled_in.model_dump(), found)
        return Answer(**filled, delay=self.delay or 0.0, pace=self.pace or 0.0, fault=self.fault)


class FakeLLM:
    """Answers by the first rule that applies and has uses left, else with `default`; safe to call from threads."""

    def __init__(self, rules: Iterable[Rule | Mapping[str, Any]] = (), default: str | RuleReply | None = None) -> None:
        self._rules = [rule if isinstance(rule, Rule) else Rule.model_validate(rule) for rule in rules]
        self._default = Rule(reply=default) if default is not None else None
        self._used = [0] * len(self._rules)
        self._lock = threading.Lock()

    def __call__(self, request: ChatRequest) -> Answer:
        for position, rule in enumerate(self._rules):
            answer = rule.answer(request)
            if answer is not None and self._take(position, rule.uses):
                return answer
        answer = self._default.answer(request) if self._default else None
        if answer is not None:
            return answer
        found = f"no rule of the script matches the last message ({request.role}): {request.last[:300]!r}"
        return Answer(fault=ScriptedFault(status=400, message=f"{found}; add a rule or a default"))

    def _take(self, position: int, uses: int | None) -> bool:
        with self._lock:
            if uses is not None and self._used[position] >= uses:
                return False
            self._used[position] += 1
            return True


def _texts(value: Any) -> Iterator[str]:
    """All strings in which groups are filled in, as `_fill` finds them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def check_groups(reply: str | RuleReply, match: str | None) -> None:
    """Raise `ValueError` for a `${name}` in the reply that no group of `match` has: a slip, which would be sent."""
    known = re.compile(match or "").groupindex
    written = reply if isinstance(reply, str) else reply.model_dump()
    for text in _texts(written):
        for mark in _GROUP.finditer(text):
            if (name := mark[2]) is not None and name not in known:
                groups = ", ".join(sorted(known)) or "none"
                raise ValueError(
                    f"{mark[0]} is the name of no group of match, which has: {groups}; expected (?P<name>...)"
                )


def _fill(value: Any, found: re.Match[str]) -> Any:
    if isinstance(value, str):
        return _GROUP.sub(lambda mark: _group(mark, found), value)
    if isinstance(value, list):
        return [_fill(item, found) for item in value]
    if isinstance(value, dict):
        return {key: _fill(item, found) for key, item in value.items()}
    return value


def _group(mark: re.Match[str], found: re.Match[str]) -> str:
    """The group that `mark` names; `$5` stays what it is where there are fewer groups."""
    number, name = mark.groups()
    try:
        return found.group(int(number) if number else name) or ""
    except IndexError:
        return mark.group()
