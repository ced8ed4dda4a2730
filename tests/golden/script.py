"""The scripted model and the scripted human: what they say is settled before the run, whatever engine asks."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .model import ApiReply, Human, Reply, Script


class ScriptedModel:
    """Answers by the rules of a script; it keeps counting across runs and histories."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._used: Counter[int] = Counter()
        self.calls = 0

    def answer(self, last_content: str) -> Reply:
        """The reply to a conversation whose last message has this content."""
        self.calls += 1
        for number, rule in enumerate(self._script.rules):
            if rule.uses is not None and self._used[number] >= rule.uses:
                continue
            if found := re.search(rule.match, last_content):
                self._used[number] += 1
                return self._filled(rule.reply, found.groups())
        return self._filled(self._script.default, None)

    def _filled(self, reply: Reply, groups: tuple[str | None, ...] | None) -> Reply:
        if isinstance(reply, str):
            # `$#` is a placeholder only in API calls.
            return str(_fill(reply, _numbered(groups)))
        values = {**_numbered(groups), "#": str(self.calls)}
        return ApiReply.model_validate(_fill(reply.model_dump(), values))


def _numbered(groups: tuple[str | None, ...] | None) -> dict[str, str]:
    return {str(number): text or "" for number, text in enumerate(groups or (), start=1)}


def _fill(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\$(\d|#)", lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {key: _fill(part, values) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_fill(part, values) for part in value)
    return value


class ScriptedHuman:
    """One human for all tasks: his answers in order, then the same one for ever."""

    def __init__(self, human: Human) -> None:
        self._human = human
        self.asked = 0

    def answer(self) -> str:
        self.asked += 1
        if self.asked <= len(self._human.answers):
            return self._human.answers[self.asked - 1]
        return self._human.then
