"""The outcome of the comparison of one program, and the judgement that makes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from .conversation import differences
from .play import Played
from .program import Program

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Compared(_Strict):
    """One way of running a program against the reference; `why` says what differs first, or why it was not run."""

    equal: bool | None
    why: str = ""


class Outcome(_Strict):
    """`requests` is how many the reference made; `ports` says that the program starts and ends as it does there."""

    path: str
    requests: int
    ports: Compared
    script: Compared
    embedded: Compared
    distributed: Compared
    remark: str = ""


class Results(_Strict):
    """All outcomes of a day, with the versions of both sides."""

    date: str
    reference: str
    turnwise: str
    python: str
    outcomes: list[Outcome] = Field(default_factory=list)


def unusable(program: Program, reference: Played) -> str:
    """Return why the program's script proves nothing with the reference itself; empty where it does."""
    if reference.code is None:
        return "the reference does not come to an end"
    if reference.unscripted:
        return reference.unscripted[0]
    if reference.left:
        return f"{reference.left} answers of the script are never asked for"
    if not reference.requests:
        return "the reference asks no model: " + _last_line(reference.errors)
    return "; ".join(f"nothing is printed like {shown}" for shown in program.printed if not _found(shown, reference))


def ports(reference: Played, ours: Played) -> Compared:
    """Return whether the program ends as there: as well, or with the same kind of error."""
    if ours.code is None:
        return Compared(equal=False, why="it does not come to an end")
    there, here = _ending(reference), _ending(ours)
    if there == here:
        return Compared(equal=True)
    said = f": {_last_line(ours.errors)}" if ours.code else ""
    return Compared(equal=False, why=f"ends with {here}, there with {there}{said}")


def conversation(program: Program, reference: Played, ours: Played) -> Compared:
    """Return whether models were asked the same, request for request, and the program printed the same result."""
    if ours.unscripted:
        return Compared(equal=False, why=ours.unscripted[0])
    found = differences(
        reference.requests,
        ours.requests,
        in_order=not program.concurrent,
        model=not program.default_model,
        once=program.repeated,
    )
    found += _printed(program.printed, reference, ours)
    return Compared(equal=not found, why=found[0] if found else "")


def served(program: Program, reference: Played, ours: Played) -> Compared:
    """The same of a served program, which has to end as there, too."""
    ended = ports(reference, ours)
    return conversation(program, reference, ours) if ended.equal else ended


def _printed(patterns: Sequence[str], reference: Played, ours: Played) -> list[str]:
    pairs = [(_found(pattern, reference), _found(pattern, ours)) for pattern in patterns]
    return [f"printed {other} against {one}" for one, other in pairs if one != other]


def _found(pattern: str, played: Played) -> list[str]:
    """Return the matches of the pattern; spaces at the end of lines are for the terminal."""
    return [str(found).strip() for found in re.findall(pattern, _COLOUR.sub("", played.output))]


def _ending(played: Played) -> str:
    """The kind of error that ended a program, without its words; or its good end."""
    if played.code == 0:
        return "success"
    return _last_line(played.errors).split(":")[0].rsplit(".", 1)[-1]


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return (errors or lines or ["no error"])[-1].strip()
