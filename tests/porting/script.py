"""The models of a program, played from its script, and a record of each request."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from typing import Any

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest

from .program import Call, Speaker

Request = dict[str, Any]


class ScriptedModels:
    """Answers requests by the first speaker that fits and has something left to say; safe to call from threads."""

    def __init__(self, speakers: Sequence[Speaker]) -> None:
        self._speakers = speakers
        self._said = [0] * len(speakers)
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.unscripted: list[str] = []

    def __call__(self, request: ChatRequest) -> Answer:
        with self._lock:
            self.requests.append(request.model_dump(exclude_unset=True))
            said = self._next(request)
            if said is None:
                found = f"no speaker of the script has an answer left to {request.last[:200]!r}"
                self.unscripted.append(found)
                return Answer(fault=ScriptedFault(status=400, message=found))
            return _answer(request, said, f"call_{len(self.requests)}")

    @property
    def left(self) -> int:
        """Answers that nothing asked for."""
        return sum(
            max(0, len(speaker.says) - said)
            for speaker, said in zip(self._speakers, self._said, strict=True)
            if not speaker.always
        )

    def _next(self, request: ChatRequest) -> str | Call | None:
        for at, speaker in enumerate(self._speakers):
            if speaker.system not in request.system or not re.search(speaker.last, request.last, re.DOTALL):
                continue
            said = self._said[at]
            if speaker.always or said < len(speaker.says):
                self._said[at] += 1
                return speaker.says[said % len(speaker.says)]
        return None


def _answer(request: ChatRequest, said: str | Call, call_id: str) -> Answer:
    if isinstance(said, str):
        return Answer(content=said)
    if said.tool in request.tool_names:
        return Answer(tool_calls=[ToolCall(id=call_id, name=said.tool, arguments=said.arguments)])
    return Answer(content=json.dumps({"request": said.tool, **said.arguments}))
