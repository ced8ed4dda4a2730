"""The files of batches at a provider: none is left that no batch needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import openai
import pytest
from pydantic import SecretStr

from turnwise.errors import ModelRequestError, ModelUnavailableError
from turnwise.models.openai.batches import RemoteBatch, RemoteBatches
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import client_over

Answers = Callable[[str], httpx2.Response]
CONFIG = OpenAIGPTConfig(api_base="https://provider.example/v1", api_key=SecretStr("a key"))


def file(id: str, name: str, created_at: int = 1_000_000) -> dict[str, object]:
    whole = {"object": "file", "bytes": 1, "created_at": created_at, "purpose": "batch", "status": "processed"}
    return {"id": id, "filename": name, **whole}


def batches(asked: list[str], answers: Answers) -> RemoteBatches:
    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.path.removeprefix('/v1')}")
        return answers(asked[-1])

    @contextmanager
    def connected(config: OpenAIGPTConfig) -> Iterator[openai.OpenAI]:
        yield client_over(httpx2.MockTransport(answer), config)

    return RemoteBatches(CONFIG, connected)


def test_answers_with_separators_of_lines_and_paragraphs_stay_whole() -> None:
    remote = RemoteBatch(id="r", file_id="f1", status="completed", files=("f2",))
    texts = ["one\u2028two", "one\u2029two", "one\x85two", "one"]
    lines = [
        json.dumps({"custom_id": str(no), "response": {"status_code": 200, "body": {"text": text}}}, ensure_ascii=False)
        for no, text in enumerate(texts)
    ]

    content = "\r\n".join(lines) + "\n\n"
    found = list(batches([], lambda to: httpx2.Response(200, content=content.encode())).results(remote))

    assert [(line.custom_id, line.completion) for line in found] == [
        (str(no), {"text": text}) for no, text in enumerate(texts)
    ]


def test_the_file_of_a_refused_batch_is_deleted() -> None:
    def answers(to: str) -> httpx2.Response:
        return httpx2.Response(400) if to == "POST /batches" else httpx2.Response(200, json=file("f1", "b.jsonl"))

    asked: list[str] = []
    with pytest.raises(ModelRequestError):
        batches(asked, answers).submit("b", [("ask", {})])
    assert asked == ["POST /files", "POST /batches", "DELETE /files/f1"]


@pytest.mark.parametrize("status", [None, 503])
def test_the_file_stays_whose_batch_may_have_been_made(status: int | None) -> None:
    def answers(to: str) -> httpx2.Response:
        if to != "POST /batches":
            return httpx2.Response(200, json=file("f1", "b.jsonl"))
        if status is None:
            raise httpx2.ReadTimeout("no answer")
        return httpx2.Response(status)

    asked: list[str] = []
    with pytest.raises(ModelUnavailableError):
        batches(asked, answers).submit("b", [("ask", {})])
    assert asked == ["POST /files", "POST /batches"]


def test_files_are_deleted_by_their_name_and_no_older_ones_are_looked_for() -> None:
    listed = [file("other", "c.jsonl"), file("mine", "b.jsonl"), file("old", "d.jsonl", 1), file("older", "b.jsonl", 1)]

    def answers(to: str) -> httpx2.Response:
        return httpx2.Response(200, json={"object": "list", "has_more": False, "data": listed})

    asked: list[str] = []
    batches(asked, answers).clear("b", made_at=1_000_000.0)
    assert asked == ["GET /files", "DELETE /files/mine"]


def test_a_provider_that_lists_no_files_is_left_alone() -> None:
    asked: list[str] = []
    batches(asked, lambda to: httpx2.Response(404)).clear("b", made_at=0.0)
    assert asked == ["GET /files"]


def left(caplog: pytest.LogCaptureFixture) -> list[list[str]]:
    """The files that each line of the log names as left at the provider."""
    return [line.files for line in caplog.records if getattr(line, "action", "") == "provider_files_left"]  # type: ignore[attr-defined]


def unreachable(to: str) -> httpx2.Response:
    raise httpx2.ConnectError("no route")


def late(to: str) -> httpx2.Response:
    raise httpx2.ReadTimeout("no answer")


@pytest.mark.parametrize("refused", [lambda _: httpx2.Response(401), lambda _: httpx2.Response(500), unreachable, late])
def test_files_that_could_not_be_deleted_are_logged_together(
    caplog: pytest.LogCaptureFixture, refused: Answers
) -> None:
    remote = RemoteBatch(id="r", file_id="f1", status="completed", files=("f2", "f3"))

    def answers(to: str) -> httpx2.Response:
        return httpx2.Response(404) if to == "DELETE /files/f2" else refused(to)

    asked: list[str] = []
    batches(asked, answers).forget(remote)
    assert asked == ["DELETE /files/f1", "DELETE /files/f2", "DELETE /files/f3"]
    assert left(caplog) == [["f1", "f3"]]


def test_files_that_are_not_there_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    remote = RemoteBatch(id="r", file_id="f1", status="completed", files=("f2",))
    batches([], lambda to: httpx2.Response(404)).forget(remote)
    assert left(caplog) == []


@pytest.mark.parametrize(("status", "lines"), [(404, []), (401, [[]]), (500, [[]])])
def test_a_provider_that_refuses_to_list_its_files_is_logged(
    caplog: pytest.LogCaptureFixture, status: int, lines: list[list[str]]
) -> None:
    batches([], lambda to: httpx2.Response(status)).clear("b", made_at=0.0)
    assert left(caplog) == lines
    assert all("b.jsonl" in line.getMessage() for line in caplog.records)


def test_a_listed_file_that_stays_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def answers(to: str) -> httpx2.Response:
        listed = {"object": "list", "has_more": False, "data": [file("mine", "b.jsonl")]}
        return httpx2.Response(200, json=listed) if to == "GET /files" else httpx2.Response(403)

    batches([], answers).clear("b", made_at=1_000_000.0)
    assert left(caplog) == [["mine"]]


def batch(id: str, name: str = "another", created_at: int = 1_000_000) -> dict[str, object]:
    whole = {"object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    made = {"created_at": created_at, "input_file_id": "f1", "status": "in_progress"}
    return {"id": id, "metadata": {"turnwise_batch": name}} | whole | made


@pytest.mark.parametrize("more", [{}, {"has_more": None}, {"has_more": True}], ids=str)
def test_a_list_that_begins_again_is_at_its_end(more: dict[str, object]) -> None:
    def answers(to: str) -> httpx2.Response:
        found = batch("b1") if to == "GET /batches" else file("f1", "another.jsonl")
        return httpx2.Response(200, json={"object": "list", "data": [found]} | more)

    asked: list[str] = []
    remote = batches(asked, answers)
    assert remote.find("b", 1_000_000) is None
    remote.clear("b", 1_000_000)
    assert asked == ["GET /batches"] * 2 + ["GET /files"] * 2


@pytest.mark.parametrize("more", [{}, {"has_more": True}], ids=str)
def test_a_batch_is_found_on_a_later_page(more: dict[str, object]) -> None:
    pages = [[batch("b1"), batch("b2")], [batch("b2"), batch("b3")], [batch("b4", "b")]]
    asked: list[str] = []
    remote = batches(asked, lambda to: httpx2.Response(200, json={"data": pages[len(asked) - 1]} | more))
    found = remote.find("b", 1_000_000)
    assert found is not None
    assert (found.id, len(asked)) == ("b4", 3)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ("quota exceeded", "quota exceeded"),
        ([{"message": "bad line"}], "bad line"),
        ({"data": [None, {"message": "bad line", "line": 3}]}, "line 3: bad line"),
        ({"data": None}, None),
        ({"object": "list", "data": [{"code": "x", "message": "no model"}]}, "no model"),
    ],
)
def test_a_failed_batch_is_seen_as_failed_however_it_tells_why(errors: object, told: str | None) -> None:
    failed = batch("b1") | {"status": "failed", "errors": errors}
    found = batches([], lambda to: httpx2.Response(200, json=failed)).look("b1")
    assert found is not None
    assert (found.status, found.error) == ("failed", told)


def test_a_page_in_place_of_a_batch_is_no_batch() -> None:
    page = httpx2.Response(200, content=b"<html>Sign in</html>", headers={"content-type": "text/html"})
    with pytest.raises(ModelUnavailableError, match=r"no batch.*Sign in"):
        batches([], lambda to: page).look("b1")
    with pytest.raises(ModelUnavailableError, match=r"no file.*Sign in"):
        batches([], lambda to: page).submit("b", [("ask", {})])


@pytest.mark.parametrize("status", [200, "200"])
def test_answers_are_read_in_utf_8_whatever_the_server_says_of_them(status: object) -> None:
    remote = RemoteBatch(id="r", file_id="f1", status="completed", files=("f2",))
    line = {"custom_id": "a", "response": {"status_code": status, "body": {"text": "Grüße"}}}
    content = b"\xef\xbb\xbf" + json.dumps(line, ensure_ascii=False).encode()
    answer = httpx2.Response(200, content=content, headers={"content-type": "text/plain; charset=latin-1"})
    (found,) = batches([], lambda to: answer).results(remote)
    assert (found.custom_id, found.completion) == ("a", {"text": "Grüße"})
