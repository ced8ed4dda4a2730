"""The console's files as the gateway sends them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.support.gateway_parts import Served, served
from tests.support.path_proxy import PathProxy

from turnwise_gateway import console
from turnwise_gateway.console.files import console_files
from turnwise_gateway.console.headers import content_security_policy
from turnwise_gateway.console.modules import FIRST, OTHERS

TOKEN = "a-token"
ROOT = "/team/turnwise"
# Of all files as they are sent, and of those of a first visit.
MOST_BYTES, MOST_AT_FIRST = 200_000, 60_000


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("console"), auth="token", auth_token=TOKEN) as made:
        yield made


def assets_of(page: str) -> list[str]:
    return re.findall(r'(?:src|href)="([^"]+)"', page)


def test_without_a_key_the_page_and_its_files_are_open_and_the_data_is_not(gateway: Served) -> None:
    page = gateway.http.get("/")
    assets = assets_of(page.text)

    assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    assert any(one.endswith("console.js") for one in assets)
    assert {gateway.http.get(f"/{one}").status_code for one in assets} == {200}
    assert gateway.http.get("/v1/runs").status_code == 401


def test_every_file_forbids_scripts_of_others_and_frames(gateway: Served) -> None:
    app = f"/console/{console_files().digest}/app.js"
    policies = {"/": content_security_policy(console_files().script), app: content_security_policy()}
    for path, policy in policies.items():
        headers = gateway.http.get(path).headers
        assert headers["content-security-policy"] == policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "unsafe" not in policy


def test_the_page_is_asked_for_again_and_its_files_are_kept(gateway: Served) -> None:
    page = gateway.http.get("/")
    again = gateway.http.get("/", headers={"If-None-Match": page.headers["etag"]})
    file = gateway.http.get(f"/console/{console_files().digest}/app.js")
    other_version = gateway.http.get("/console/0000000000000000/app.js")

    assert page.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert "immutable" in file.headers["cache-control"]
    assert other_version.content == file.content
    assert other_version.headers["cache-control"] == "no-cache"


def test_a_file_is_sent_compressed_to_those_who_take_that(gateway: Served) -> None:
    path = f"{gateway.base_url}/console/{console_files().digest}/app.js"
    with httpx2.Client(headers={"Accept-Encoding": "identity"}) as plain:
        whole = plain.get(path)
    with httpx2.Client(headers={"Accept-Encoding": "gzip"}) as zipping, zipping.stream("GET", path) as sent:
        raw = b"".join(sent.iter_raw())

    assert "content-encoding" not in whole.headers
    assert sent.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == whole.content


@pytest.mark.parametrize("path", ["nothing.js", "..%2f..%2fconsole.py", "%2fetc%2fpasswd", "", "index.html"])
def test_no_other_file_is_sent(gateway: Served, path: str) -> None:
    answer = gateway.http.get(f"/console/{console_files().digest}/{path}")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("root", ["", ROOT])
def test_the_policy_names_the_one_script_in_the_page(root: str) -> None:
    page = console_files().page_for(root, "none").body.decode()
    [script] = re.findall(r"<script(?![^>]*src=)[^>]*>(.*?)</script>", page, re.DOTALL)

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert console_files().script == f"'sha256-{digest}'"


def test_no_other_script_or_style_stands_in_the_page_and_no_file_makes_markup_of_text() -> None:
    page = console_files().page.body.decode()

    assert len(re.findall(r"<script", page)) == 2
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    for path, file in console_files().others.items():
        if path.endswith(".js") and not path.startswith("vendor/") and path not in (FIRST, OTHERS):
            text = file.body.decode()
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function", text), (
                path
            )


def test_all_files_together_stay_small() -> None:
    files = console_files()
    first = [path.split("/", 2)[2] for path in assets_of(files.page_for("", "none").body.decode())]

    mine = {path for path in files.others if "swagger" not in path}  # of another page
    sent = {FIRST, OTHERS} | {path for path in mine if not path.endswith(("js", ".json")) or "iife" in path}

    assert sum(len(files.others[path].zipped) for path in sent) < MOST_BYTES
    assert sum(len(files.others[path].zipped) for path in first) < MOST_AT_FIRST


@pytest.mark.parametrize("strips", [True, False], ids=["stripped", "left"])
@pytest.mark.parametrize("path", [ROOT, f"{ROOT}/"])
def test_below_a_path_of_a_proxy_the_page_finds_its_files(tmp_path: Path, path: str, strips: bool) -> None:
    with (
        served(tmp_path, root_path=ROOT) as behind,
        PathProxy(behind.base_url, ROOT, strips=strips) as proxy,
        httpx2.Client(base_url=proxy.origin, follow_redirects=True) as browser,
    ):
        page = browser.get(path)
        found = [browser.get(str(page.url.join(one))).status_code for one in assets_of(page.text)]

    assert set(found) == {200}


def test_no_two_pages_style_the_same_class() -> None:
    styles = Path(console.__file__).parent / "static/styles"
    owners: dict[str, set[str]] = {}
    for file in styles.glob("*.css"):
        for name in re.findall(r"^\s*\.([\w-]+)[^{}]*\{", file.read_text(), re.MULTILINE):
            owners.setdefault(name, set()).add(file.name)
    basic = {"tokens.css", "base.css", "shell.css", "parts.css", "lists.css"}

    assert {name: files for name, files in owners.items() if not files & basic and len(files) > 1} == {}
