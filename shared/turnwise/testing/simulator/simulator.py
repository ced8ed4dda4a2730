"""Many schedules of one application, each of them checked."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from turnwise.app import App
from turnwise.base.garbage import collections_paused
from turnwise.errors import ConfigurationError
from turnwise.processes.settings import ServiceSettings
from turnwise.testing.models import ProviderStandIn
from turnwise.testing.simulator.clients import Conversation, Human, Operator, does_it_again, says_yes
from turnwise.testing.simulator.comparison import differences
from turnwise.testing.simulator.faults import QUIET, Faults, chosen
from turnwise.testing.simulator.promises import Violation, check
from turnwise.testing.simulator.simulation import Installation, Outcome, simulate

_MEMORY = Path("/dev/shm")
# Lines of the story that a failure shows; the whole of it is in `SimulationFailed.outcome`.
_SHOWN = 60
_SHARED_BUDGETS = ("session_max_", "tenant_day_", "tenant_month_")

Check = Callable[[Outcome], Iterable[Violation]]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An application, and what is done with it in each schedule.

    - `app`: the application; its models have to answer the same to the same messages.
    - `conversations`: what is submitted: a `Conversation` each, or task and message.
    - `at_once`: at most so many of them take part in one schedule, drawn anew each time; those of one session stay
      together.
    - `only`: the task whose conversations alone take part; None for all.
    - `human`: gives the answer to a question, from the task's path and the question; the same one each time.
    - `operator`: resolves a parked call: from its item in the inbox, the body of `POST /v1/inbox/{id}`; it may look up
      in what the tools did outside whether the call happened. By default it is called again.
    - `faults`: draws what goes wrong in a schedule; `turnwise.testing.chosen` mixes all kinds.
    - `checks`: promises of the application's own: each is given the `Outcome` and yields a `Violation` for what it
      finds, for instance for an effect outside that happened twice.
    - `before`: is called before each schedule, to empty whatever `checks` look at.
    - `settings`: settings of the services, by field name; others than the defaults.
    - `provider`: answers for the `OpenAIGPT` models of the application, whose calls may then wait for batches; a
      `SimulatedProvider`.
    """

    app: App
    conversations: Sequence[Conversation | tuple[str, str]]
    at_once: int = 2
    only: str | None = None
    human: Human = says_yes
    operator: Operator = does_it_again
    faults: Callable[[Random], Faults] = chosen
    checks: Sequence[Check] = ()
    before: Callable[[], None] = lambda: None
    settings: dict[str, Any] = field(default_factory=dict)
    provider: ProviderStandIn | None = None


class SimulationFailed(AssertionError):
    """A schedule broke a promise; the message says which, what happened before, and how to repeat it."""

    def __init__(self, outcome: Outcome, repeat: str) -> None:
        self.outcome = outcome
        super().__init__(_told(outcome, repeat))


@dataclass(kw_only=True)
class Report:
    """The number of schedules that were run, and their faults."""

    schedules: int = 0
    runs: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    killed_at: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.schedules += 1
        self.runs += len(outcome.accepted)
        self.faults.update(outcome.faults)
        self.killed_at.update(outcome.killed_at)

    def __str__(self) -> str:
        faults = ", ".join(f"{kind} {n}" for kind, n in self.faults.most_common())
        kills = f"processes killed at {len(self.killed_at)} places"
        return f"{self.schedules} schedules, {self.runs} runs, {kills}; faults: {faults or 'none'}"


def _conversation(given: Conversation | tuple[str, str]) -> Conversation:
    if isinstance(given, Conversation):
        return given
    if isinstance(given, str) or len(given) != 2:
        raise ConfigurationError(f"a conversation is {given!r}; expected a pair of task and message, or a Conversation")
    return Conversation(task=given[0], message=given[1])


