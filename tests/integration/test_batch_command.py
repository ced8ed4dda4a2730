"""`turnwise batch` against an embedded server: interrupted, killed, continued, stopped by its budget, retried."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, OpenAIGPTConfig, Task
from turnwise.cli.batch.batch_run import BatchOptions, BatchRun
from turnwise.cli.batch.items_file import checked
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import InvalidRequestError
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.server import FakeLLMServer

__all__ = ["terminal"]

BROKEN, OPEN = threading.Event(), threading.Event()


def _answer(text: str) -> str:
    OPEN.wait(60)
    if BROKEN.is_set() and "odd" in text:
        raise RuntimeError("the model is broken")
    return f"DONE {text[:20]}"


@pytest.fixture(scope="module")
def models() -> Iterator[FakeLLMServer]:
    with FakeLLMServer([{"reply": "DONE ok"}]) as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, models: FakeLLMServer) -> Iterator[EmbeddedServer]:
    app = App("batches")
    model = MockLMConfig(response_fn=_answer)
    app.task(name="echo")(lambda: Task(ChatAgent(ChatAgentConfig(name="echo", llm=model)), interactive=False))
    url = f"sqlite:///{tmp_path_factory.mktemp('batch-command') / 'runs.db'}"
    paid = OpenAIGPTConfig(api_base=models.base_url, api_key=SecretStr("k"), max_output_tokens=10)
    app.task(name="paid")(lambda: Task(ChatAgent(ChatAgentConfig(name="paid", llm=paid)), interactive=False))
    soon: dict[str, Any] = {"provider_batch_seconds": 0.2, "provider_batch_poll_seconds": 0.2}
    with EmbeddedServer(load_settings(database_url=url, bind="127.0.0.1:0", **soon), app) as made:
        yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    OPEN.set()
    BROKEN.clear()
    with Client(server.url) as made:
        yield made
    OPEN.set()


def written(path: Path, items: list[Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def options(**given: Any) -> BatchOptions:
    """The options of a batch by the name `refused`, but for those that are given."""
    usual: dict[str, Any] = dict.fromkeys(("max_cost", "max_tokens", "concurrency", "can_wait"))
    return BatchOptions(**{**usual, "name": "refused", "retry_failed": False, "anew": False, **given})


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_results_come_in_the_order_of_the_file(terminal: Terminal, client: Client, server: EmbeddedServer) -> None:
    file = written(terminal.folder / "in.jsonl", ["a", {"message": "b", "id": "two", "tags": ["x"]}, "c"])

    told = terminal.run("batch", "echo", str(file), "--url", server.url)

    lines = [json.loads(line) for line in told.splitlines()]
    told_of = [(line["line"], line["id"], line["result"]) for line in lines]
    assert told_of == [(1, None, "a"), (2, "two", "b"), (3, None, "c")]
    assert client.run(lines[1]["run"]).tags == ["x"]
    summary = json.loads(terminal.run("batch", "echo", str(file), "--json", "--url", server.url))
    assert (summary["status"], summary["name"], summary["counts"]["completed"]) == ("completed", "in", 3)
    again = json.loads(terminal.run("batch", "echo", str(file), "--json", "--name", "other", "--url", server.url))
    assert again["id"] != summary["id"]


def test_a_command_that_is_killed_in_the_middle_is_continued_by_the_same_command(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    # Of several parts, each with a few items.
    texts = [f"{no} " + "x" * 60_000 for no in range(40)]
    file, output = written(terminal.folder / "killed.jsonl", texts), terminal.folder / "out.jsonl"
    command = ["batch", "echo", str(file), "-o", str(output), "--concurrency", "4", "--url", server.url]
    OPEN.clear()
    program = [sys.executable, "-m", "turnwise.cli.main", *command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNWISE_")}
    with subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        batch_id = said.removeprefix("The batch is ").strip().removesuffix(".")
        until(lambda: client.batch(batch_id).total > 0, "a part to be there")
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not output.exists()

    OPEN.set()
    terminal.run(*command)

    batch = client.batch(batch_id)
    assert (batch.status, batch.total, batch.counts.completed, batch.usage.calls) == ("completed", 40, 40, 40)
    assert [line["result"] for line in results(output)] == [f"{text}"[:20].strip() for text in texts]


def test_the_end_is_told_by_the_exit_code_and_what_failed_is_retried(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    BROKEN.set()
    file, output = written(terminal.folder / "odd.jsonl", ["odd", "even"]), terminal.folder / "out.jsonl"
    command = ["batch", "echo", str(file), "-o", str(output), "--url", server.url]

    assert "1 completed, 1 failed" in terminal.run(*command, code=1)
    assert [line["status"] for line in results(output)] == ["failed", "completed"]
    assert "1 completed, 1 failed" in terminal.run(*command, code=1)

    BROKEN.clear()
    OPEN.clear()
    sent = terminal.run(*command[:3], "--url", server.url, "--json", "--no-wait", "--retry-failed")
    assert json.loads(sent)["counts"]["failed"] == 0
    OPEN.set()
    terminal.run(*command)
    assert [line["result"] for line in results(output)] == ["odd", "even"]


def test_a_budget_ends_with_3_and_is_raised_with_the_retry(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    file = written(terminal.folder / "paid.jsonl", ["first", "second", "third"])
    command = ["batch", "paid", str(file), "-o", str(terminal.folder / "out.jsonl"), "--url", server.url]

    told = terminal.run(*command, "--max-tokens", "1", code=3)
    assert "stopped" in told and "The limit of tokens was reached." in told
    assert "add --retry-failed" in terminal.refused(*command, "--max-tokens", "1000000")

    terminal.run(*command, "--max-tokens", "1000000", "--retry-failed")
    assert {line["status"] for line in results(terminal.folder / "out.jsonl")} == {"completed"}


def test_nothing_is_submitted_of_a_file_with_a_wrong_line(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    before = client.batches(limit=1).items
    file = terminal.folder / "wrong.jsonl"
    file.write_text('"a"\n{"message"\n')

    assert "wrong.jsonl, line 2: it is not JSON" in terminal.refused("batch", "echo", str(file), "--url", server.url)
    assert "has no task 'nothing'" in terminal.refused(
        "batch", "nothing", str(written(file, ["a"])), "--url", server.url
    )
    assert client.batches(limit=1).items == before


def test_no_part_is_sent_of_a_file_whose_later_line_is_out_of_bounds(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    before = client.batches(limit=1).items
    items: list[Any] = ["a"] * 1_500
    items[1_399] = {"message": "a", "priority": 999}
    file = written(terminal.folder / "late.jsonl", items)

    told = terminal.refused("batch", "echo", str(file), "--url", server.url)

    assert told == (f"{file}, line 1400: priority: Input should be less than or equal to 100; nothing was submitted")
    told = terminal.run("batch", "echo", str(written(file, ["a"])), "--can-wait", "1e9", "--url", server.url, code=2)
    assert "--can-wait is 1e+09" in told
    assert client.batches(limit=1).items == before


def test_a_line_that_only_the_server_can_refuse_is_named_with_what_was_sent(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    # A file that says nothing of a budget, for a batch that got one when it was opened.
    waits = {"message": "c", "limits": {"on_limit": "wait"}}
    file = written(terminal.folder / "refused.jsonl", ["a", "b", waits])
    opened = BatchRun(client, "echo", checked(file), options(max_tokens=9)).open()
    client.add_batch_items(opened.id, 1, [{"message": "a"}])

    told = terminal.run("batch", "echo", str(file), "--name", "refused", "--url", server.url, code=2)

    assert f"turnwise: {file}, line 3: limits.on_limit is wait" in told
    assert f"{opened.id} stays open with 1 of 3 items" in told
    assert f"`turnwise batches cancel {opened.id}`" in told


def test_a_line_that_a_gateway_takes_no_body_of_is_named(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    file = written(terminal.folder / "large.jsonl", ["small", "a" * 1_100_000, "small"])

    told = terminal.run("batch", "echo", str(file), "--url", server.url, code=2)

    assert f"turnwise: {file}, line 2: the body has more than 1000000 bytes" in told
    assert "stays open with 1 of 3 items" in told


def test_another_concurrency_of_the_same_batch_is_refused(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    file = written(terminal.folder / "paced.jsonl", ["a"])
    command = ["batch", "echo", str(file), "--url", server.url]
    terminal.run(*command, "--concurrency", "2")

    assert "has the concurrency 2, which cannot be changed" in terminal.refused(*command, "--concurrency", "3")
    terminal.run(*command, "--concurrency", "2")
    terminal.run(*command)


def test_where_results_cannot_be_written_nothing_is_sent(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    before = client.batches(limit=1).items
    file = written(terminal.folder / "in.jsonl", ["a"])

    for output, told in [("nowhere/r.jsonl", "there is no folder"), (".", "a folder; name a file in it")]:
        path = str(terminal.folder / output)
        assert told in terminal.refused("batch", "echo", str(file), "-o", path, "--url", server.url)
    assert client.batches(limit=1).items == before


def test_a_batch_is_cancelled_by_its_id(terminal: Terminal, client: Client, server: EmbeddedServer) -> None:
    OPEN.clear()
    file = written(terminal.folder / "ended.jsonl", ["a", "b", "c"])
    command = ["batch", "echo", str(file), "--concurrency", "1", "--json", "--no-wait", "--url", server.url]
    batch = json.loads(terminal.run(*command))["id"]

    assert terminal.run("batches", "cancel", batch, "--url", server.url) == f"{batch} is asked to end.\n"
    again = json.loads(terminal.run("batches", "cancel", batch, "--json", "--url", server.url))

    assert (again["id"], again["cancel_requested_at"] is None) == (batch, False)
    assert "batch" in terminal.refused("batches", "cancel", "bat_none", "--url", server.url)


def test_a_batch_is_sent_without_waiting_and_cancelled(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    OPEN.clear()
    file = written(terminal.folder / "held.jsonl", ["a", "b", "c"])
    command = ["batch", "echo", str(file), "--concurrency", "1", "--json", "--url", server.url]

    sent = json.loads(terminal.run(*command, "--no-wait"))
    cancelled = json.loads(terminal.printed(*command, "--cancel", code=1))

    assert (sent["status"], sent["total"], cancelled["id"]) == ("running", 3, sent["id"])
    assert (cancelled["status"], cancelled["counts"]["not_started"]) == ("cancelled", 2)


def test_a_batch_that_was_cancelled_is_sent_under_another_name(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    file = written(terminal.folder / "gone.jsonl", ["a", "b"])
    command = ["batch", "echo", str(file), "--url", server.url]
    key = BatchRun(client, "echo", checked(file), options(name="gone"))._key()
    client.cancel_batch(client.open_batch("echo", name="gone", key=key).id)

    assert "of this file was cancelled; send the file under another --name" in terminal.refused(*command)


def test_what_was_not_sent_cannot_be_cancelled_and_is_not_used_up(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    file = written(terminal.folder / "never.jsonl", ["a", "b"])
    command = ["batch", "echo", str(file), "--url", server.url]

    before = client.batches(limit=1).items

    told = terminal.refused(*command, "--cancel")

    assert f"no item of {file} was sent to the task 'echo' under the name 'never'" in told
    assert "`turnwise batches list` lists all" in told
    assert client.batches(limit=1).items == before
    assert len(terminal.run(*command).splitlines()) == 2


def test_results_do_not_replace_the_file_of_items(terminal: Terminal, client: Client, server: EmbeddedServer) -> None:
    file = written(terminal.folder / "both.jsonl", ["a"])
    (terminal.folder / "link.jsonl").symlink_to(file)
    for output in (file, terminal.folder / "link.jsonl"):
        told = terminal.refused("batch", "echo", str(file), "-o", str(output), "--url", server.url)
        assert "the file of items itself; name another file" in told
    assert file.read_text() == '"a"\n'


def test_a_pipe_is_no_file_of_a_batch(terminal: Terminal, client: Client, server: EmbeddedServer) -> None:
    pipe = terminal.folder / "pipe.jsonl"
    os.mkfifo(pipe)
    told = terminal.refused("batch", "echo", str(pipe), "--url", server.url)
    assert "is no regular file; it is read twice, so write its lines to one" in told


def test_a_file_that_has_changed_since_it_was_checked_is_not_sealed(
    terminal: Terminal, client: Client, server: EmbeddedServer
) -> None:
    path = written(terminal.folder / "shrunk.jsonl", ["a", "b", "c"])
    file = checked(path)
    written(path, ["a", "b"])
    with pytest.raises(InvalidRequestError, match="has changed since it was checked: 2 of 3 items were sent"):
        BatchRun(client, "echo", file, options(name="shrunk")).send()


def test_a_batch_waits_for_a_gateway_that_is_away_or_busy(
    terminal: Terminal, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.cli.batch.patience._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("turnwise.cli.batch.patience._LONGEST_PAUSE", 0.0)
    OPEN.set()
    asked: Counter[tuple[str, str]] = Counter()

    class Flaky(httpx2.BaseTransport):
        """Answers the first three of each kind of request with what is no answer."""

        def __init__(self) -> None:
            self._inner = httpx2.HTTPTransport()

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            kind = (request.method, request.url.path)
            asked[kind] += 1
            if asked[kind] == 1:
                return httpx2.Response(429, headers={"Retry-After": "0"}, request=request)
            if asked[kind] == 2:
                return httpx2.Response(503, request=request)
            if asked[kind] == 3:
                raise httpx2.ConnectError("refused", request=request)
            return self._inner.handle_request(request)

        def close(self) -> None:
            self._inner.close()

    file = checked(written(terminal.folder / "flaky.jsonl", ["a", "b", "c"]))
    out = terminal.folder / "flaky-results.jsonl"
    with Client(server.url, transport=Flaky()) as flaky:
        run = BatchRun(flaky, "echo", file, options(name="flaky"))
        run.write(run.follow(run.send()), out)

    assert [one["status"] for one in results(out)] == ["completed"] * 3
    assert set(asked.values()) >= {4}


def test_items_can_wait_for_a_batch_of_their_provider_and_say_so_themselves(
    terminal: Terminal, client: Client, server: EmbeddedServer, models: FakeLLMServer
) -> None:
    before = models.stats()
    own = {"message": "at once", "limits": {"can_wait": 0, "turns": 3}}
    file = written(terminal.folder / "patient.jsonl", ["first", own, {"message": "third", "limits": {"turns": 2}}])
    command = ["batch", "paid", str(file), "-o", str(terminal.folder / "out.jsonl"), "--url", server.url]

    terminal.run(*command, "--can-wait", "86400")

    assert {line["status"] for line in results(terminal.folder / "out.jsonl")} == {"completed"}
    after = models.stats()
    assert (after["lines"] - before["lines"], after["requests"] - before["requests"]) == (2, 1)


def test_batches_are_listed_and_shown(terminal: Terminal, client: Client, server: EmbeddedServer) -> None:
    file = written(terminal.folder / "shown.jsonl", ["a", "b"])
    terminal.run("batch", "echo", str(file), "--max-cost", "2", "-o", str(terminal.folder / "out"), "--url", server.url)
    batch = client.batches(limit=1).items[0]

    listed = terminal.printed("batches", "list", "--limit", "1", "--url", server.url, code=0)
    shown = terminal.printed("batches", "show", batch.id, "--url", server.url, code=0)

    assert batch.id in listed and "completed" in listed
    assert "2 items: 2 completed" in shown and "cost $0.0000 of $2.0000" in shown
    assert (
        json.loads(terminal.printed("batches", "show", batch.id, "--json", "--url", server.url, code=0))["id"]
        == batch.id
    )
