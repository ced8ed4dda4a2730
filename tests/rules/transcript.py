"""A run as text, one line for each thing that happened.

Bob <- go                       a sub-task begins with this message
Boss LLM: {add a=1, b=2}        an answer taken: JSON of a tool in short
Boss Agent: 3                   the next one
Boss Bob (LLM) -> Eve: hello    who gave it, as whom he speaks where that differs, to whom
Boss LLM: x + [add a=1]         with tools attached that are not in the text
Boss LLM: calls c1:add a=1      with API calls
Boss Agent: results c1=3        with results of API calls
Boss LLM refused: DO-NOT-KNOW   an answer that did not count
Boss LLM: __PASS__:Bob          an answer that hands the message on reads like one taken
Boss nobody                     a step without an answer
Boss = DONE                     the task's end
=> 3                            the run's result; `=> nothing`, `=> raises ValueError: why`
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.e2e.transcript import Line, Transcript

from turnwise.messages.json_text import located_json_objects

Json = dict[str, Any]
_HIDDEN = ("$tool", "request", "purpose", "id")


def shown(transcript: Transcript, result: str, shows: Sequence[str]) -> list[str]:
    """The transcript of one run as lines; `result` is the last one, `shows` names metadata to tell."""
    lines = [_line(item, shows) for item in transcript.lines[1:]]
    return [*lines, f"=> {result}"]


def fits(expected: Sequence[str], found: Sequence[str]) -> bool:
    """Return whether the lines are as expected; `...` stands for anything in a line, alone for any number of lines."""
    pattern = "".join(r"(?:.*\n)*" if line == "..." else _line_pattern(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split("...")))


def document_text(document: Json | None, shows: Sequence[str] = ()) -> str:
    """Return the text of a document, without its sender."""
    if document is None:
        return "nothing"
    content = document.get("content", "")
    parts = [_short(content)] if content else []
    written = [*_written(content), *_called(document)]
    parts += [f"+ [{_tool(tool)}]" for tool in document.get("tool_messages", []) if not _among(tool, written)]
    if calls := document.get("oai_tool_calls"):
        parts.append("calls " + ", ".join(f"{item['id']}:{_function(item['function'])}" for item in calls))
    if made := document.get("function_call"):
        parts.append(f"calls {_function(made)}")
    if results := document.get("oai_tool_id2result"):
        parts.append("results " + ", ".join(f"{key}={flat(value)}" for key, value in results.items()))
    metadata = document["metadata"]
    parts += [f"({name}={metadata[name]})" for name in shows if metadata.get(name) not in (None, "", False)]
    return " ".join(parts) or "(empty)"


def _line(item: Line, shows: Sequence[str]) -> str:
    name = item.task.rsplit("/", 1)[-1]
    text = document_text(item.document, shows)
    match item.what:
        case "task.finished":
            return f"{name} = {item.by}"
        case "turn.none":
            return f"{name} nobody"
        case "task.started":
            return f"{name} <- {text}"
    assert item.document is not None
    sender = item.document["metadata"].get("sender", "User")
    said_as = "" if sender == item.by or (sender == "User" and item.by not in ("Agent", "LLM")) else f" ({sender})"
    verb = " refused" if item.what == "turn.rejected" else ""
    return f"{name} {item.by}{said_as}{verb}{_to(item.document)}: {text}".rstrip()


def _to(document: Json | None) -> str:
    recipient = document["metadata"].get("recipient", "") if document else ""
    return f" -> {recipient}" if recipient else ""


def _short(text: str) -> str:
    """The text in one line, with the tools in it written short."""
    for value, start, end in reversed(located_json_objects(text)):
        if "request" in value:
            text = text[:start] + "{" + _tool(value) + "}" + text[end:]
    return flat(text)


def _written(text: str) -> list[Json]:
    return [value for value, _, _ in located_json_objects(text) if "request" in value]


def _called(document: Json) -> list[Json]:
    made = [item["function"] for item in document.get("oai_tool_calls") or []]
    made += [document["function_call"]] if document.get("function_call") else []
    return [{"request": item["name"], **(item.get("arguments") or {})} for item in made]


def _among(tool: Json, written: list[Json]) -> bool:
    """Return whether the tool can be read out of the message, so that it need not be told again."""
    return any(item["request"] == tool["$tool"] and item.items() <= tool.items() for item in written)


def _tool(fields: Json) -> str:
    name = fields.get("$tool") or fields.get("request")
    return f"{name} {_arguments({key: value for key, value in fields.items() if key not in _HIDDEN})}".rstrip()


def _function(call: Json) -> str:
    return f"{call['name']} {_arguments(call.get('arguments') or {})}".rstrip()


def _arguments(values: Json) -> str:
    return ", ".join(
        f"{key}={flat(value) if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()
    )


def flat(text: str) -> str:
    """The text in one line, its lines separated by slashes."""
    return " / ".join(part.strip() for part in text.splitlines() if part.strip())