class Simulator:
    """Runs schedules of a scenario; use it in a `with` block.

    A schedule is an installation of its own: two coordinators, two workers and a gateway over one SQLite file, in
    simulated time. Its seed decides everything: who acts when, what goes wrong, which ids are given.

    Raises `ConfigurationError` for a scenario without an `App` or without conversations that take part, and for a
    setting that does not exist.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        _check_settings(scenario)
        if not isinstance(scenario.app, App):
            raise ConfigurationError(f"the application of the scenario is {scenario.app!r}; expected an App")
        self._all = [_conversation(each) for each in scenario.conversations]
        if not self._all:
            raise ConfigurationError("the scenario has no conversations; give each as a pair of task and message")
        if scenario.only is not None and all(scenario.only != each.task for each in self._all):
            tasks = ", ".join(sorted({each.task for each in self._all}))
            raise ConfigurationError(f"only={scenario.only!r} is the task of no conversation; those are of {tasks}")
        if scenario.at_once < 1:
            raise ConfigurationError(f"at_once is {scenario.at_once}; expected at least 1 conversation")
        self._directory = Path(tempfile.mkdtemp(prefix="turnwise-", dir=_MEMORY if _MEMORY.is_dir() else None))
        self._installation = Installation(scenario.app, self._directory, scenario.provider)
        self._settings: dict[tuple[bool, bool], ServiceSettings] = {}
        self._expected: dict[int, list[str]] | None = None

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the record."""
        self._installation.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def use(self, scenario: Scenario) -> None:
        """Continue with other faults, settings or checks; application and conversations stay the same."""
        _check_settings(scenario)
        self.scenario = scenario
        self._settings.clear()

    def run(self, seed: int) -> Outcome:
        """One schedule, and what it breaks of the promises."""
        if self._expected is None:
            self._expected = self._without_faults()
        random = Random(f"scenario {seed}")
        numbers = self._drawn(random)
        outcome = self._simulate(seed, numbers, self.scenario.faults, with_reply=random.random() < 0.5)
        found = [
            *outcome.violations,
            *check(outcome.history),
            *differences(outcome, self._expected, self._all),
            *(violation for each in self.scenario.checks for violation in each(outcome)),
        ]
        return replace(outcome, violations=found)

    def run_many(
        self, seeds: Iterable[int], *, repeat: str = "", progress: Callable[[Report], None] | None = None
    ) -> Report:
        """Run a schedule for each seed; raises `SimulationFailed` at the first that breaks a promise.

        Raises `ConfigurationError` without a seed.

        `repeat` is the command that repeats it, with `{seed}` for the seed. `progress` is called after each.
        """
        report = Report()
        for seed in seeds:
            outcome = self.run(seed)
            if outcome.violations:
                raise SimulationFailed(outcome, repeat.replace("{seed}", str(seed)))
            report.add(outcome)
            if progress is not None:
                progress(report)
        if not report.schedules:
            raise ConfigurationError("no schedule was run; expected at least one seed")
        return report

    def _without_faults(self) -> dict[int, list[str]]:
        """Return what is said in each conversation when nothing goes wrong and no one changes their mind."""
        outcome = self._simulate(0, range(len(self._all)), lambda random: QUIET, with_reply=False, quiet=True)
        found = [*outcome.violations, *check(outcome.history)]
        if found:
            raise SimulationFailed(replace(outcome, violations=found), "it failed with no fault at all")
        return {number: outcome.history.transcript(run_id) for number, run_id in outcome.accepted.items()}

    def _simulate(
        self,
        seed: int,
        numbers: Iterable[int],
        faults: Callable[[Random], Faults],
        *,
        with_reply: bool,
        quiet: bool = False,
    ) -> Outcome:
        taking_part = {number: _undisturbed(self._all[number]) if quiet else self._all[number] for number in numbers}
        self.scenario.before()
        with collections_paused():  # garbage is collected between schedules, not in the middle of one
            return simulate(
                self._installation,
                taking_part,
                self._service_settings(with_reply, quiet),
                self.scenario.human,
                self.scenario.operator,
                faults,
                seed,
            )

    def _drawn(self, random: Random) -> list[int]:
        """The numbers of the conversations that take part."""
        lines: dict[str, list[int]] = {}
        for number, conversation in enumerate(self._all):
            if self.scenario.only not in (None, conversation.task):
                continue
            lines.setdefault(conversation.session_id or f" {number}", []).append(number)
        rest, drawn = list(lines.values()), list[int]()
        most = random.randint(1, self.scenario.at_once)
        while rest and len(drawn) < most:
            drawn += rest.pop(random.randrange(len(rest)))
        return sorted(drawn)

    def _service_settings(self, with_reply: bool, quiet: bool) -> ServiceSettings:
        if (with_reply, quiet) not in self._settings:
            given = {"moves": "worker" if with_reply else "coordinator", **self.scenario.settings}
            if quiet:  # what is said when no one else spends anything
                given = {name: value for name, value in given.items() if not name.startswith(_SHARED_BUDGETS)}
            self._settings[with_reply, quiet] = ServiceSettings(_env_file=None, **given)
        return self._settings[with_reply, quiet]


def _check_settings(scenario: Scenario) -> None:
    unknown = sorted(scenario.settings.keys() - ServiceSettings.model_fields.keys())
    if unknown:
        raise ConfigurationError(f"there is no setting {unknown[0]!r}; settings are named as in ServiceSettings")


def _undisturbed(conversation: Conversation) -> Conversation:
    limits = {name: value for name, value in (conversation.limits or {}).items() if name != "deadline"}
    return replace(conversation, cancel=False, limits=limits or None)


def _told(outcome: Outcome, repeat: str) -> str:
    lines = [f"schedule {outcome.seed} breaks a promise", *(str(each) for each in outcome.violations)]
    lines += ["", f"what happened (the last {_SHOWN} steps; simulated seconds, process and actor):"]
    lines += [f"  {at:8.3f} {who:<40} {what}" for at, who, what in outcome.story[-_SHOWN:]]
    if repeat:
        lines += ["", f"to repeat it: {repeat}"]
    return "\n".join(lines)
