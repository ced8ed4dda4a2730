"""The catalogue of log lines: every `action` that a process of Turnwise writes, with its level, fields and meaning.

A line is prose for people; its `action` and its fields stay the same for machines. docs/log-events.md shows this table,
and tests compare it with the page and with every call of a logger.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

# Fields that a line has wherever they are known, whatever its action.
CONTEXT = ("run", "task", "tenant", "ask", "request", "trace_id", "span_id")

_D, _I, _W, _E, _C = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A kind of line; `fields` are those beside `CONTEXT`, and need not all be there."""

    action: str
    level: int
    meaning: str
    fields: tuple[str, ...] = ()


BY_GROUP: dict[str, tuple[LogEvent, ...]] = {
    "Runs": (
        LogEvent("run_accepted", _I, "A run is on record.", ("session", "forked_from")),
        LogEvent(
            "run_ended", _I, "A run completed or was cancelled; `why` is its code.",
            ("status", "why", "seconds", "calls", "cost", "path"),
        ),
        LogEvent(
            "run_failed", _W, "A run failed; `why` is its code.",
            ("status", "why", "seconds", "calls", "cost", "error", "path"),
        ),
        LogEvent(
            "run_stopped", _W, "A limit ended a run in a script; INFO for the `turns` that it was given.",
            ("limit", "scope", "path"),
        ),
        LogEvent("batch_stopped", _W, "The budget of a batch in a script left items undone.", ("limit", "items")),
        LogEvent("batch_not_fed", _E, "No runs were made of a batch's next items; with the traceback."),
        LogEvent("batch_expired", _W, "A batch was not sealed in time and takes no further items.", ("batch",)),
        LogEvent("run_retried", _I, "A failed run continues.", ("path",)),
        LogEvent("run_held", _W, "A newer Turnwise has moved a run, which waits for a process of that version."),
        LogEvent("run_vanished", _W, "A run was deleted while it was worked on."),
        LogEvent(
            "answer_not_read", _W,
            "The answer to an OpenAI client could not be read; it is looked for again while the client waits.",
        ),
        LogEvent("events_not_read", _W, "An event stream could not be read on; it is tried again while it lasts."),
        LogEvent("left_run_not_cancelled", _W, "The run of an OpenAI client that left could not be cancelled."),
    ),
    "Schedules": (
        LogEvent("schedule_ticked", _I, "A schedule submitted a run, or let it wait or be.", ("schedule", "outcome")),
        LogEvent(
            "tick_lost", _W, "A tick of a schedule was missed, or its run refused; `why` is the code.",
            ("schedule", "outcome", "why", "ticks"),
        ),
        LogEvent("schedule_failed", _E, "A schedule could not be carried out; with its traceback.", ("schedule",)),
        LogEvent(
            "schedules_declared", _I, "The schedules of this version of the application are in force.",
            ("written", "removed"),
        ),
        LogEvent(
            "schedule_name_taken", _W, "A schedule of the code has the name of one that a request made.", ("schedule",)
        ),
    ),
    "Asks, calls and handlers": (
        LogEvent(
            "handler_failed", _E, "A handler, or a method of an agent, raised; with its traceback.",
            ("responder", "tool", "path", "error"),
        ),
        LogEvent(
            "application_failed", _E, "A task's factory or an overridden rule raised; with its traceback.", ("path",)
        ),
        LogEvent(
            "call_failed", _E, "A model refused a call, or failed for the last time.",
            ("kind", "model", "path", "error"),
        ),
        LogEvent(
            "call_retried", _W, "A call to a model or a handler failed; the ask is made again after `wait` seconds.",
            ("attempt", "wait", "error", "path"),
        ),
        LogEvent("try_again", _W, "A call made by a handler failed, and is made again where it is.", ("wait",)),
        LogEvent(
            "limit_reached", _W, "A limit of cost or tokens was reached; the run ends, or waits where `waits` is true.",
            ("limit", "scope", "waits", "path"),
        ),
        LogEvent("ask_deferred", _D, "An ask waits, for instance for room at its provider.", ("waits_for", "path")),
        LogEvent(
            "provider_batch_submitted", _I, "Calls went to their provider in a batch.", ("batch", "model", "calls"),
        ),
        LogEvent(
            "provider_batch_ended", _I, "A batch has ended: how many calls it answered, and what became of the others.",
            ("batch", "model", "status", "answered", "again", "direct", "discarded"),
        ),
        LogEvent(
            "provider_batch_refused", _W, "A provider refused a batch; its calls are made directly.",
            ("batch", "model", "calls"),
        ),
        LogEvent("provider_batch_unreachable", _W, "A provider did not answer for a batch.", ("batch", "model")),
        LogEvent(
            "provider_batch_failed", _E,
            "A look at a batch met an error of its own and is repeated; with the traceback.",
            ("batch", "model"),
        ),
        LogEvent(
            "provider_files_left", _W, "A provider did not delete files of a batch, which hold prompts or answers.",
            ("model", "files"),
        ),
        LogEvent("provider_batches_not_seen", _W, "The database was away when batches were looked at."),
        LogEvent("provider_batches_crashed", _E, "A look at batches met an error of its own; it continues."),
        LogEvent("ask_released", _I, "A claimed ask was released without an answer.", ("reason", "path")),
        LogEvent("ask_parked", _W, "An ask waits for a person: see the inbox.", ("reason", "tool", "error", "path")),
        LogEvent("ask_resolved", _I, "A person said how to continue with a parked ask.", ("outcome", "path")),
        LogEvent(
            "lease_taken_over", _W,
            "The worker of an ask fell silent, or could not write its answer; the ask is given to another, or parked.",
            ("worker", "attempt", "parked", "path"),
        ),
        LogEvent(
            "receipts_refused", _W,
            "The results of handlers could not be kept for a retry of the run, after an error of the answer.",
        ),
        LogEvent("reply_refused", _E, "A reply could not be written; it became an error on record."),
        LogEvent("usage_refused", _E, "The usage of an answer could not be written; all that was reserved counts."),
        LogEvent("usage_doubted", _W, "A model reported a usage that cannot be true.", ("agent",)),
        LogEvent("write_failed", _W, "The database was away when an answer was to be written; it is tried again."),
        LogEvent("write_given_up", _W, "A process ended before an answer could be written; its ask is taken over."),
        LogEvent("record_unreadable", _W, "The database was away when an ask was to be read; the ask is released."),
        LogEvent("claims_unknown", _W, "Asks were claimed in a commit whose answer got lost.", ("asks",)),
        LogEvent("answers_unwritten", _W, "Answers could not be written; their asks are claimed again.", ("asks",)),
        LogEvent("ask_stuck", _E, "A worker can neither answer nor release an ask; it tries again.", ("run",)),
        LogEvent("permit_refused", _W, "A message named a queue that this process does not serve.", ("queue",)),
        LogEvent("place_kept", _W, "A place with a provider was not released; it is counted until it times out."),
        LogEvent("line_not_seen", _D, "The asks that wait for a provider were not looked up."),
        LogEvent("streaming_failed", _E, "Streaming of text met an error of its own; with its traceback."),
        LogEvent("text_not_told", _D, "A piece of streamed text did not reach those who watch."),
    ),
    "Processes": (
        LogEvent(
            "worker_started", _I, "A process signed on: a coordinator or responders.",
            ("worker", "kind", "queues", "host", "pid", "version"),
        ),
        LogEvent("worker_draining", _I, "A worker was told to end; it claims nothing more."),
        LogEvent("drain_not_noted", _W, "The database was away when a drain began; others do not see it."),
        LogEvent("drain_cut", _W, "Answers took longer than a drain may; they are released, or taken over.", ("asks",)),
        LogEvent("worker_gone", _I, "A process signed off.", ("worker", "kind")),
        LogEvent(
            "ask_not_taken_over", _E,
            "An ask of a lost worker could not be taken over, and a later sweep tries again; with its traceback.",
            ("ask", "run"),
        ),
        LogEvent(
            "run_not_swept", _E, "A sweep met an error of one run, and a later one tries again; with its traceback.",
            ("run",),
        ),
        LogEvent(
            "worker_lost", _W, "A process renewed its lease no more, and counts as dead.",
            ("worker", "kind", "host", "pid"),
        ),
        LogEvent("incarnation_lost", _W, "This process was declared dead, and signs on again.", ("worker",)),
        LogEvent("retire_failed", _W, "A process could not sign off; its lease runs out by itself."),
        LogEvent("beat_failed", _W, "A lease could not be renewed: the database is away."),
        LogEvent("beat_crashed", _E, "A heartbeat met an error of its own; it continues."),
        LogEvent("deaf", _E, "The broker brings a process nothing, although there is work."),
        LogEvent("hearing_again", _W, "The broker brings messages again."),
        LogEvent("listening", _I, "The gateway's port is open.", ("url",)),
        LogEvent("mcp_listening", _I, "The port for clients of the Model Context Protocol is open.", ("url",)),
        LogEvent("metrics_listening", _I, "The port of metrics and probes is open.", ("address",)),
        LogEvent("broker_unused", _W, "A broker is set, but the embedded server uses none."),
        LogEvent("taken_over", _I, "An embedded server continues the work of an earlier one.", ("asks", "runs")),
        LogEvent("start_failed", _C, "A process cannot start, or cannot continue, and says why."),
        LogEvent("crashed", _C, "An unexpected error ended a process or a thread.", ("thread_name",)),
        LogEvent("line_lost", _E, "A line could not be written; its template is shown."),
        LogEvent("telemetry_missing", _W, "OpenTelemetry is configured and not installed."),
        LogEvent("metrics_failed", _E, "A request for metrics or a probe met an error; with its traceback."),
        LogEvent("gauges_left_out", _W, "The database was away when metrics were read, refused it, or was too slow."),
    ),
    "The gateway": (
        LogEvent(
            "request_served", _I, "A request was answered: the access log. `route` is the path's template.",
            ("method", "route", "status", "ms", "caller", "client"),
        ),
        LogEvent(
            "probe_served", _D, "The same for health, metrics and the API's description.",
            ("method", "route", "status", "ms", "caller", "client"),
        ),
        LogEvent(
            "sign_in_refused", _W, "A request came without a valid key or token, or from where it may not come.",
            ("why", "status", "method", "path", "client"),
        ),
        LogEvent("request_failed", _E, "A request was answered with 5xx.", ("code",)),
        LogEvent("stream_ended", _I, "An event stream was ended: its key is revoked or expired, or lost a scope."),
        LogEvent("stream_not_looked_at", _W, "An open stream could not be checked; it is tried again."),
        LogEvent("key_use_not_noted", _W, "The time at which a key was used was not written."),
        LogEvent("refusal_not_noted", _W, "A refusal is missing from the audit log."),
        LogEvent("requests_not_counted", _W, "The storage of request rates was away; requests pass uncounted."),
        LogEvent("watch_not_told", _D, "Workers were not told which runs are watched; they are told again."),
        LogEvent("announcing_failed", _E, "The same met an error of its own; with its traceback."),
    ),
    "The broker": (
        LogEvent("publish_failed", _W, "No worker was told of an ask; a sweep will do it."),
        LogEvent("wake_failed", _W, "No coordinator was told of a run; a sweep will find it.", ("runs",)),
        LogEvent("cancel_notice_failed", _W, "Workers were not told of a cancellation; they look by themselves."),
        LogEvent("notify_failed", _W, "Those who watch a run were not told of its progress."),
        LogEvent("message_returned", _W, "A queue was missing; it is declared again.", ("exchange", "routing_key")),
        LogEvent("queue_paused", _W, "Remote control paused a queue in one process.", ("queue",)),
        LogEvent("queue_resumed", _W, "Remote control resumed a queue in one process.", ("queue",)),
        LogEvent("command_refused", _W, "A command by remote control was refused."),
        LogEvent("shutdown", _W, "A process was told to end by remote control."),
        LogEvent(
            "foreign_message", _W,
            "A message names a run that this database does not have: another installation may use the same broker.",
        ),
        LogEvent("message_refused", _W, "A message was not ours, or not signed as it has to be."),
        LogEvent("messages_dropped", _I, "Messages were not put back to a broken connection; sweeps find their work."),
        LogEvent("reconnect", _I, "A connection had died and is opened again."),
        LogEvent(
            "worker_disconnected",
            _W,
            "The broker refuses a worker, or what it needs; it tries every second, and tells of the same reason once.",
        ),
        LogEvent("worker_connected", _I, "A worker that was refused hears messages again."),
        LogEvent("listener_disconnected", _W, "Notices are not heard; the connection is tried again."),
        LogEvent("notice_ignored", _W, "A notice could not be read."),
        LogEvent("listener_failed", _E, "A notice met an error of its own; with its traceback."),
        LogEvent("work_left", _W, "The database or the broker was away; the work of a message is left to a sweep."),
        LogEvent("work_failed", _E, "The work of a message met an error; with its traceback."),
    ),
    "Upkeep": (
        LogEvent(
            "database_encoding", _W, "`turnwise migrate` met tables in a database whose encoding is not UTF-8."
        ),
        LogEvent(
            "migration_waits", _W, "`turnwise migrate` waits for a table that another transaction has, and tries again."
        ),
        LogEvent("move_failed", _E, "A run cannot be moved; with its traceback."),
        LogEvent(
            "move_cut_off",
            _W,
            "A sweep lost the database in the middle of a move, or the move took longer than a transaction may rest; "
            "a later sweep makes it.",
        ),
        LogEvent("move_left", _W, "A worker could not make the move after its reply; a coordinator makes it."),
        LogEvent("first_move_left", _W, "A gateway could not make a run's first move; a coordinator makes it."),
        LogEvent("move_refused", _E, "A move could not be written; the run ended with an error."),
        LogEvent("sweep_failed", _W, "The database or the broker was away during a sweep."),
        LogEvent("sweep_crashed", _E, "A sweep met an error of its own; it continues."),
        LogEvent("poll_failed", _W, "The database was away when work was looked for."),
        LogEvent("poll_crashed", _E, "A look for work met an error of its own; it continues."),
        LogEvent("look_failed", _W, "The database was away when cancelled work was looked for."),
        LogEvent("look_crashed", _E, "A look for cancelled work met an error of its own; it continues."),
        LogEvent("deadline_failed", _E, "A callback of a deadline raised."),
        LogEvent("callback_failed", _E, "A task's callback raised after a move."),
        LogEvent("observer_failed", _E, "An observer raised at `hook`; with its traceback.", ("hook",)),
        LogEvent("run_log_failed", _W, "A file of a log of a run could not be written.", ("file",)),
        LogEvent("purged", _D, "Old runs were deleted.", ("runs",)),
    ),
    "Webhooks": (
        LogEvent("webhook_delivered", _D, "A receiver took a webhook.", ("webhook", "delivery", "attempt", "status")),
        LogEvent(
            "webhook_failed", _I, "A receiver did not take a webhook; it is tried again after `wait` seconds.",
            ("webhook", "delivery", "attempt", "status", "error", "wait"),
        ),
        LogEvent(
            "webhook_parked", _W, "A webhook was tried for as long as it may be; a person has to have it sent again.",
            ("webhook", "delivery", "attempt", "status", "error"),
        ),
        LogEvent(
            "webhook_gone", _W, "A receiver answered 410, and is disabled; what waited for it is parked.",
            ("webhook", "delivery", "attempt", "status", "error"),
        ),
        LogEvent(
            "webhook_left", _W, "What became of a webhook could not be noted, as while the database is away; it is "
            "sent again after its lease.",
        ),
        LogEvent(
            "webhook_crashed", _E, "Sending a webhook met an error of its own, a failed attempt; with its traceback.",
            ("webhook", "delivery"),
        ),
    ),
}  # fmt: skip

CATALOGUE: dict[str, LogEvent] = {event.action: event for events in BY_GROUP.values() for event in events}
