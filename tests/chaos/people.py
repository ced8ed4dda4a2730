"""Those who use the installation over HTTP: they submit, answer, cancel, and look into the inbox for what is parked."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from tests.chaos import words
from tests.chaos.conversations import Conversation
from tests.chaos.record import Record

from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.errors import ConflictError, EnvironmentFault, TurnwiseError

Json = dict[str, Any]

_LOOK = 0.2
_HANDS = 8
# What a client is told when it has to try again; anything else is a fault of the server.
_LATER = EnvironmentFault


class People:
    """Keep `at_once` conversations going until all have ended; call `run` in any thread.

    What failed is tried again under the same key, as a careful client does. `runs` is the run of each case.
    """

    def __init__(
        self,
        client: Client,
        record: Record,
        conversations: Sequence[Conversation],
        resolve: Callable[[Client, Json, str], None],
        webhook_of: Callable[[str], Mapping[str, Any] | None],
        *,
        at_once: int,
    ) -> None:
        self._client = client
        self._record = record
        self._todo = list(conversations)
        self._resolve = resolve
        self._webhook_of = webhook_of
        self._at_once = at_once
        self._by_case = {one.case: one for one in conversations}
        self._under_way: set[str] = set()
        self._busy: set[str] = set()
        self._lock = threading.Lock()
        self.runs: dict[str, str] = {}
        self.ended: dict[str, float] = {}  # by case, when it was seen
        self.refused: Counter[str] = Counter()  # errors that a client should not have seen
        self.unresolved: list[str] = []
        self.parked: Counter[str] = Counter()

    def run(self, patience: float, on_progress: Callable[[int], None] = lambda _: None) -> bool:
        """Return whether all have ended, at the latest `patience` seconds after the last progress."""
        moved, last = time.monotonic(), -1
        with ThreadPoolExecutor(_HANDS, thread_name_prefix="people") as hands:
            while len(self.ended) < len(self._by_case):
                self._look(hands)
                if len(self.ended) != last:
                    moved, last = time.monotonic(), len(self.ended)
                    on_progress(last)
                if time.monotonic() - moved > patience:
                    return False
                threading.Event().wait(_LOOK)
        return True

    def _look(self, hands: ThreadPoolExecutor) -> None:
        while self._todo and len(self._under_way) < self._at_once:
            self._under_way.add(self._todo.pop(0).case)
        for case in sorted(self._under_way - self.runs.keys()):
            one = self._by_case[case]
            # The runs of a session have an order, so each is accepted before the next is submitted.
            self._hand(hands, one.session or case, lambda one=one: self._submit(one))  # type: ignore[misc]
        self._hand(hands, "inbox", lambda: self._read_inbox(hands))
        accepted = self._under_way & self.runs.keys()
        try:
            progress = self._record.progress()
        except psycopg.OperationalError:
            return
        for case in accepted:
            self._follow(hands, case, *progress[self.runs[case]])

    def _follow(self, hands: ThreadPoolExecutor, case: str, events: int, ended: bool) -> None:
        after = self._by_case[case].cancel_after
        if ended:
            self.ended[case] = time.time()
            self._under_way.discard(case)
        elif after is not None and events >= after:
            self._hand(hands, f"cancel {case}", lambda: self._cancel(case))

    def _submit(self, one: Conversation) -> None:
        if one.case in self.runs:
            return
        run = self._client.submit(
            one.task,
            one.message,
            max_cost=one.max_cost,
            max_tokens=one.max_tokens,
            deadline=one.deadline,
            session_id=one.session,
            tags=[one.case],
            webhook=self._webhook_of(one.case),
            idempotency_key=one.case,
        )
        self.runs[one.case] = run.id

    def _cancel(self, case: str) -> None:
        self._client.cancel(self.runs[case])

    def _read_inbox(self, hands: ThreadPoolExecutor) -> None:
        cases = {run: case for case, run in tuple(self.runs.items())}
        for item in self._client.inbox():
            case = cases.get(item.run)
            if case is not None:
                shown = as_json(item)
                self._hand(hands, item.id, lambda item=shown, case=case: self._attend(item, case))  # type: ignore[misc]

    def _attend(self, item: Json, case: str) -> None:
        if item.get("kind", "question") == "question":
            self._client.answer(item["run"], words.yes(case), question=item["id"])
        else:
            self._resolve(self._client, item, case)
            self.parked[str(item.get("tool"))] += 1

    def _hand(self, hands: ThreadPoolExecutor, what: str, work: Callable[[], None]) -> None:
        """Do it beside all else, unless it is being done."""
        with self._lock:
            if what in self._busy:
                return
            self._busy.add(what)
        hands.submit(self._do, what, work)

    def _do(self, what: str, work: Callable[[], None]) -> None:
        try:
            work()
        except (_LATER, ConflictError):
            pass  # the next look finds what is still to be done
        except TurnwiseError as error:
            self.refused[f"{type(error).__name__}: {error}"] += 1
        except Exception as error:  # noqa: BLE001 - a thread of its own: what it raises is told at the end
            self.unresolved.append(f"{what}: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._busy.discard(what)


def in_order(conversations: Sequence[Conversation], runs: Mapping[str, str]) -> list[tuple[Conversation, str]]:
    """Each conversation that was accepted, with its run."""
    return [(one, runs[one.case]) for one in conversations if one.case in runs]
