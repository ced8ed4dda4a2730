"""The text of a stream: what of an answer in progress may be shown before it is known to be the answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turnwise.bus.envelope import TokenNotice
from turnwise.messages.signals import DONE, PASS, SEND_TO

if TYPE_CHECKING:
    from turnwise.tasks.tree import TaskTree

# Text that addresses someone else, or no one.
_ADDRESSES = (PASS.rstrip("_"), SEND_TO.rstrip("_:"), "TO[")
# Where a call that is written as text may begin.
_CALLS = ("{", "<")
# Between the texts of two answers.
_GAP = "\n\n"


class ShownText:
    """Text is only ever added. Answers that turn out not to be the last stay, and the last one follows in full.

    Only the root task's model is shown, as those of sub-tasks speak to their callers. From where it may address
    another, or call a tool, its text is kept back until it is the answer. With `signals` the result is without DONE.
    """

    def __init__(self, *, tools: bool = True, signals: bool = True, prefix: str = "") -> None:
        """`tools`: the model may write calls as text; `prefix`: the task's own mark of an address."""
        addresses = (*_ADDRESSES, prefix) if signals and prefix else _ADDRESSES if signals else ()
        self._kept_from = (*addresses, *(_CALLS if tools else ()))
        self._unsure = (*self._kept_from, *((DONE,) if signals else ()))
        self._signals = signals
        self._begun = False
        self._answer: tuple[str, int] | None = None
        self._heard = ""
        # Of the present answer; a piece of it was lost.
        self._shown = ""
        self._broken = False

    @classmethod
    def of(cls, tree: TaskTree) -> ShownText:
        """For the answers of this task."""
        root = tree.root
        # Calls in the text are read also where the model is given its tools over the API.
        tools = bool(tree.agents[root.agent].toolbox.usable)
        return cls(tools=tools, signals=root.recognize_string_signals, prefix=root.addressing_prefix)

    def hear(self, notice: TokenNotice) -> str:
        """Take in a piece of an answer; the text to be added, often empty."""
        if not _of_root(notice.ask):
            return ""
        answer = (notice.ask, notice.attempt)
        if answer != self._answer:
            if self._answer is None or notice.ask != self._answer[0]:
                self._shown = ""
            # Another attempt writes anew; it is shown again once it is past what was shown of the one before.
            self._answer, self._heard, self._broken = answer, "", False
        if notice.offset != len(self._heard):
            self._broken = True
        if self._broken:
            return ""
        self._heard += notice.text
        return self._added(self._sure())

    def without_signals(self, text: str) -> str:
        """A result or a question as its reader is to see it; a question still has the signal."""
        return text.replace(DONE, "").strip() if self._signals and DONE in text else text

    def finish(self, text: str) -> str:
        """The rest of the text, given the whole answer."""
        text = text.lstrip()
        if not text.startswith(self._shown):
            self._shown = ""
        return self._added(text)

    def _added(self, text: str) -> str:
        if not text.startswith(self._shown) or len(text) == len(self._shown):
            return ""
        gap = _GAP if self._begun and not self._shown else ""
        added = text[len(self._shown) :]
        self._begun, self._shown = True, text
        return gap + added

    def _sure(self) -> str:
        """Return what has been heard so far, as the result will have it."""
        text = self._heard
        for start in self._kept_from:
            text = text.partition(start)[0]
        if self._signals:
            text = text.replace(DONE, "")
        # At its end there may be the beginning of a mark, or blanks that are taken off in front of one.
        begun = max(map(partial(_begun_at_end, text), self._unsure), default=0)
        return text[: len(text) - begun].strip()


def _begun_at_end(text: str, mark: str) -> int:
    """Return how many characters of the mark the text ends with."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)


def _of_root(ask: str) -> bool:
    """Return whether the root task asks: `run_1.1.2.1` is of frame 1."""
    parts = ask.split(".")
    return len(parts) == 4 and parts[1] == "1"
