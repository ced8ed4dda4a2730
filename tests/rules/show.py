"""Prints transcripts: `python -m tests.rules.show ID...`, or of all scenarios that do not go as written."""

from __future__ import annotations

import sys

from tests.rules import in_process
from tests.rules.catalogue import scenarios
from tests.rules.scenario import RUN, RUN_ASYNC, Scenario
from tests.rules.transcript import fits


def show(scenario: Scenario) -> None:
    """Print what happens, and the prompts that the scenario asks for."""
    print(f"--- {scenario.id}  [{' '.join(scenario.covers)}]")
    try:
        outcome = in_process.play(scenario, in_event_loop=RUN in scenario.never)
    except AssertionError as error:
        print(f"    {error}")
        return
    print("\n".join(f"    {line}" for line in outcome.lines))
    for name, lines in outcome.sent.items():
        print(f"  sent to {name}:", *lines, sep="\n    ")


def as_written(scenario: Scenario) -> bool:
    """Return whether the scenario goes as written in this process; one that is played elsewhere only does."""
    if RUN in scenario.never and RUN_ASYNC in scenario.never:
        return True
    try:
        outcome = in_process.play(scenario, in_event_loop=RUN in scenario.never)
    except AssertionError:
        return False
    prompts = all(
        fits([line.strip() for line in wanted.strip().splitlines()], outcome.sent[name])
        for name, wanted in scenario.sent.items()
    )
    return prompts and fits(scenario.transcript, outcome.lines)


if __name__ == "__main__":
    asked = sys.argv[1:]
    for each in scenarios():
        if each.id in asked or (not asked and not as_written(each)):
            show(each)
