"""Runs whose texts try to be more than text, are far too long, or far too many; written into the record directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.gateway_parts import Served
from tests.support.kept_values import happen
from tests.support.store_parts import new_ask, new_worker

from turnwise.record.states import RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Parking, Receipt

HOSTILE = """</textarea></script><script>window.taken = "script"</script>
<img src="http://evil.test/x.png" onerror="window.taken = 'image'"> <svg onload="window.taken = 'svg'"/>
<style>main { display: none }</style> <a href="javascript:window.taken='link'">here</a>
<iframe src="//evil.test"></iframe>
&lt;b&gt; "quoted" 'single' `${window.taken = 1}` {{7*7}}
\u202egnirts desrever\u202c \u2066isolated\u2069 \x07bell \x1b[31mred
zero\u200bwidth \ufeffmark \U0001f600 العربية ไทย e\u0301\u0301\u0301\u0301\u0301\u0301"""
TAG = "<img src=//evil.test onerror=alert(1)>\u202egat"
UNBROKEN = "w" * 20_000
HUGE = 5_000_000
TURNS = 10_000
SESSION = "a.b:c@d-_e"
_QUEUE = "hostile"


@dataclass(frozen=True, kw_only=True)
class HostileRuns:
    """Ids of runs: one of each kind."""

    asking: str
    parked: str
    ended: str
    unbroken: str
    huge: str
    long: str

    def all(self) -> list[str]:
        return [self.asking, self.parked, self.ended, self.unbroken, self.huge, self.long]


def hostile_runs(gateway: Served) -> HostileRuns:
    """Make them; no one works on them."""
    asking = _begun(gateway, HOSTILE, session_id=SESSION)
    gateway.ask_human(asking, HOSTILE)
    ended = _begun(gateway, HOSTILE)
    _end(gateway, ended, HOSTILE)
    unbroken = _begun(gateway, UNBROKEN)
    gateway.ask_human(unbroken, UNBROKEN)
    huge = _begun(gateway, "x" * 100_000)
    _say(gateway, huge, "y" * HUGE)
    gateway.ask_human(huge, "z" * HUGE, turn=2)
    long = _begun(gateway, "many turns")
    with gateway.store.coordinator.locked(long) as transaction:
        for turn in range(1, TURNS + 1):
            _taken(transaction, turn, f"message {turn} of {TURNS}")
        transaction.change(status=RunStatus.RUNNING, move_due_at=None)
    return HostileRuns(asking=asking, parked=_parked(gateway), ended=ended, unbroken=unbroken, huge=huge, long=long)


def _begun(gateway: Served, message: str, **more: object) -> str:
    run = gateway.submit(message=message, tags=[TAG], metadata={"<b>key</b>": message[:5_000]}, **more)
    with gateway.store.coordinator.locked(run) as transaction:
        _put(transaction, f"{run}-0", message, "User")
        happen(transaction, "task.started", path="desk", turn=0, data={"document": f"{run}-0"})
        transaction.change(status=RunStatus.RUNNING, move_due_at=None)
    return run


def _say(gateway: Served, run: str, text: str) -> None:
    with gateway.store.coordinator.locked(run) as transaction:
        _taken(transaction, 1, text)


def _taken(transaction: RunTransaction, turn: int, text: str) -> None:
    document = f"said-{turn}"
    _put(transaction, document, text, "LLM")
    happen(transaction, "turn.taken", path="desk", turn=turn, data={"document": document, "responder": "LLM"})


def _put(transaction: RunTransaction, id: str, text: str, sender: str) -> None:
    tools = [{"$tool": HOSTILE[:100], "request": HOSTILE[:100], "purpose": "", "id": "", HOSTILE[:60]: text[:5_000]}]
    body = {"content": text, "metadata": {"id": id, "sender": sender, "sender_name": HOSTILE[:200]}}
    transaction.put_document(id, body | ({"tool_messages": tools} if text == HOSTILE else {}))


def _end(gateway: Served, run: str, text: str) -> None:
    _say(gateway, run, text)
    with gateway.store.coordinator.locked(run) as transaction:
        _put(transaction, "result", text, "User")
        body = {"content": text, "metadata": {"id": "result", "parent_id": "said-1"}}
        happen(transaction, "task.finished", path="desk", turn=1, data={"document": "result", "status": "DONE"})
        transaction.finish(RunStatus.COMPLETED, "DONE", result=body)
        happen(transaction, "run.completed", path="desk", data={"document": "result", "status": "DONE"})


def _parked(gateway: Served) -> str:
    run = _begun(gateway, HOSTILE)
    ask = f"{run}.1.2.1"
    with gateway.store.coordinator.locked(run) as transaction:
        told: dict[str, Any] = {"path": "desk", "agent": "desk", "responder": "agent", "max_attempts": 5}
        transaction.add_ask(new_ask(_QUEUE, turn=2, id=ask, message_id=None, **told))
        transaction.change(status=RunStatus.RUNNING, awaiting=ask, move_due_at=None)
    claim = gateway.store.worker.claim(_QUEUE, new_worker(gateway.store, _QUEUE))
    assert claim is not None
    arguments = {"request": HOSTILE, "purpose": "", "id": "", HOSTILE: [HOSTILE, {UNBROKEN[:500]: UNBROKEN}]}
    call = Receipt(call_no=1, tool=HOSTILE, status="begun", key=f"{ask}.1", effect="once", arguments=arguments)
    gateway.store.worker.park(claim, Parking(reason="unknown_outcome", call=call))
    return run
