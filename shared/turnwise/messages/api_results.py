"""Matching results to the open API calls of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from turnwise.models.base import OpenAIToolCall

if TYPE_CHECKING:
    from turnwise.messages.document import ChatDocument


def assign_results(result: ChatDocument, question: ChatDocument, open_calls: Sequence[OpenAIToolCall]) -> ChatDocument:
    """Return a result of answering `question` with `oai_tool_id` or `oai_tool_id2result` set for the calls in it.

    It is a copy, where there are calls to answer.
    """
    if not question.oai_tool_calls or not open_calls:
        return result
    content, by_id, call_id = match_results(result.content, result.oai_tool_id2result, open_calls)
    metadata = result.metadata.changed(oai_tool_id=call_id)
    return result.changed(content=content, oai_tool_id2result=by_id, metadata=metadata)


def match_results(
    text: str, by_id: dict[str, str] | None, open_calls: Sequence[OpenAIToolCall]
) -> tuple[str, dict[str, str] | None, str | None]:
    """Return what of (text, results by call id) answers which open call: text, results by id, the id that the text
    answers.

    One open call is answered by whatever there is. As many results as open calls are taken in order. Otherwise
    results with an open id are results, and the others become text. One text answers the first open call.
    """
    if not open_calls:
        return text, by_id, None
    if len(open_calls) == 1:
        if by_id:
            text = _in_words(list(by_id.items()), open_calls) if len(by_id) > 1 else next(iter(by_id.values()))
        return text, None, open_calls[0].id
    if not by_id:
        return text, None, open_calls[0].id
    if len(by_id) == len(open_calls):
        return text, {call.id or "": value for call, value in zip(open_calls, by_id.values(), strict=True)}, None
    open_ids = {call.id for call in open_calls}
    known = {key: value for key, value in by_id.items() if key in open_ids}
    others = [(key, value) for key, value in by_id.items() if key not in open_ids]
    words = "\n\n".join(part for part in (text, _in_words(others, open_calls)) if part)
    if len(known) == 1:
        (call_id, value), *_ = known.items()
        return "\n\n".join(part for part in (value, words) if part), None, call_id
    return words, known or None, None if known else open_calls[0].id


def _in_words(results: list[tuple[str, str]], open_calls: Sequence[OpenAIToolCall]) -> str:
    if len(results) == 1:
        return results[0][1]
    names = {call.id: call.function.name for call in open_calls if call.function}
    return "\n\n".join(f"Result from tool/function {names.get(key, key)}: {value}" for key, value in results)
