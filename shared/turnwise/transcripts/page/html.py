"""The page, piece by piece as the run continues.

Tasks and messages are `<details>`, so they unfold without a script; the script adds search and keys. Everything that is
not written here is escaped, and a Content-Security-Policy that names the page's own script and style by their hashes
keeps anything else from running or being loaded, should an escape ever be missing.
"""

from __future__ import annotations

import html
import json

from turnwise.base.text import first_line, visible
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.message_text import Said, ToolSaid
from turnwise.transcripts.numbers import seconds, used
from turnwise.transcripts.page.assets import POLICY, SCRIPT, STYLE
from turnwise.transcripts.page.tally import EntryTally

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Turnwise">
<title>{title}</title>
<style>{style}</style>
<script>{script}</script>
</head>
<body>
<header>
<h1>{task}</h1><span id="state">{state}</span><span id="run">{run}</span><span id="totals"></span>
<form id="tools" role="search" hidden>
<input id="query" type="search" placeholder="Search" aria-label="Search the messages" title="Search ( / )" \
autocomplete="off" spellcheck="false">
<output id="count" for="query"></output>
<button type="button" id="previous" title="Previous match (Shift+Enter)" aria-label="Previous match">↑</button>
<button type="button" id="next" title="Next match (Enter)" aria-label="Next match">↓</button>
<label><input id="only" type="checkbox"> only matches</label>
<label><input id="rejected" type="checkbox" checked> rejected</label>
<button type="button" id="expand" title="Unfold everything (e)">Expand all</button>
<button type="button" id="collapse" title="Fold all messages and sub-tasks (c)">Collapse all</button>
</form>
</header>
{section}<main>
"""
_STATUS_OK = frozenset({"OK", "DONE", "USER_QUIT", "FIXED_TURNS", "NO_ANSWER"})
_STATUS_CUT = frozenset({"MAX_COST", "MAX_TOKENS", "KILL"})


class TranscriptPage:
    """A run's page; see `TranscriptForm`. `section` is HTML that is to stand before the log."""

    def __init__(self, section: str = "") -> None:
        self._section = section
        self._run: EntryTally | None = None
        # The paths of the tasks that are open, outermost first, and the sums of the last call of each task.
        self._open: list[str] = []
        self._sums: dict[str, EntryTally] = {}

    def head(self, title: RunTitle) -> str:
        """Everything up to the first entry."""
        return _HEAD.format(
            policy=_text(POLICY),
            title=_text(f"{title.task} · {title.run}" if title.run else title.task),
            style=STYLE,
            script=SCRIPT,
            task=_text(title.task),
            run=_text(title.run),
            state=_text(title.state),
            section=self._section,
        )

    def part(self, entry: Entry) -> str:
        """An entry."""
        if self._run is None:
            self._run = EntryTally(entry.at)
        for tally in (self._run, *(self._sums[path] for path in self._open)):
            tally.add(entry)
        if entry.kind in ("started", "continued"):
            return self._opened(entry)
        if entry.kind == "none":
            return f'<p class="none">turn {entry.turn}: no one answers</p>\n'
        if entry.kind == "finished":
            tally = self._sums[self._open.pop()]
            # The run ends with its root, and is told with the same words.
            return f"{_end(entry, tally, 'end') if entry.depth else ''}</details>\n"
        if entry.kind == "ended":
            closing = "</details>" * len(self._open)
            self._open.clear()
            return f"{closing}\n{_end(entry, self._run, 'run-end')}"
        return _message(entry, self._run.since(entry.at))

    def _opened(self, entry: Entry) -> str:
        again = '<p class="none">continues after a retry</p>\n' if entry.kind == "continued" else ""
        if not again:
            self._sums[entry.path] = EntryTally(entry.at)
        self._open.append(entry.path)
        name = f'<span class="name">{_text(entry.path.rpartition("/")[2])}</span>'
        return (
            f'<details class="task" open><summary title="{_text(entry.path)}">{name}<span class="state"></span>'
            f"</summary>\n{again}"
        )

    def tail(self) -> str:
        """Return what closes the page, also that of a run that continues."""
        return "</details>" * len(self._open) + "</main>\n</body>\n</html>\n"


