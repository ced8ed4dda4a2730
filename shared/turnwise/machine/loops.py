"""Conversations that go round in circles.

Messages taken are counted by hash. A loop of m messages shows as m counts that stand out from the rest, when those m
are also all that was said lately.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_parsing import find_tools
from turnwise.messages.toolset import AgentFacts


def message_hash(doc: ChatDocument, agent: AgentFacts) -> str:
    """16 hex digits for who said what to whom, with which tools."""
    # LOOP-1
    meta = doc.metadata
    found = find_tools(doc, agent).tools
    tools = ",".join([tool.request for tool in found]) if found else ""
    text = "\x1f".join((meta.sender.value, meta.sender_name, meta.recipient, tools, doc.content))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def is_loop(
    commonest: Sequence[tuple[str, int]],
    history: Sequence[str],
    *,
    total: int,
    cycle_len: int,
    dominance: float,
    wait_factor: int,
) -> bool:
    """Return whether the last messages are a loop of at most `cycle_len` messages.

    `commonest`: up to cycle_len + 1 counts in descending order; `history`: the last wait_factor * cycle_len hashes;
    `total`: messages counted. One entry of count 1 that is never seen counts in the total, and as the last 'next'.
    """
    # LOOP-2
    if total + 1 < wait_factor * cycle_len:
        return False
    counts = [count for _, count in commonest] + [1]
    counts = counts[: cycle_len + 1]
    dominant = 0
    for m in range(1, len(counts)):
        this, following = counts[m - 1], counts[m]
        if this > dominance * following and this > wait_factor + following:
            dominant = m
    if dominant == 0:
        return False
    return {key for key, _ in commonest[:dominant]} == set(history[-wait_factor * dominant :])


def loop_message(path: str, loop: str) -> str:
    """Return what is said of a task that was ended because it repeats itself; `loop` says how it does."""
    return (
        f"task {path!r} goes round in circles: {loop}; if that is meant, raise "
        "TaskConfig.inf_loop_wait_factor, or set inf_loop_cycle_len=0"
    )
