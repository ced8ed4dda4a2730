"""A gateway's refusals name options and arguments of the command, not fields of the API."""

from __future__ import annotations

import pytest
from typer.main import get_group

from turnwise.cli.main import app
from turnwise.cli.refusal import told
from turnwise.errors import InvalidRequestError, NotFoundError, TurnwiseError, UnauthorizedError

COMMANDS = get_group(app).commands


@pytest.mark.parametrize(
    ("command", "error", "said"),
    [
        (
            "submit",
            "body.limits.deadline: Input should be greater than 0",
            "--deadline: Input should be greater than 0",
        ),
        ("submit", "body.message: the message is empty; say it", "MESSAGE: the message is empty; say it"),
        ("fork", "body.message: the message is empty", "--message: the message is empty"),
        ("chat", "body.message: the message is empty", "MESSAGE: the message is empty"),
        (
            "submit",
            "body.session_id: String should match pattern '^[a-z]$'",
            "--session: expected letters, digits and ._:@-, at most 128, the first a letter or digit",
        ),
        ("submit", "body.webhook.url: it is empty", "--webhook: it is empty"),
        ("submit", "body.limits.turns: no; body.limits.max_tokens: no", "--turns: no; --max-tokens: no"),
        ("runs", "query.q: it is too long", "--search: it is too long"),
        ("show", "path.run_id: it is too long", "RUN: it is too long"),
        ("retry", "body.filter.created_after: no time", "--created-after: no time"),
        ("schedules", "body.limits.max_tokens: no", "--max-tokens: no"),
        ("schedules", "body.start_at: no time", "--start: no time"),
        ("pause", "body.reason: it is too long", "--reason: it is too long"),
        ("runs", "body.something: no", "body.something: no"),
    ],
)
def test_a_field_is_named_as_the_command_has_it(command: str, error: str, said: str) -> None:
    assert told(InvalidRequestError(error), COMMANDS[command]) == said


@pytest.mark.parametrize("error", [NotFoundError("body.message: x"), TurnwiseError("there is no run 'x'")])
def test_any_other_error_is_told_as_it_is(error: TurnwiseError) -> None:
    assert told(error, COMMANDS["submit"]) == str(error)


def test_a_missing_key_names_the_variable_and_a_wrong_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    error = UnauthorizedError("send the header")
    monkeypatch.delenv("TURNWISE_API_KEY", raising=False)
    monkeypatch.delenv("TURNWISE_AUTH_TOKEN", raising=False)
    assert "set TURNWISE_API_KEY" in told(error, COMMANDS["runs"])
    assert "header" not in told(error, COMMANDS["runs"])

    monkeypatch.setenv("TURNWISE_AUTH_TOKEN", "secret-word")
    assert told(error, COMMANDS["runs"]) == "the gateway refuses the key in TURNWISE_AUTH_TOKEN: send the header"
