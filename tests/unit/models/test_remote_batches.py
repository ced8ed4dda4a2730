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
