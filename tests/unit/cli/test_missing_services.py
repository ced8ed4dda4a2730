"""A skip for want of a service is a failure where CI is set, and only there."""

from __future__ import annotations

import pytest
from tests.support.services import MISSING, on_build_server, refused_skip, require


def test_a_service_that_is_there_lets_the_test_run() -> None:
    require(True, "never said")


def test_a_missing_service_skips_with_its_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match="service missing: no PostgreSQL"):
        require(None, "no PostgreSQL")


def test_a_build_server_refuses_the_skip_and_says_what_is_missing() -> None:
    failure = refused_skip("skipped", ("test_a.py", 7, f"Skipped: {MISSING}no broker"))

    assert failure is not None
    assert failure.startswith("test_a.py:7: service missing: no broker")


@pytest.mark.parametrize(
    ("outcome", "longrepr"),
    [
        ("skipped", ("test_a.py", 7, "Skipped: needs Linux")),
        ("skipped", "an expected failure"),
        ("failed", f"Skipped: {MISSING}no broker"),
        ("passed", None),
    ],
)
def test_any_other_outcome_stays_as_it_is(outcome: str, longrepr: object) -> None:
    assert refused_skip(outcome, longrepr) is None


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("1", True), ("", False), ("false", False)])
def test_ci_is_read_as_a_yes_or_a_no(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("CI", value)

    assert on_build_server() is expected
