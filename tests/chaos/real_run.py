"""The chaos run: conversations under faults, then quiet, then the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import checks, conversations, quiet, recovery, schedules, webhooks
from tests.chaos.billing import bills
from tests.chaos.checks import Finding, Played
from tests.chaos.conversations import Conversation
from tests.chaos.faults import Fault, Happened, Trouble
from tests.chaos.people import People
from tests.chaos.record import Row
from tests.chaos.recovery import Recovery
from tests.chaos.stage import Setting, Stage
from tests.e2e.transcript import Transcript

# Seconds without an end of any conversation, after which those that are left are lost.
_PATIENCE = 180.0
# The last part of the conversations is left in peace, so that every fault meets work.
_CALM = 0.05
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a run: all that is known at its end."""

    happened: Sequence[Happened]
    endings: Counter[str]
    attempts: Sequence[Row]
    parked: Counter[str]
    died: Sequence[str]
    findings: Sequence[Finding]
    recoveries: Sequence[Recovery]

    @property
    def held(self) -> bool:
        """Return whether nothing bad was found."""
        return all(finding.holds for finding in self.findings)


@dataclass(frozen=True, kw_only=True)
class Programme:
    """Conversations with their limits, and what the quiet run made of them (of those of which it is known)."""

    conversations: Sequence[Conversation]
    wanted: Mapping[str, Transcript]


def rehearse(count: int, seed: int, folder: Path, tell: Tell) -> Programme:
    """The quiet run of so many conversations."""
    tell(f"the quiet run of {count} conversations")
    made = conversations.make(count, seed)
    wanted, billed = quiet.play_all(made, folder)
    return Programme(conversations=quiet.with_limits(made, billed), wanted=wanted)


def play(
    setting: Setting,
    programme: Programme,
    folder: Path,
    tell: Tell,
    *,
    planned: Iterator[Fault] | None = None,
    on_progress: Callable[[Stage, int], None] = lambda *_: None,
) -> Outcome:
    """Play it under faults: those `planned`, else those of the setting's seed for as long as there is work.

    `on_progress` is called whenever conversations have ended, with their number.
    """
    made = programme.conversations
    tell(f"starting PostgreSQL, {setting.broker}, the model and {sum(setting.sizes.values())} processes")
    with Stage(setting, folder) as stage:
        people, trouble = stage.people(made), stage.trouble(tell, planned)
        stage.receivers.begin(stage.client)
        ticker = schedules.begin(stage.client)
        tell("the conversations begin")
        trouble.start()

        def progress(ended: int) -> None:
            on_progress(stage, ended)
            if planned is None and ended >= len(made) * (1 - _CALM):
                trouble.stopping()

        all_ended = people.run(_PATIENCE, progress)
        trouble.finish() if planned is not None else trouble.stop()
        # The last fault may have come after the last end, and what follows asks the gateway, and asks once.
        stage.fleet.await_all()
        tell("all have ended" if all_ended else "some have not ended")
        found = schedules.end(stage.client, ticker, tell)
        found += webhooks.end(stage.receivers, stage.record, people.runs, tell)
        return _outcome(programme, stage, people, trouble, found)


def _outcome(programme: Programme, stage: Stage, people: People, trouble: Trouble, more: Sequence[Finding]) -> Outcome:
    made = programme.conversations
    played = checks.fetch(stage.client, made, people.runs)
    return Outcome(
        happened=trouble.happened,
        endings=checks.endings(played),
        attempts=stage.record.attempts(),
        parked=people.parked,
        died=stage.fleet.died,
        findings=[
            checks.lost(made, people.runs, played),
            checks.ended_otherwise(played, programme.wanted),
            checks.transcripts(played, programme.wanted),
            checks.gaps(played),
            *_outside(made, played, stage),
            *more,
            checks.promises(stage.record),
            *checks.left_behind(stage.record),
            *_met(people),
        ],
        recoveries=recovery.measure(trouble.happened, stage.record.event_times()),
    )


def _outside(made: Sequence[Conversation], played: Sequence[Played], stage: Stage) -> list[Finding]:
    billed = bills(stage.model.bill)
    return [
        *checks.doubled(stage.tool_log),
        checks.missing_effects(played, stage.tool_log),
        checks.overspent(made, billed),
        *checks.books(played, billed, stage.record),
    ]


def _met(people: People) -> Sequence[Finding]:
    refused = [f"{number} times {what}" for what, number in people.refused.items()]
    return [
        Finding(what="answers that no client should get", faults=refused),
        Finding(what="items of the inbox that could not be resolved", faults=people.unresolved),
    ]
