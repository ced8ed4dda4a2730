"""Finds the first difference between what was observed and the golden record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .likeness import (
    document_mismatches,
    message_mismatches,
    prompt_mismatches,
    same_typed_value,
)
from .record import (
    Golden,
    GoldenDocument,
    GoldenMessage,
    GoldenRun,
    Observation,
    ObservedDocument,
    ObservedMessage,
    ObservedRun,
    Prompt,
    Prompts,
    TypedValue,
    Value,
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place where the observation is not as recorded; `note` says in what, or carries a traceback."""

    place: str
    golden: str
    observed: str
    note: str = ""

    def __str__(self) -> str:
        lines = [self.place, f"  golden:   {self.golden}", f"  observed: {self.observed}"]
        if self.note:
            lines += [f"  {line}" for line in self.note.splitlines()]
        return "\n".join(lines)


def compare(observed: Observation, golden: Golden) -> Difference | None:
    """The first difference, or None. Prompts are compared where both sides have them."""
    if len(observed.runs) != len(golden.runs):
        return _difference("number of runs", len(golden.runs), len(observed.runs))
    for number, (golden_run, observed_run) in enumerate(zip(golden.runs, observed.runs, strict=True), start=1):
        if found := compare_run(observed_run, golden_run, place=f"run {number}"):
            return found
    calls = {agent: count for agent, count in observed.llm_calls.items() if count}
    if calls != golden.llm_calls:
        return _difference("llm_calls", golden.llm_calls, calls)
    if observed.human_asked != golden.human_asked:
        return _difference("human_asked", golden.human_asked, observed.human_asked)
    if golden.llm_inputs is not None and observed.llm_inputs is not None:
        return _compare_prompts(observed.llm_inputs, golden.llm_inputs, observed.calls_before)
    return None


def compare_run(observed: ObservedRun, golden: GoldenRun, place: str = "run") -> Difference | None:
    """The first difference in one run, an error that nobody expected before all else."""
    if observed.error is not None and golden.exception is None:
        return _difference(f"{place}, exception", None, observed.error.types[0], observed.error.detail)
    return (
        _compare_taken(observed.taken, golden.taken, place)
        or _compare_exception(observed, golden, place)
        or _compare_ends(observed, golden, place)
        or _compare_result(observed.result, golden, place)
    )


def _compare_taken(
    observed: Sequence[ObservedMessage], golden: Sequence[GoldenMessage], place: str
) -> Difference | None:
    """Walks both records at once; `reached` holds every position in `observed` that fits the golden ones so far.

    There may be several, because optional messages may be left out, and may look like those after them.
    """
    reached = {0}
    for index, message in enumerate(golden):
        fits = {at + 1 for at in reached if at < len(observed) and not message_mismatches(message, observed[at])}
        following = fits | reached if message.optional else fits
        if not following:
            return _taken_difference(observed, message, max(reached), f"{place}, taken[{index}]")
        reached = following
    if len(observed) in reached:
        return None
    extra = observed[max(reached)]
    return _difference(f"{place}, after the last message taken", "nothing more", _shown(extra))


def _taken_difference(observed: Sequence[ObservedMessage], golden: GoldenMessage, at: int, place: str) -> Difference:
    if at >= len(observed):
        return _difference(place, _shown(golden), "nothing more")
    differing = ", ".join(message_mismatches(golden, observed[at]))
    return _difference(place, _shown(golden), _shown(observed[at]), f"differs in {differing}")


def _compare_exception(observed: ObservedRun, golden: GoldenRun, place: str) -> Difference | None:
    types = observed.error.types if observed.error is not None else ()
    if golden.exception is None or golden.exception in types:
        return None
    detail = observed.error.detail if observed.error is not None else ""
    return _difference(f"{place}, exception", golden.exception, " < ".join(types) or None, detail)


def _compare_ends(observed: ObservedRun, golden: GoldenRun, place: str) -> Difference | None:
    ends = observed.ends
    if golden.exception is not None:
        # A run that raised ends its open tasks in its own way, or not at all.
        ends = ends[: len(golden.ends)]
    if ends == golden.ends:
        return None
    return _difference(f"{place}, ends", golden.ends, observed.ends)


def _compare_result(observed: ObservedDocument | TypedValue | None, golden: GoldenRun, place: str) -> Difference | None:
    if golden.exception is not None:
        return None
    place = f"{place}, result"
    match golden.result, observed:
        case None, None:
            return None
        case GoldenDocument() as document, ObservedDocument():
            mismatches = document_mismatches(document, observed)
            note = f"differs in {', '.join(mismatches)}"
            return _difference(place, _shown(document), _shown(observed), note) if mismatches else None
        case TypedValue() as typed, TypedValue():
            return None if same_typed_value(typed, observed) else _difference(place, typed.value, observed.value)
        case expected, _:
            return _difference(place, expected and _shown(expected), observed and _shown(observed))


def _compare_prompts(
    observed: Prompts, golden: Prompts, calls_before: dict[str, int] | None = None
) -> Difference | None:
    for agent, calls in golden.items():
        seen = observed.get(agent, ())
        if len(seen) != len(calls):
            return _difference(f"llm_inputs of {agent}, number of calls", len(calls), len(seen))
        for number, (expected, found) in enumerate(zip(calls, seen, strict=True), start=1):
            place = f"llm_inputs of {agent}, call {number}"
            if calls_before is not None and number > calls_before.get(agent, 0):
                expected = _less_one_piece(expected, found)
            for index in range(min(len(expected), len(found))):
                if mismatches := prompt_mismatches(expected[index], found[index]):
                    note = f"differs in {', '.join(mismatches)}"
                    return _difference(f"{place}[{index}]", _shown(expected[index]), _shown(found[index]), note)
            if len(expected) != len(found):
                longer, at = max(expected, found, key=len), min(len(expected), len(found))
                note = f"the {'golden' if longer is expected else 'observed'} one goes on: {_shown(longer[at])}"
                return _difference(f"{place}, number of messages", len(expected), len(found), note)
    return None


def _less_one_piece(golden: Prompt, found: Prompt) -> Prompt:
    """The golden prompt without one unbroken piece, which a forgotten run has left there, if `found` lacks one."""
    lacking = max(0, len(golden) - len(found))
    pairs = enumerate(zip(golden, found, strict=False))
    at = next((at for at, (expected, seen) in pairs if prompt_mismatches(expected, seen)), len(found))
    return (*golden[:at], *golden[at + lacking :])


def _shown(value: Value) -> str:
    return value.model_dump_json(exclude_defaults=True, by_alias=True)


def _difference(place: str, golden: object, observed: object, note: str = "") -> Difference:
    return Difference(place=place, golden=str(golden), observed=str(observed), note=note)
