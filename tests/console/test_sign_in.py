"""Signing in and out in a browser, and what a page of someone else can do with it there."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, expect
from tests.console.conftest import Faults, Opening
from tests.console.guarded import sign_in
from tests.support.access_parts import ALL, OPERATOR, OWNER, RIVAL, World, world
from tests.support.gateway_parts import served
from tests.support.issuer import Issuer, signing

from turnwise.record.database.access_schema import api_keys
from turnwise.record.tenants.caller import ADMIN, RUNS_READ

__all__ = ["signing"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, signing: Issuer) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("sign-in")
    with world(folder, oidc_issuer=signing.url, oidc_audience="turnwise") as made:
        yield made


def test_one_signs_in_where_one_was_and_out_again(here: World, opened: Opening) -> None:
    _, secret = here.key(OPERATOR, *ALL)
    page = opened(f"{here.gateway.base_url}/#/administration/audit")
    field = page.get_by_label("API key or token")

    expect(field).to_be_focused()
    assert (field.get_attribute("type"), field.get_attribute("autocomplete")) == ("password", "current-password")
    for wrong, told in {
        secret[:-1]: "This key is not accepted",
        "sesame": "neither a key nor the server's token",
        "a.b.c": "This token is not accepted",
        "schlüssel": "This is not a key",
    }.items():
        sign_in(page, wrong)
        expect(page.get_by_role("alert")).to_contain_text(told)
    sign_in(page, f"  Bearer {secret} ")
    expect(page.get_by_role("tab", name="Audit log")).to_have_attribute("aria-selected", "true")
    assert secret not in page.url
    assert secret not in page.content()
    assert secret not in page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")

    page.reload()
    page.get_by_role("button", name="key:").click()
    dialog = page.get_by_role("dialog", name="You are signed in")
    expect(dialog).to_contain_text("operator")
    expect(dialog).to_contain_text("administer keys, limits and the audit log")
    dialog.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.reload()
    expect(field).to_be_visible()
    assert page.context.cookies() == []


def test_who_is_signed_out_by_the_end_of_a_key_returns_to_the_page(here: World, opened: Opening) -> None:
    record, secret = here.key(OWNER, *ALL)
    page = opened(f"{here.gateway.base_url}/#/runs?status=waiting")
    sign_in(page, secret)
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()

    with here.gateway.store.database.begin() as connection:
        connection.execute(sa.update(api_keys).where(api_keys.c.id == record.id).values(expires_at=1.0))

    expect(page.get_by_text("Your sign-in has ended.")).to_be_visible()
    expect(page.get_by_text(f"key:{record.prefix}")).to_be_visible()
    sign_in(page, secret)
    expect(page.get_by_role("alert")).to_contain_text("mistyped, revoked or expired")
    sign_in(page, here.key(OWNER, *ALL)[1])
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    assert page.url.endswith("/#/runs?status=waiting")


def test_a_run_that_is_watched_is_left_when_its_key_is_revoked(here: World, opened: Opening) -> None:
    record, secret = here.key(OWNER, *ALL)
    page = opened(f"{here.gateway.base_url}/#/runs/{here.owned['waiting']}")
    sign_in(page, secret)
    expect(page.get_by_role("heading", level=1)).to_contain_text("triage")

    here.gateway.store.operator().revoke_key(record.id)

    expect(page.get_by_text("Your sign-in has ended.")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("triage")


def test_a_token_of_an_issuer_is_taken_and_one_that_has_expired_is_told(
    here: World, opened: Opening, signing: Issuer
) -> None:
    page = opened(here.gateway.base_url)

    sign_in(page, signing.token(exp=int(time.time()) - 600))
    expect(page.get_by_role("alert")).to_contain_text("expired")
    sign_in(page, signing.token(scope="openid"))
    expect(page.get_by_text("There is nothing that you may see")).to_be_visible()
    page.get_by_role("button", name="oidc:ann").click()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, signing.token(groups=["a-group-of-people"] * 200))
    expect(page.get_by_role("alert")).to_contain_text("sign in with an API key")
    sign_in(page, signing.token(scope="runs:read"))
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_pages_are_those_of_ones_scopes(here: World, opened: Opening) -> None:
    page = opened(f"{here.gateway.base_url}/#/administration")
    pages = page.get_by_role("navigation", name="Pages")

    sign_in(page, here.key(OPERATOR, RUNS_READ)[1])
    expect(page.get_by_text("does not open this page")).to_be_visible()
    expect(page.get_by_text("the scope admin")).to_be_visible()
    expect(pages.get_by_role("link", name="Administration")).to_have_count(0)
    page.get_by_role("button", name="key:").click()
    page.get_by_role("button", name="Sign out").click()

    sign_in(page, here.key(OPERATOR, ADMIN)[1])
    page.get_by_role("tab", name="Usage").click()
    expect(page.get_by_text("Usage needs another scope")).to_be_visible()
    expect(pages.get_by_role("link", name="Runs")).to_have_count(0)


def test_a_second_tenant_sees_nothing_of_the_first(here: World, opened: Opening) -> None:
    page = opened(f"{here.gateway.base_url}/#/runs")
    sign_in(page, here.key(RIVAL, *ALL)[1])

    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    page.get_by_role("link", name="Administration").click()
    keys = page.get_by_role("table", name="Keys")
    expect(keys.get_by_role("row").first).to_be_visible()
    expect(keys).not_to_contain_text(OWNER)
    page.goto(f"{here.gateway.base_url}/#/administration/tenants/{OWNER}")
    expect(page.get_by_role("alert")).to_contain_text("there is no tenant")
    page.get_by_role("tab", name="Audit log").click()
    expect(page.get_by_role("table", name="Audit log")).to_contain_text("sign_in")
    assert OWNER not in page.get_by_role("main").inner_text()


def test_below_a_path_one_signs_in_too(tmp_path: Path, opened: Opening) -> None:
    with served(tmp_path, root_path="/team", auth="token", auth_token="open sesame; please") as gateway:
        page = opened(f"{gateway.base_url}/team/")
        sign_in(page, "open sesame; please")

        expect(page.get_by_role("button", name="token")).to_be_visible()
        assert [cookie.get("path") for cookie in page.context.cookies()] == ["/team"]


def test_a_server_that_comes_late_is_asked_again(here: World, opened: Opening, faults: Faults) -> None:
    page = opened(f"{here.gateway.base_url}/health/live")
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(here.gateway.base_url)
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/v1/**")

    expect(page.get_by_label("API key or token")).to_be_visible()
    faults.found.clear()


def test_where_no_one_signs_in_one_is_told_why(tmp_path: Path, opened: Opening) -> None:
    with served(tmp_path) as gateway:
        page = opened(gateway.base_url)
        page.get_by_role("button", name="This machine").click()

        expect(page.get_by_role("dialog")).to_contain_text("TURNWISE_AUTH=keys")
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


@contextmanager
def other_site(body: str) -> Iterator[str]:
    """A page of another port of this machine, which to cookies is the same site."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>other</title>{body}".encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_a_stranger_at_the_door_is_not_written_down_as_turned_away(
    here: World, opened: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    page = opened(here.gateway.base_url)
    expect(page.get_by_label("API key or token")).to_be_visible()

    assert "turned away" not in caplog.text


def test_the_page_of_the_api_needs_no_other_server_and_calls_it_as_who_is_signed_in(
    here: World, opened: Opening
) -> None:
    _, secret = here.key(OWNER, RUNS_READ)
    page = opened(here.gateway.base_url)
    sign_in(page, secret)
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{here.gateway.base_url}/docs")
    operation = page.locator("#operations-runs-list_runs")
    operation.locator(".opblock-summary").click()
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/v1/runs*") as answer:
        operation.get_by_role("button", name="Execute").click()

    assert answer.value.status == 200
    expect(operation.locator(".live-responses-table")).to_contain_text("next_cursor")
    assert [url for url in asked if not url.startswith((here.gateway.base_url, "data:"))] == []


_TRIES = """async (base) => {
  const tried = async (path, options) => {
    try {
      const answer = await fetch(base + path, { credentials: "include", ...options });
      return answer.type === "opaque" ? "nothing" : await answer.text();
    } catch {
      return "nothing";
    }
  };
  const body = JSON.stringify({ task: "desk", message: "from elsewhere" });
  return [
    await tried("/v1/sign-in"),
    await tried("/v1/runs", { mode: "no-cors" }),
    await tried("/v1/runs", { method: "POST", mode: "no-cors", body }),
    await tried("/v1/runs", { method: "POST", body, headers: { "X-Turnwise-Console": "1" } }),
  ];
}"""


def test_a_page_of_another_origin_reads_and_changes_nothing(here: World, browser: Browser, opened: Opening) -> None:
    base = here.gateway.base_url
    page = opened(base)
    sign_in(page, here.key(OWNER, *ALL)[1])
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    before = here.possessions()
    form = f"""<form method="post" action="{base}/v1/runs" enctype="text/plain">
      <input name='{{"task":"desk","message":"from elsewhere","metadata":{{"x":"' value='"}}}}'></form>"""
    with other_site(form) as url:
        elsewhere = browser.new_context(storage_state=page.context.storage_state()).new_page()
        elsewhere.goto(url)
        got = elsewhere.evaluate(_TRIES, base)
        with elsewhere.expect_navigation():
            elsewhere.evaluate("document.forms[0].submit()")
        answered = elsewhere.content()
        elsewhere.context.close()

    assert got == ["nothing"] * 4
    assert "may not use this browser's sign-in" in answered
    assert here.possessions() == before
