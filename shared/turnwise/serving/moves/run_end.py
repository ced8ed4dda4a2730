"""How a run ends: the run's status for a task's, and errors as they are kept."""

from __future__ import annotations

import traceback

from turnwise.base.waits import OutageWait
from turnwise.messages.entity import StatusCode
from turnwise.observability.redaction import redact_beginning
from turnwise.record.states import RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import CodedError, RaisedError

# The key under which calls are counted that failed in an outage, whatever kind each was.
OUTAGE = "outage"
_FAILED = (
    StatusCode.STALLED,
    StatusCode.MAX_TURNS,
    StatusCode.INF_LOOP,
    StatusCode.TIMEOUT,
    StatusCode.ERROR,
)


def run_status(status: StatusCode) -> RunStatus:
    """`completed` where there is a result, `cancelled` for KILL, else `failed`."""
    if status is StatusCode.KILL:
        return RunStatus.CANCELLED
    return RunStatus.FAILED if status in _FAILED else RunStatus.COMPLETED


def error_record(error: BaseException, *, place: str, tool: str | None = None) -> RaisedError:
    """The error as it is kept: type, message, where it happened, and the tool whose handler raised it.

    There are no secrets in the message, and of a long one its beginning.
    """
    frames = traceback.extract_tb(error.__traceback__)
    line = None
    if frames:
        last = frames[-1]
        line = f"{last.name} ({last.filename.rsplit('/', 1)[-1]}:{last.lineno})"
    message = redact_beginning(_words(error))
    return RaisedError(type=type(error).__name__, message=message, place=place, line=line, tool=tool or None)


def no_provider(tx: RunTransaction) -> CodedError | None:
    """The error of a run whose deadline passed while its provider did not answer; None if that was not so."""
    waited_for, ask = tx.run.waiting_for, tx.open_ask()
    # The run itself may have been looking, after calls that failed: then it was to wait for the model alone.
    looked = waited_for is not None and waited_for.kind == "llm" and ask is not None and OUTAGE in (ask.failures or {})
    if tx.reply() is not None or not (looked or isinstance(waited_for, OutageWait)):
        return None
    last = (waited_for.error or {}).get("message") if isinstance(waited_for, OutageWait) else None
    model = waited_for.model if isinstance(waited_for, OutageWait) else None
    message = f"the deadline passed while the provider of {model or 'its model'} did not answer"
    return CodedError(
        type="ModelUnavailableError",
        code="model_unavailable",
        kind="unavailable",
        message=f"{message}: {last}" if last else message,
    )


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - an application's exception may fail to say what it is
        return f"(its text is not available: {type(broken).__name__})"