def _message(entry: Entry, after: float) -> str:
    said = entry.said
    assert said is not None, f"entry {entry.number} is of kind {entry.kind!r} and says nothing"
    fields = said.fields
    use = used(entry.usage)
    summary = (
        f'<span class="no">{entry.number}</span>'
        f'<span class="by" title="turn {entry.turn}">{_text(entry.responder)}</span>'
        + (f'<span class="to">→ {_text(fields.recipient)}</span>' if fields.recipient else "")
        + "".join(f'<span class="tool">{_text(tool.name)}</span>' for tool in said.tools)
        + f'<span class="line">{_text(first_line(_outline(said)))}</span>'
        + (f'<span class="use">{use}</span>' if use else "")
        + f'<time datetime="{entry.at.isoformat()}">{seconds(after)}</time>'
    )
    # The responder's class is for its colour; a sub-task's name may be anything.
    kind = fields.sender_entity.lower() if entry.responder in ("LLM", "Agent", "User", "System") else "sub"
    return (
        f'<details class="m {entry.kind} {kind}" id="m{entry.number}"><summary>{summary}</summary>'
        f'<div class="body">{_body(entry, said)}</div></details>\n'
    )


def _body(entry: Entry, said: Said) -> str:
    parts = []
    if said.reasoning.strip():
        parts.append(_block("reasoning", said.reasoning, "reasoning"))
    text = said.fields.content
    tools = said.tools
    whole = _as_json(text)
    if whole is not None and tools and all(tool.written for tool in tools):
        text = ""  # nothing but the tool, which is shown in a form that can be read
    if text.strip():
        parts.append(_block("", whole or text, "json" if whole else ""))
    parts += [_tool(tool) for tool in tools]
    parts += [_block(f"result of {call}" if call else "result", result) for call, result in said.results]
    parts.append(_facts(entry, said))
    return "".join(parts)


def _tool(tool: ToolSaid) -> str:
    return _block(f"tool {tool.name}", tool.fields, "json")


def _block(title: str, text: str, kind: str = "") -> str:
    heading = f"<h3>{_text(title)}</h3>" if title else ""
    return f'{heading}<pre dir="auto" class="{kind}">{_text(text)}</pre>'


def _facts(entry: Entry, said: Said) -> str:
    fields, usage = said.fields, entry.usage
    sender = f"{fields.sender_entity} ({fields.sender_name})" if fields.sender_name else fields.sender_entity
    facts = [f"from {_text(sender)}"]
    if fields.recipient:
        facts.append(f"to {_text(fields.recipient)}")
    if fields.block:
        facts.append(f"{_text(fields.block)} may not answer")
    if entry.parent is not None:
        facts.append(f'answers <a href="#m{entry.parent}">{entry.parent}</a>')
    facts.append(f"turn {entry.turn}, {_BECAME[entry.kind]}")
    if said.files:
        facts.append(f"files: {said.files}")
    if usage is not None and usage.total_tokens:
        cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
        facts.append(f"{usage.prompt_tokens:,} tokens in{cached}, {usage.completion_tokens:,} out")
    if said.cached:
        facts.append("from a cache")
    facts.append(f'<time datetime="{entry.at.isoformat()}">{entry.at:%Y-%m-%d %H:%M:%S} UTC</time>')
    return f'<p class="facts">{" · ".join(facts)}</p>'


_BECAME = {
    "given": "what the task begins with",
    "taken": "taken",
    "passed": "passed on",
    "null": "stands in for a missing answer",
    "rejected": "not a valid answer",
}


def _end(entry: Entry, tally: EntryTally, kind: str) -> str:
    mood = "ok" if entry.status in _STATUS_OK else "cut" if entry.status in _STATUS_CUT else "bad"
    totals = _text(tally.words(entry.at))
    status = f"<b>{_text(entry.status or 'ended')}</b>"
    error = f'<pre dir="auto">{_text(": ".join(entry.error))}</pre>' if entry.error else ""
    what = "The run ended" if kind == "run-end" else f"{_text(entry.path.rpartition('/')[2])} ended"
    return f'<div class="{kind} {mood}">{what}: {status}<span class="totals">{totals}</span>{error}</div>\n'


def _outline(said: Said) -> str:
    """Return what the line of a folded message shows; names of tools stand beside it already."""
    if said.fields.content.strip() and not (said.tools and _as_json(said.fields.content)):
        return said.fields.content
    return " ".join([*(" ".join(tool.fields.split()) for tool in said.tools), *(text for _, text in said.results)])


def _as_json(text: str) -> str | None:
    """A text that is a JSON object or list and nothing else, indented; None for any other."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        return json.dumps(json.loads(stripped), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return None


def _text(text: str) -> str:
    return html.escape(visible(text))
