"""The batch interface of the scripted model, as the `openai` client sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from turnwise.testing.fake_llm.server import FakeLLMServer

RULES: list[dict[str, Any]] = [
    {"match": "busy", "fault": {"status": 429, "message": "too many"}},
    {"match": "lost", "fault": "disconnect"},
    {"match": "(.*)", "reply": "you said $1"},
]


@contextmanager
def provider(**batches: Any) -> Iterator[tuple[openai.OpenAI, FakeLLMServer]]:
    with (
        FakeLLMServer(RULES, batches=batches) as server,
        openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client,
    ):
        yield client, server


def line(custom_id: str, text: str, **body: Any) -> str:
    asked = {"model": "m", "messages": [{"role": "user", "content": text}], **body}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": asked})


def begun(client: openai.OpenAI, *lines: str, **metadata: str) -> Any:
    file = client.files.create(file=("asks.jsonl", "\n".join(lines).encode()), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata=metadata
    )


def ended(client: openai.OpenAI, *lines: str) -> Any:
    return client.batches.retrieve(begun(client, *lines).id)


def results(client: openai.OpenAI, file_id: str | None) -> dict[str, Any]:
    assert file_id is not None
    found = [json.loads(text) for text in client.files.content(file_id).text.splitlines()]
    return {each["custom_id"]: each for each in found}


def test_lines_are_answered_as_calls_are_and_errors_stand_in_a_file_of_their_own() -> None:
    with provider() as (client, server):
        batch = ended(client, line("a", "hi"), line("b", "busy"), line("c", "lost"))
        assert batch.status == "completed"
        good, bad = results(client, batch.output_file_id), results(client, batch.error_file_id)
        called = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        stats = server.stats()
    assert list(good) == ["a"] and good["a"]["response"]["body"]["id"] == called.id
    assert good["a"]["response"]["body"]["choices"][0]["message"]["content"] == "you said hi"
    assert bad["b"]["response"]["status_code"] == 429
    assert bad["c"]["response"] is None and bad["c"]["error"]["code"] == "server_error"
    assert (stats["requests"], stats["batches"], stats["lines"]) == (1, 1, 3)


@pytest.mark.parametrize(("end", "answered"), [("expired", 1), ("cancelled", 1), ("failed", 0)])
def test_the_script_says_how_the_first_batches_end(end: str, answered: int) -> None:
    with provider(ends=[end]) as (client, _):
        batch = ended(client, line("a", "hi"), line("b", "ho"))
        assert batch.status == end
        if answered:
            assert list(results(client, batch.output_file_id)) == ["a"]
            assert results(client, batch.error_file_id)["b"]["error"]["code"] == f"batch_{end}"
        else:
            assert batch.output_file_id is None and batch.errors is not None
        assert ended(client, line("a", "hi")).status == "completed"


def test_batches_are_listed_with_their_metadata_page_by_page_and_may_be_cancelled() -> None:
    with provider(delay=60.0) as (client, server):
        made = [begun(client, line("a", "hi"), line("b", "ho"), no=str(no)) for no in range(3)]
        assert [one.metadata for one in client.batches.list(limit=2)] == [{"no": "2"}, {"no": "1"}, {"no": "0"}]
        cancelled = client.batches.cancel(made[0].id)
        assert cancelled.status == "cancelled"
        assert list(results(client, cancelled.output_file_id)) == ["a"]
        with pytest.raises(openai.ConflictError, match="has ended: cancelled"):
            client.batches.cancel(made[0].id)
        assert client.batches.retrieve(made[1].id).status == "in_progress"
        assert server.stats()["lines"] == 1


def test_a_file_with_faults_fails_its_batch_and_names_the_lines() -> None:
    with provider() as (client, _):
        batch = ended(client, line("a", "hi"), line("a", "again"), "{}", line("b", "x", stream=True))
        assert batch.status == "failed"
        assert batch.errors is not None and batch.errors.data is not None
        told = [(fault.line, fault.message) for fault in batch.errors.data]
        assert [at for at, _ in told] == [2, 3, 4]
        assert "was used before" in str(told[0]) and "custom_id" in str(told[1]) and "streamed" in str(told[2])
        other = ended(client, line("a", "hi"), line("b", "ho", model="another"))
        assert other.errors is not None and "same model" in str(other.errors.data)


def test_what_is_unknown_or_not_offered_is_refused() -> None:
    with provider() as (client, _):
        with pytest.raises(openai.NotFoundError, match="no file 'file_9'"):
            client.files.content("file_9")
        with pytest.raises(openai.NotFoundError, match="no batch 'b'"):
            client.batches.retrieve("b")
        file = client.files.create(file=("asks.jsonl", b"x"), purpose="batch")
        with pytest.raises(openai.BadRequestError, match="endpoint"):
            client.batches.create(input_file_id=file.id, endpoint="/v1/embeddings", completion_window="24h")
        assert [one.id for one in client.files.list(purpose="batch")] == [file.id]
        assert client.files.retrieve(file.id).filename == "asks.jsonl"
        assert client.files.delete(file.id).deleted
        assert list(client.files.list()) == []
