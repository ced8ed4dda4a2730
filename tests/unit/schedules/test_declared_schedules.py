"""Schedules in code have the bounds of those that requests make."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from turnwise import App
from turnwise.errors import InvalidScheduleError
from turnwise_gateway.schedule_bodies import NewScheduleBody, ScheduleChange

# Of the settings of its runs, as code gives them: one that is refused, and the name of it.
REFUSED: list[tuple[str, Any]] = [
    ("message", " "),
    ("max_tokens", -1),
    ("max_tokens", 2**53),
    ("max_tokens", "5"),
    ("turns", 0),
    ("turns", 1_000_001),
    ("turns", True),
    ("deadline", -5),
    ("deadline", float("nan")),
    ("deadline", 366 * 86_400 + 1),
    ("max_cost", "NaN"),
    ("max_cost", "-1"),
    ("max_cost", "a lot"),
    ("on_limit", "stop"),
    ("can_wait", -1),
    ("session_id", ""),
    ("session_id", "a b"),
    ("session_id", "a\n"),
    ("session_id", "a" * 129),
    ("priority", 101),
    ("tags", [""]),
    ("tags", ["a\nb"]),
    ("tags", ["a"] * 20),
    ("metadata", {"schedule": "mine"}),
]
_LIMITS = ("max_tokens", "turns", "deadline", "max_cost", "on_limit", "can_wait")


def _app(**run: Any) -> App:
    app = App("tests", version="1")
    app.schedule("report", name="nightly", every=60, **{"message": "Write it.", **run})
    return app


def _body(name: str, value: Any) -> dict[str, Any]:
    """The same for a request."""
    fields: dict[str, Any] = {"message": "Write it."}
    return {**fields, "limits": {name: value}} if name in _LIMITS else {**fields, name: value}


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_what_a_request_may_not_say_of_the_runs_of_a_schedule_code_may_not_either(name: str, value: Any) -> None:
    with pytest.raises(InvalidScheduleError, match=rf"^the schedule 'nightly': {name}(\.\d+)? is "):
        _app(**{name: value})
    with pytest.raises(ValidationError):
        NewScheduleBody.model_validate({"name": "nightly", "task": "report", "every": 60, **_body(name, value)})
    with pytest.raises(ValidationError):
        ScheduleChange.model_validate(_body(name, value))


def test_every_fault_is_told_with_what_was_found_and_what_is_expected() -> None:
    with pytest.raises(InvalidScheduleError) as refused:
        _app(max_tokens=-1, session_id="a b")

    assert str(refused.value) == (
        "the schedule 'nightly': session_id is 'a b': expected letters, digits and ._:@-, at most 128, the first a "
        "letter or digit; max_tokens is -1: Input should be greater than or equal to 0"
    )


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("Infinity"), Decimal(-1), "1e400", "1e300000000", 0.1, float("nan")]
)
def test_an_amount_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(InvalidScheduleError, match=r"max_cost is .*: expected US dollars as a decimal string"):
        _app(max_cost=value)


@pytest.mark.parametrize("value", [{"at": object()}, {"n": float("inf")}])
def test_metadata_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidScheduleError, match=r"^the schedule 'nightly': metadata cannot be kept as JSON: "):
        _app(metadata=value)


@pytest.mark.parametrize("value", ["0.5", Decimal("0.5")])
def test_the_settings_of_runs_are_kept_as_those_of_a_request_are(value: Any) -> None:
    limits: dict[str, Any] = {"max_tokens": 9, "turns": 3, "deadline": 60, "on_limit": "end"}
    run: dict[str, Any] = {"session_id": "reports", "priority": 5, "tags": ["a"], "metadata": {"of": "me"}}

    (declared,) = _app(max_cost=value, **limits, **{**run, "tags": ("a",)}).schedules
    fields = {"name": "nightly", "task": "report", "message": "Write it.", "every": 60, **run}
    body = NewScheduleBody.model_validate({**fields, "limits": {"max_cost": "0.5", **limits}})

    assert declared.run == body.terms().run
    assert declared.run == {"message": "Write it.", **run, "limits": {"max_cost": "0.5", **limits}}


def test_a_schedule_without_settings_leaves_its_runs_to_the_defaults() -> None:
    (declared,) = _app().schedules

    assert declared.run == {"message": "Write it.", "priority": 0, "tags": [], "metadata": {}, "limits": {}}


@pytest.mark.parametrize("at", [datetime(2027, 12, 24, 18), "2027-12-24T18:00", "2027-12-24T17:00:00Z"])
def test_a_moment_may_be_a_text(at: Any) -> None:
    app = App("tests", version="1")
    app.schedule("report", message="Write it.", at=at, timezone="Europe/Berlin")

    assert app.schedules[0].timing.at == datetime(2027, 12, 24, 17, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"at": "tomorrow"}, "at is 'tomorrow'; expected a datetime, or a text such as"),
        ({"at": date(2027, 12, 24)}, r"at is datetime.date\(2027, 12, 24\); expected a datetime"),
        ({"every": 60, "start_at": 5}, "start_at is 5; expected a datetime"),
        ({"every": "60"}, "every is '60'; expected a number of seconds, or a timedelta"),
        ({"every": True}, "every is True; expected a number"),
        ({"cron": 5}, "cron is 5; expected a text"),
        ({"every": 60, "jitter": "5"}, "jitter is '5'; expected a number of seconds"),
        ({"every": 60, "timezone": None}, "timezone is None; expected a text"),
    ],
)
def test_times_of_another_kind_are_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidScheduleError, match=f"^{told}"):
        App("tests").schedule("report", message="Write it.", **arguments)


def test_how_long_calls_can_wait_is_declared() -> None:
    assert _app(can_wait=86_400).schedules[0].run["limits"] == {"can_wait": 86_400.0}
