"""The time of a served run, as the first section of its page.

Bars are SVG, whose widths are attributes: the page's policy forbids styles of single elements. Each number stands in
the tables as well, so that nothing is told by colour alone.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from turnwise.api.timeline import AttemptView, ItemView, SpanView, TimelineView
from turnwise.base.text import visible
from turnwise.timeline.sentences import duration

# So many asks are drawn; of a longer run the slowest ones.
MOST_ITEMS = 300


def timeline_section(view: TimelineView) -> str:
    """The section, ready to be put into the page."""
    shares = [SpanView(kind=one.kind, name=one.text, start=0, seconds=one.seconds) for one in view.shares]
    items = view.items
    note = ""
    if view.total > len(items):
        items = sorted(view.slowest, key=lambda item: item.no)
        note = f'<p class="facts">The {len(items)} slowest of {view.total:,} asks and waits.</p>'
    rows = "".join(_row(item, view.seconds) for item in items)
    return (
        '<details class="timeline" open><summary>Where the time went</summary>'
        f"<p>{_text(view.summary)}</p>{_bar(_placed(shares), view.seconds)}"
        f'<table class="shares"><tbody>{"".join(_share(view))}</tbody></table>'
        f'{note}<table class="asks"><thead><tr><th scope="col">turn</th><th scope="col">asked</th>'
        '<th scope="col">after</th><th scope="col">took</th><th scope="col">when, within the run</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></details>\n"
    )


def _share(view: TimelineView) -> Iterable[str]:
    for one in view.shares:
        yield (
            f'<tr><td><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="k-{one.kind}" width="10" '
            f'height="10"/></svg></td><td>{_text(one.text)}</td><td class="n">{duration(one.seconds)}</td>'
            f'<td class="n">{100 * one.share:.1f} %</td></tr>'
        )


def _row(item: ItemView, seconds: float) -> str:
    turn = str(item.turn) if item.ask else ""
    told = "".join(f"<li>{_text(_attempt(one))}</li>" for one in item.attempts)
    who = _text(_who(item))
    if told:
        who = f"<details><summary>{who}</summary><ul>{told}</ul></details>"
    return (
        f'<tr><td class="n">{turn}</td><td>{who}</td><td class="n">{duration(item.start)}</td>'
        f'<td class="n">{duration(item.seconds)}</td><td class="bar">{_bar(item.spans, seconds)}</td></tr>'
    )


def _bar(spans: Sequence[SpanView], seconds: float) -> str:
    if seconds <= 0:
        return ""
    words = "; ".join(f"{_words(span)} {duration(span.seconds)}" for span in spans) or "nothing"
    rects = "".join(
        f'<rect class="k-{span.kind}" x="{1000 * span.start / seconds:.2f}" '
        f'width="{max(0.6, 1000 * span.seconds / seconds):.2f}" height="10">'
        f"<title>{_text(f'{_words(span)} {duration(span.seconds)}')}</title></rect>"
        for span in spans
    )
    return (
        f'<svg class="times" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="{_text(words)}">'
        f"{rects}</svg>"
    )


def _placed(spans: Sequence[SpanView]) -> list[SpanView]:
    """The spans one after the other."""
    placed, start = [], 0.0
    for span in spans:
        placed.append(span.model_copy(update={"start": start}))
        start += span.seconds
    return placed


def _words(span: SpanView) -> str:
    return (
        span.name if span.name.startswith(("waiting", "in ", "ended", "held")) else f"{span.kind} {span.name}".strip()
    )


def _who(item: ItemView) -> str:
    if not item.ask:
        return "the beginning" if item.kind == "begin" else "ended, then retried"
    return f"{item.responder} {item.task}"


def _attempt(one: AttemptView) -> str:
    where = f"{one.host} (pid {one.pid})" if one.host else one.worker or "an unknown worker"
    since = "" if one.claimed_at is None else f", claimed at {one.claimed_at:%H:%M:%S.%f}"[:-3]
    why = f": {one.reason}" if one.reason else ""
    calls = "".join(
        f"; {call.kind} {call.name} {duration(call.seconds)}"
        + ("" if call.first is None else f" (first text after {duration(call.first)})")
        + (f" ({call.outcome})" if call.outcome else "")
        for call in one.calls
    )
    more = f"; and {one.calls_left_out} shorter calls" if one.calls_left_out else ""
    return f"{one.outcome} by {where}{since}{why}{calls}{more}"


def _text(text: str) -> str:
    return html.escape(visible(text))
