"""The outcome of a scenario: a transcript as text for the rule, and in full for comparing ways of running."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.e2e.transcript import Transcript
from tests.rules.cast import Prompts
from tests.rules.scenario import Scenario
from tests.rules.transcript import document_text, flat, shown

from turnwise import ChatDocument, Role
from turnwise.messages.return_value import value_of_type


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`lines` of all runs; `transcripts` in full; `sent`, by agent, the last prompt as lines."""

    lines: tuple[str, ...]
    transcripts: tuple[Transcript, ...]
    sent: dict[str, list[str]]


def outcome(scenario: Scenario, played: list[tuple[Transcript, str]], prompts: Prompts) -> Outcome:
    """The outcome of runs, each with its result as text."""
    lines: list[str] = []
    for transcript, result in played:
        lines += shown(transcript, result, scenario.shows)
    return Outcome(
        lines=tuple(lines),
        transcripts=tuple(comparable(transcript) for transcript, _ in played),
        sent={name: _last_prompt(prompts, name) for name in scenario.sent},
    )


def comparable(transcript: Transcript) -> Transcript:
    """Without the links of refused answers: one that is taken after all is linked then, and a record keeps it once."""
    lines = [replace(line, document=_unlinked(line.document)) for line in transcript.lines]
    kept = [new if old.what == "turn.rejected" else old for old, new in zip(transcript.lines, lines, strict=True)]
    return replace(transcript, lines=tuple(kept))


def _unlinked(document: dict[str, Any] | None) -> dict[str, Any] | None:
    if document is None:
        return None
    metadata = {key: value for key, value in document["metadata"].items() if key != "parent_id"}
    return {**document, "metadata": metadata}


def result_text(transcript: Transcript, value: Any, scenario: Scenario) -> str:
    """A run's result in one line: an error, a typed value, or a document."""
    if transcript.error is not None:
        return f"raises {transcript.error[0]}: {transcript.error[1].splitlines()[0] if transcript.error[1] else ''}"
    if value is not None and not isinstance(value, ChatDocument):
        return f"{type(value).__name__} {value!r}"
    return document_text(transcript.result, scenario.shows) if value is not None else "nothing"


def typed(document: ChatDocument | None, wanted: Any) -> Any:
    """Return what `Task.run` makes of a result document where a type is wanted."""
    return document if document is None or wanted is None else value_of_type(document, wanted)


def _last_prompt(prompts: Prompts, name: str) -> list[str]:
    lines = []
    for message in prompts[name][-1]:
        if message.role == Role.SYSTEM and message is prompts[name][-1][0]:
            continue
        text = flat(message.content)
        made = [f"{item.id}:{item.function.name}" for item in message.tool_calls or () if item.function]
        answered = f" {message.tool_call_id}" if message.tool_call_id else ""
        lines.append(f"{message.role.value}{answered}: {' '.join(filter(None, [text, *made]))}".rstrip())
    return lines
