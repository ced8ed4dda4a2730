"""Browsers that are signed in by a cookie: what it lets in, how it ends, and what other pages cannot do with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.integration.test_open_streams_end import PATIENCE, watching
from tests.support.access_parts import ALL, OPERATOR, OWNER, RIVAL, World, world
from tests.support.gateway_parts import served
from tests.support.issuer import Issuer, signing

from turnwise.record.tenants.caller import RUNS_READ, RUNS_WRITE

__all__ = ["signing"]

NAME = "turnwise-sign-in"
# The headers of the console's own requests, in a browser that serves it from here.
CONSOLE = {"X-Turnwise-Console": "1", "Sec-Fetch-Site": "same-origin"}
SUBMISSION = {"task": "desk", "message": "hello"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, signing: Issuer) -> Iterator[World]:
    settings = {"oidc_issuer": signing.url, "oidc_audience": "turnwise", "trusted_proxies": ["127.0.0.1"]}
    with world(tmp_path_factory.mktemp("sign-in"), **settings) as made:
        yield made


@pytest.fixture
def browser(here: World) -> Iterator[httpx2.Client]:
    """A client that keeps cookies as a browser does."""
    with httpx2.Client(base_url=here.gateway.base_url, timeout=30) as made:
        yield made


def sign_in(browser: httpx2.Client, token: str, **headers: str) -> httpx2.Response:
    answer = browser.put("/v1/sign-in", headers={"Authorization": f"Bearer {token}"} | headers)
    assert answer.status_code == 200, answer.text
    return answer


def test_a_key_is_kept_in_a_cookie_that_no_script_and_no_other_site_gets(here: World, browser: httpx2.Client) -> None:
    _, secret = here.key(OWNER, RUNS_READ)

    answer = sign_in(browser, secret)

    assert answer.headers["set-cookie"] == f"{NAME}={secret}; HttpOnly; Path=/; SameSite=strict"
    assert secret not in answer.text
    assert browser.get("/v1/runs").status_code == 200


def test_one_is_told_who_one_is(here: World, browser: httpx2.Client) -> None:
    record, secret = here.key(OPERATOR, "runs:write", "admin", lifetime=600)
    sign_in(browser, secret)

    told = browser.get("/v1/sign-in").json()

    assert told.pop("expires_at").startswith("20")
    assert told == {
        "name": f"key:{record.prefix}",
        "tenant": OPERATOR,
        "scopes": ["runs:write", "admin"],
        "operator": True,
        "authentication": "keys",
        "by_cookie": True,
    }


def test_a_token_of_an_issuer_signs_in_as_well(here: World, browser: httpx2.Client, signing: Issuer) -> None:
    expires = int(time.time()) + 60
    sign_in(browser, signing.token(exp=expires))

    told = browser.get("/v1/sign-in").json()

    assert (told["name"], told["tenant"], told["by_cookie"]) == ("oidc:ann", OWNER, True)
    assert told["expires_at"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expires))


def test_a_token_that_no_cookie_could_hold_is_refused(here: World, browser: httpx2.Client, signing: Issuer) -> None:
    token = signing.token(groups=["a-group-of-people"] * 200)

    answer = browser.put("/v1/sign-in", headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["sesame", f"tw_{'0' * 12}_{'0' * 64}", "a.b.c"])
def test_no_cookie_is_set_for_what_lets_no_one_in(browser: httpx2.Client, token: str) -> None:
    answer = browser.put("/v1/sign-in", headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers", [{"X-Forwarded-Proto": "https"}, {"Origin": "https://turnwise.example"}], ids=["proxy", "page"]
)
def test_the_cookie_of_a_page_that_came_by_https_is_sent_only_so(
    here: World, browser: httpx2.Client, headers: dict[str, str]
) -> None:
    _, secret = here.key(OWNER, RUNS_READ)

    cookie = sign_in(browser, secret, **headers).headers["set-cookie"]

    assert cookie == f"__Host-{NAME}={secret}; HttpOnly; Path=/; SameSite=strict; Secure"
    by_proxy = {"X-Forwarded-Proto": "https"}
    sent, planted = f"__Host-{NAME}={secret}", f"{NAME}={secret}"
    assert httpx2.get(f"{here.gateway.base_url}/v1/runs", headers={"Cookie": sent} | by_proxy).status_code == 200
    # A page of a sibling domain could set this one, and have its reader work for someone else.
    assert httpx2.get(f"{here.gateway.base_url}/v1/runs", headers={"Cookie": planted} | by_proxy).status_code == 401


def test_below_a_path_the_cookie_is_for_that_path(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "auth": "token",
        "auth_token": 'se;same "x" 100%',
        "root_path": "/team",
        "trusted_proxies": ["127.0.0.1"],
    }
    with served(tmp_path, **settings) as gateway:
        bearer = {"Authorization": 'Bearer se;same "x" 100%'}
        plain = gateway.http.put("/team/v1/sign-in", headers=bearer)
        secure = gateway.http.put("/team/v1/sign-in", headers=bearer | {"X-Forwarded-Proto": "https"})

        assert plain.headers["set-cookie"].endswith("; HttpOnly; Path=/team; SameSite=strict")
        assert secure.headers["set-cookie"].startswith(f"__Secure-{NAME}=")
        assert gateway.http.get("/team/v1/runs").status_code == 200


def test_signing_out_takes_the_cookie_back(here: World, browser: httpx2.Client) -> None:
    _, secret = here.key(OWNER, *ALL)
    sign_in(browser, secret)

    answer = browser.delete("/v1/sign-in", headers=CONSOLE)

    assert (answer.status_code, dict(browser.cookies)) == (204, {})
    assert browser.get("/v1/runs").status_code == 401
    assert browser.get("/v1/runs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_the_audit_log_has_who_signed_in_and_out(here: World, browser: httpx2.Client) -> None:
    record, secret = here.key(OWNER, *ALL)
    sign_in(browser, secret)
    rows = browser.get("/v1/audit", params={"limit": 5}).json()["items"]
    browser.delete("/v1/sign-in", headers=CONSOLE)
    later = here.gateway.http.get("/v1/audit", headers={"Authorization": f"Bearer {secret}"}).json()["items"]

    assert (rows[0]["action"], rows[0]["actor"], rows[0]["outcome"]) == ("sign_in", f"key:{record.prefix}", "done")
    assert (later[0]["action"], later[0]["tenant"]) == ("sign_out", OWNER)
    assert secret not in str(later)


def _revoke(here: World, key_id: str) -> None:
    here.gateway.store.operator().revoke_key(key_id)


def _replace(here: World, key_id: str) -> None:
    here.gateway.store.operator().rotate_key(key_id, overlap=0.0, created_by="test")


@pytest.mark.parametrize("end", [_revoke, _replace], ids=["revoked", "replaced"])
def test_a_browser_is_signed_out_with_its_key(
    here: World, browser: httpx2.Client, end: Callable[[World, str], None]
) -> None:
    record, secret = here.key(OWNER, *ALL)
    sign_in(browser, secret)
    run = here.owned["waiting"]
    with watching(here.gateway.base_url, run, {"Cookie": f"{NAME}={secret}"}) as (lines, ended):
        end(here, record.id)

        assert ended.wait(PATIENCE)
        answer = browser.get("/v1/runs")
        while answer.status_code == 200:  # at most for the 5 s in which the gateway remembers a key
            answer = browser.get("/v1/runs")

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert dict(browser.cookies) == {}
    assert "id: 1" in lines


@pytest.mark.parametrize("lifetime", [-1.0, 0.0])
def test_the_cookie_of_an_expired_key_lets_no_one_in(here: World, browser: httpx2.Client, lifetime: float) -> None:
    _, secret = here.key(OWNER, *ALL, lifetime=lifetime)

    assert browser.get("/v1/runs", headers={"Cookie": f"{NAME}={secret}"}).status_code == 401


def test_the_header_decides_alone_wherever_there_is_one(here: World) -> None:
    _, mine = here.key(OWNER, *ALL)
    record, theirs = here.key(RIVAL, *ALL)
    url, cookie = f"{here.gateway.base_url}/v1/sign-in", {"Cookie": f"{NAME}={mine}"}

    by_header = httpx2.get(url, headers=cookie | {"Authorization": f"Bearer {theirs}"}).json()
    wrong = [
        httpx2.get(url, headers=cookie | {"Authorization": value}).status_code
        for value in (f"Bearer {theirs[:-1]}", "Bearer", "", "Basic dXNlcjpwYXNz", f"Bearer x, Bearer {mine}")
    ]

    assert (by_header["name"], by_header["tenant"], by_header["by_cookie"]) == (f"key:{record.prefix}", RIVAL, False)
    assert set(wrong) == {401}


def test_another_tenants_cookie_shows_the_other_tenant_alone(here: World, browser: httpx2.Client) -> None:
    _, theirs = here.key(RIVAL, *ALL)
    sign_in(browser, theirs)

    assert browser.get("/v1/runs").json()["items"] == []
    assert browser.get(f"/v1/runs/{here.owned['waiting']}").status_code == 404
    assert browser.post(f"/v1/runs/{here.owned['waiting']}/cancel", headers=CONSOLE).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Turnwise-Console": "0"},
        {"Sec-Fetch-Site": "same-origin"},
        CONSOLE | {"Sec-Fetch-Site": "cross-site"},
        CONSOLE | {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:3000"},
        {"X-Turnwise-Console": "1", "Origin": "https://evil.example"},
        {"X-Turnwise-Console": "1", "Origin": "null"},
        {"X-Turnwise-Console": "1", "Origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_foreign_page_changes_nothing_with_a_cookie(here: World, headers: dict[str, str], method: str) -> None:
    _, secret = here.key(OPERATOR, *ALL)
    cookie = {"Cookie": f"{NAME}={secret}"}
    before = here.possessions()
    paths = {
        "POST": "/v1/runs",
        "PUT": f"/v1/tenants/{OWNER}",
        "PATCH": f"/v1/runs/{here.owned['waiting']}",
        "DELETE": f"/v1/keys/{here.owned['key']}",
    }

    answer = here.gateway.http.request(method, paths[method], json=SUBMISSION, headers=cookie | headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert here.possessions() == before


def test_the_form_of_another_site_submits_nothing(here: World) -> None:
    _, secret = here.key(OWNER, *ALL)
    headers = {"Cookie": f"{NAME}={secret}", "Content-Type": "text/plain"}

    answer = here.gateway.http.post("/v1/runs", content='{"task":"desk","message":"x"}', headers=headers)

    assert answer.status_code == 403


@pytest.mark.parametrize("origin", [None, "own"])
def test_the_console_itself_changes_what_it_may(here: World, browser: httpx2.Client, origin: str | None) -> None:
    sign_in(browser, here.key(OWNER, RUNS_READ, RUNS_WRITE)[1])
    plain_http = {"X-Turnwise-Console": "1"} | ({} if origin is None else {"Origin": here.gateway.base_url})
    rewritten = CONSOLE | {"Origin": "https://turnwise.example"}  # a proxy gave the request another host

    for headers in (CONSOLE, plain_http, rewritten):
        assert browser.post("/v1/runs", json=SUBMISSION, headers=headers).status_code == 202
    assert browser.post("/v1/keys", json={"name": "x", "scopes": ["admin"]}, headers=CONSOLE).status_code == 403


def test_no_other_origin_is_told_anything(here: World, browser: httpx2.Client) -> None:
    sign_in(browser, here.key(OWNER, *ALL)[1])
    evil = {"Origin": "https://evil.example"}
    asks = evil | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-turnwise-console"}

    own, foreign = browser.get("/v1/runs"), browser.get("/v1/runs", headers=evil)
    same_site = browser.get("/v1/runs", headers={"Sec-Fetch-Site": "same-site"})
    typed = browser.get("/v1/runs", headers={"Sec-Fetch-Site": "none"})
    preflight = browser.options("/v1/runs", headers=asks)

    assert [answer.status_code for answer in (own, foreign, same_site, typed)] == [200, 403, 403, 200]
    assert preflight.status_code == 403
    for answer in (own, foreign, same_site, preflight):
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert own.headers["cache-control"] == "no-store"
    assert own.headers["cross-origin-resource-policy"] == "same-origin"
    assert own.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "cookie",
    [
        "{name}=",
        "{name}={secret}; {name}={secret}",
        "{name}={other}; {name}={secret}",
        '{name}="{secret}"',
        "{name}=%ff%fe",
        "{name}=%74w_",
        "{name}={secret}%0a",
        "{name}=" + "a" * 5_000,
        "{name}=" + "a" * 50_000,
        "other={secret}; {name}x={secret}",
        "{name} x={secret}",
        "x={name}={secret}",
        "{NAME}={secret}",
    ],
)
def test_a_cookie_that_is_not_just_as_it_was_set_lets_no_one_in(here: World, cookie: str) -> None:
    secret, other = here.key(OWNER, *ALL)[1], here.key(RIVAL, *ALL)[1]
    sent = cookie.format(name=NAME, NAME=NAME.upper(), secret=secret, other=other)

    answer = httpx2.get(f"{here.gateway.base_url}/v1/runs", headers={"Cookie": sent})

    assert answer.status_code == 401, answer.text
    assert secret not in answer.text


def test_two_headers_of_cookies_are_as_one(here: World) -> None:
    secret, other = here.key(OWNER, *ALL)[1], here.key(RIVAL, *ALL)[1]
    mine, beside = ("Cookie", f"{NAME}={secret}"), ("Cookie", "theme=dark")
    url = f"{here.gateway.base_url}/v1/runs"

    assert httpx2.get(url, headers=[beside, mine]).status_code == 200
    assert httpx2.get(url, headers=[("Cookie", f"{NAME}={other}"), mine]).status_code == 401


def test_where_no_one_signs_in_one_is_told_so(tmp_path: Path) -> None:
    with served(tmp_path) as gateway:
        told = gateway.http.get("/v1/sign-in").json()
        tried = gateway.http.put("/v1/sign-in", headers={"Authorization": "Bearer x"})
        out = gateway.http.delete("/v1/sign-in")

    assert told == {
        "name": "anybody",
        "tenant": OPERATOR,
        "scopes": list(ALL),
        "operator": True,
        "expires_at": None,
        "authentication": "none",
        "by_cookie": False,
    }
    assert (tried.status_code, out.status_code) == (200, 204)
    assert "set-cookie" not in tried.headers
