"""Every operation of the API, asked for by those who may not. The list is the API's own description."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator

import pytest
from tests.support.access_parts import (
    ALL,
    MISSING,
    OPERATOR,
    OWNER,
    RIVAL,
    Example,
    Operation,
    World,
    operations,
    problem_of,
    world,
)
from tests.support.issuer import Issuer, signing

from turnwise.record.tenants.caller import Scope

__all__ = ["signing"]

# What a request for each operation looks like. A new operation is not tested before it stands here, and fails.
EXAMPLES = {
    "submit": Example(body={"task": "desk", "message": "hello"}),
    "submit_batch": Example(body={"runs": [{"task": "desk", "message": "hello"}]}),
    "open_batch": Example(body={"task": "desk", "key": "once"}),
    "list_batches": Example(),
    "show_batch": Example(named="batch"),
    "add_batch_items": Example(named="batch", body={"first": 2, "items": [{"message": "hello"}]}),
    "seal_batch": Example(named="batch"),
    "read_batch_results": Example(named="batch"),
    "cancel_batch": Example(named="batch"),
    "retry_batch": Example(named="batch"),
    "list_runs": Example(),
    "show_run": Example(named="waiting"),
    "change_run": Example(named="waiting", body={"limits": {"max_cost": "2.00"}}),
    "cancel_runs": Example(body={"filter": {"task": "desk"}, "dry_run": True}),
    "retry_runs": Example(body={"filter": {"task": "desk"}, "dry_run": True}),
    "cancel_run": Example(named="waiting"),
    "watch_events": Example(named="ended"),
    "show_events": Example(named="ended"),
    "show_transcript": Example(named="ended"),
    "show_timeline": Example(named="ended"),
    "log_page": Example(named="ended"),
    "answer_question": Example(named="waiting", body={"text": "yes"}),
    "list_inbox": Example(),
    "count_inbox": Example(),
    "resolve": Example(named="parked", body={"outcome": "again"}),
    "retry_run": Example(named="ended"),
    "fork_run": Example(named="ended", body={"at": 1}),
    "show_session": Example(named="session"),
    "delete_session": Example(named="session"),
    "create_schedule": Example(body={"name": "nightly", "task": "desk", "message": "hello", "cron": "@daily"}),
    "list_schedules": Example(),
    "show_schedule": Example(named="schedule"),
    "change_schedule": Example(named="schedule", body={"overlap": "queue"}),
    "remove_schedule": Example(named="old_schedule"),
    "pause_schedule": Example(named="schedule", body={"note": "holidays"}),
    "resume_schedule": Example(named="schedule"),
    "trigger_schedule": Example(named="schedule"),
    "list_ticks": Example(named="schedule"),
    "list_models": Example(),
    "show_model": Example(parts={"model": "desk"}),
    "create_chat_completion": Example(
        body={"model": "desk", "messages": [{"role": "user", "content": "hello"}]}, params={"wait": "0"}
    ),
    "create_response": Example(body={"model": "desk", "input": "hello"}, params={"wait": "0"}),
    "list_tasks": Example(),
    "show_task": Example(parts={"name": "desk"}),
    "list_workers": Example(operators=True),
    "list_queues": Example(),
    "show_sign_in": Example(),
    "sign_in": Example(),
    "sign_out": Example(),
    "show_series": Example(),
    "list_providers": Example(),
    "show_spenders": Example(),
    "create_key": Example(body={"name": "mine", "scopes": ["runs:read"]}),
    "list_keys": Example(),
    "rotate_key": Example(named="key"),
    "revoke_key": Example(named="key"),
    "list_tenants": Example(),
    "show_tenant": Example(named="tenant"),
    "list_outlines": Example(named="tenant"),
    "set_tenant": Example(named="tenant", body={"day_max_cost": "5.00"}, operators=True),
    "list_pauses": Example(),
    "set_pause": Example(parts={"kind": "tenant", "name": "flood-1"}, body={"reason": "flood"}, operators=True),
    "end_pause": Example(parts={"kind": "tenant", "name": "paused-1"}, operators=True),
    "show_usage": Example(),
    "list_audit": Example(),
    "create_webhook": Example(body={"url": "https://127.0.0.1/hook"}),
    "list_webhooks": Example(),
    "show_webhook": Example(named="webhook"),
    "change_webhook": Example(named="webhook", body={"description": "mine"}),
    "delete_webhook": Example(named="other_webhook"),
    "rotate_webhook": Example(named="webhook"),
    "test_webhook": Example(named="webhook"),
    "replay_deliveries": Example(named="webhook"),
    "list_deliveries": Example(named="webhook"),
    "replay_delivery": Example(named="delivery", parts={"webhook_id": "hook_1", "delivery_id": "{delivery_id}"}),
    "list_run_deliveries": Example(named="ended"),
}
OPERATIONS = operations()
GUARDED = [operation for operation in OPERATIONS if operation.guarded]
SCOPED = [operation for operation in GUARDED if operation.scopes]


def named(operation: Operation) -> str:
    return operation.id


every = pytest.mark.parametrize("operation", GUARDED, ids=named)
every_scoped = pytest.mark.parametrize("operation", SCOPED, ids=named)
# Makes what a request of that tenant, with these scopes, shows of itself.
Bearer = Callable[..., str]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, signing: Issuer) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("access"), oidc_issuer=signing.url, oidc_audience="turnwise") as made:
        yield made


@pytest.fixture(params=["key", "token"])
def bearer(request: pytest.FixtureRequest, here: World, signing: Issuer) -> Bearer:
    """An API key, and a token of an OpenID Connect issuer."""

    def key(tenant: str, *scopes: Scope) -> str:
        return here.key(tenant, *scopes)[1]

    def token(tenant: str, *scopes: Scope) -> str:
        return signing.token(tenant=tenant, scope=" ".join(scopes))

    return key if request.param == "key" else token


@pytest.fixture(scope="module")
def bad_bearers(here: World, signing: Issuer) -> dict[str, str | None]:
    """Return bearer values that are not a valid key or token."""
    revoked, revoked_key = here.key(OWNER, *ALL)
    here.gateway.store.operator().revoke_key(revoked.id)
    _, expired = here.key(OWNER, *ALL, lifetime=-1)
    good = here.key(OWNER, *ALL)[1]
    claims = {"tenant": OWNER, "scope": " ".join(ALL)}
    head, body, signature = signing.token(**claims).split(".")
    other_body = signing.token(**claims, sub="root").split(".")[1]
    assert body != other_body
    return {
        "none": None,
        "revoked key": revoked_key,
        "expired key": expired,
        "forged key": forged(good),
        "expired token": signing.token(**claims, exp=int(time.time()) - 60),
        "forged token": signing.token(**claims, signed_with="stranger"),
        "altered token": f"{head}.{other_body}.{signature}",
    }


def forged(key: str) -> str:
    """A key that is known, with a secret that is not."""
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def test_there_is_an_example_of_each_operation_that_is_not_open() -> None:
    assert {operation.id for operation in GUARDED} == set(EXAMPLES)


def test_only_probes_and_metrics_are_open(here: World) -> None:
    opened = {operation.path for operation in OPERATIONS if not operation.guarded}

    assert opened == {"/health/live", "/health/ready", "/metrics"}
    assert [here.gateway.http.get(path).status_code for path in sorted(opened)] == [200] * 3


@every
def test_who_has_no_valid_key_or_token_is_told_nothing(
    here: World, bad_bearers: dict[str, str | None], operation: Operation
) -> None:
    before = here.possessions()

    answers = {what: here.send(operation, EXAMPLES[operation.id], key) for what, key in bad_bearers.items()}

    assert {what: answer.status_code for what, answer in answers.items()} == dict.fromkeys(bad_bearers, 401)
    for answer in answers.values():
        assert problem_of(answer)["code"] == "unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert here.possessions() == before


def test_what_is_almost_a_key_is_none(here: World) -> None:
    good = here.key(OWNER, *ALL)[1]
    prefix = good[: len("tw_") + 12]
    hashed = hashlib.sha256(good.encode()).hexdigest()
    almost = [good[:-1], f"{good}0", good.upper(), prefix, f"{prefix}_{hashed}", f"tw_{'0' * 12}_{'0' * 64}", "sesame"]
    headers = [f"Bearer {key}" for key in almost] + [good, f"Basic {good}", "Bearer", f"Bearer {good} {good}"]

    answers = [here.gateway.http.get("/v1/runs", headers={"Authorization": value}).status_code for value in headers]

    assert set(answers) == {401}
    assert here.gateway.http.get("/v1/runs", headers={"Authorization": f"bearer  {good}"}).status_code == 200


def test_what_sends_or_answers_with_runs_of_others_needs_both_scopes() -> None:
    both = {one.id for one in GUARDED if set(one.scopes) == {"runs:read", "runs:write"}}

    assert both == {
        "create_chat_completion",
        "create_response",
        "create_webhook",
        "change_webhook",
        "rotate_webhook",
        "test_webhook",
        "replay_deliveries",
        "replay_delivery",
    }


def test_only_who_one_is_needs_no_scope() -> None:
    assert {one.path for one in GUARDED if not one.scopes} == {"/v1/sign-in"}


@every_scoped
def test_a_scope_that_is_missing_is_named(here: World, bearer: Bearer, operation: Operation) -> None:
    for missing in operation.scopes:
        others = bearer(OWNER, *(scope for scope in ALL if scope != missing))
        before = here.possessions()

        answer = here.send(operation, EXAMPLES[operation.id], others)

        assert (answer.status_code, problem_of(answer)["code"]) == (403, "forbidden")
        assert missing in problem_of(answer)["detail"]
        assert here.possessions() == before


@every
def test_another_tenant_finds_nothing_and_changes_nothing(here: World, bearer: Bearer, operation: Operation) -> None:
    rival = bearer(RIVAL, *ALL)
    example, before = EXAMPLES[operation.id], here.possessions()

    answer = here.send(operation, example, rival)

    assert here.possessions() == before
    for mine in here.owned.values():
        # What a path names is repeated in the answer, as it is for what there is not; and a log of what one has tried
        # oneself holds these paths.
        assert mine not in answer.text or mine in str(answer.request.url) or operation.id == "list_audit"
    if example.operators:
        assert answer.status_code == 403
    elif example.named is not None:
        assert answer.status_code == 404
        assert _without_names(here, answer.text) == _without_names(
            here, here.send(operation, example, rival, missing=True).text
        )


def _without_names(here: World, text: str) -> str:
    names = {*here.owned.values(), *MISSING.values()}
    names |= {name.partition(".")[0] for name in names}  # an ask's id begins with its run's
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "X")
    return text


@pytest.mark.parametrize("operation", [one for one in GUARDED if EXAMPLES[one.id].operators], ids=named)
def test_what_is_for_operators_is_for_no_other_administrator(here: World, bearer: Bearer, operation: Operation) -> None:
    answer = here.send(operation, EXAMPLES[operation.id], bearer(OWNER, *ALL))

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@every_scoped
def test_no_other_scope_than_the_named_ones_is_needed(here: World, operation: Operation) -> None:
    example = EXAMPLES[operation.id]
    _, key = here.key(OPERATOR if example.operators else OWNER, *operation.scopes)

    answer = here.send(operation, example, key)

    assert answer.status_code not in (401, 403, 404), answer.text
    assert answer.status_code in operation.statuses
