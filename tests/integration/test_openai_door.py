"""The OpenAI door with OpenAI's own client, over an embedded server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from tests.e2e.waiting import until
from tests.support.door_desk import USED, Recaller, door_server

from turnwise import AgentDoneTool, App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.cli.embedded import EmbeddedServer
from turnwise.processes.settings import load_settings

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]
TALK: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I am Ann."},
    {"role": "assistant", "content": "Hi Ann."},
    {"role": "user", "content": "Who am I?"},
]
TOLD = "I was told user: Be brief. / user: I am Ann. / assistant: Hi Ann. / user: Who am I?"


@pytest.fixture(scope="module")
def model() -> Recaller:
    return Recaller()


@pytest.fixture(scope="module")
def server(model: Recaller, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with door_server(tmp_path_factory.mktemp("door"), model) as made:
        yield made


@pytest.fixture(scope="module")
def client(server: EmbeddedServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=30) as made:
        yield made


@pytest.fixture(scope="module")
def http(server: EmbeddedServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=30) as made:
        yield made


def test_the_models_are_the_tasks(client: openai.OpenAI) -> None:
    assert [(model.id, model.owned_by) for model in client.models.list()] == [
        ("recall", "office"),
        ("clerk", "office"),
        ("painter", "office"),
    ]
    assert client.models.retrieve("clerk").object == "model"


@pytest.mark.parametrize("task", ["recall", "clerk"])
def test_the_messages_before_the_last_are_the_history(client: openai.OpenAI, http: httpx2.Client, task: str) -> None:
    raw = client.chat.completions.with_raw_response.create(model=task, messages=TALK)

    made = raw.parse()
    [choice] = made.choices
    assert (choice.message.content, choice.finish_reason, made.model) == (TOLD, "stop", task)
    assert made.usage is not None
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (USED.prompt_tokens, USED.completion_tokens)
    run = http.get(f"/v1/runs/{raw.headers['x-run-id']}").json()
    assert (run["message"]["content"], len(run["history"])) == ("Who am I?", 3)


def test_a_stream_shows_the_answer_as_it_grows(client: openai.OpenAI, model: Recaller) -> None:
    stream = client.chat.completions.create(
        model="recall",
        messages=[{"role": "user", "content": "please wait"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    pieces: list[str] = []
    reasons: list[str | None] = []
    for chunk in stream:
        if chunk.choices:
            pieces.append(chunk.choices[0].delta.content or "")
            reasons.append(chunk.choices[0].finish_reason)
        if "".join(pieces) == "I":  # the model goes on once its first word was read
            model.go_on.set()

    assert "".join(pieces) == "I was told user: please wait"
    assert reasons == [*[None] * (len(reasons) - 1), "stop"]
    assert chunk.usage is not None
    assert (chunk.choices, chunk.usage.total_tokens) == ([], 14)


def test_the_async_client_has_both(server: EmbeddedServer) -> None:
    async def talk() -> tuple[str | None, str, str, str]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=30) as client:
            whole = await client.chat.completions.create(model="recall", messages=HELLO)
            stream = await client.chat.completions.create(model="recall", messages=HELLO, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            response = await client.responses.create(model="recall", input="hello")
            async with client.responses.stream(model="recall", input="hello") as events:
                async for _ in events:
                    pass
                last = await events.get_final_response()
            return whole.choices[0].message.content, "".join(pieces), response.output_text, last.output_text

    assert set(asyncio.run(talk())) == {"I was told user: hello"}


def test_a_question_ends_the_answer_and_the_next_message_answers_it(client: openai.OpenAI, http: httpx2.Client) -> None:
    said: list[ChatCompletionMessageParam] = [*TALK[:3], {"role": "user", "content": "paint it"}]
    asked = client.chat.completions.with_raw_response.create(model="painter", messages=said)
    question = asked.parse().choices[0].message
    said += [{"role": "assistant", "content": question.content}, {"role": "user", "content": "blue"}]

    answered = client.chat.completions.with_raw_response.create(model="painter", messages=said)

    assert question.content == "Which colour do you want?"
    assert answered.headers["x-run-id"] == asked.headers["x-run-id"]
    assert (answered.parse().choices[0].message.content or "").endswith(
        "assistant: Which colour do you want? / user: blue"
    )
    usage = answered.parse().usage
    assert usage is not None
    assert usage.prompt_tokens == USED.prompt_tokens  # of this answer alone
    assert http.get(f"/v1/runs/{asked.headers['x-run-id']}").json()["status"] == "completed"


def test_a_branch_of_a_conversation_is_a_run_of_its_own(client: openai.OpenAI) -> None:
    first: list[ChatCompletionMessageParam] = [{"role": "user", "content": "paint it"}]
    asked = client.chat.completions.with_raw_response.create(model="painter", messages=first)
    other: list[ChatCompletionMessageParam] = [
        *first,
        {"role": "assistant", "content": "Nothing is asked."},
        {"role": "user", "content": "blue"},
    ]

    made = client.chat.completions.with_raw_response.create(model="painter", messages=other)

    assert made.headers["x-run-id"] != asked.headers["x-run-id"]


def test_a_session_remembers(client: openai.OpenAI, http: httpx2.Client) -> None:
    headers = {"X-Session-Id": "ann"}
    client.chat.completions.create(model="clerk", messages=TALK, extra_headers=headers)
    again = client.chat.completions.create(model="clerk", messages=HELLO, metadata={"session_id": "ann"})

    assert again.choices[0].message.content == f"I was told {TOLD[11:]} / assistant:  {TOLD} / user: hello"
    assert http.get("/v1/sessions/ann").json()["runs"] == 2


def test_a_question_in_a_session_is_answered_by_any_next_message(client: openai.OpenAI) -> None:
    def say(text: str, model: str = "painter") -> str | None:
        made = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": text}], metadata={"session_id": "paint"}
        )
        return made.choices[0].message.content

    assert say("paint it") == "Which colour do you want?"
    with pytest.raises(openai.ConflictError) as refused:
        say("hello", "clerk")
    assert refused.value.code == "session_waits"
    assert (say("red") or "").endswith("user: red")


def test_metadata_limits_and_marks_the_run(client: openai.OpenAI, http: httpx2.Client) -> None:
    made = client.chat.completions.with_raw_response.create(
        model="recall",
        messages=HELLO,
        user="ann",
        metadata={
            "max_cost": "0.50",
            "max_tokens": "9000",
            "turns": "5",
            "deadline": "60",
            "tags": "nightly, x",
            "ticket": "17",
        },
    )

    run = http.get(f"/v1/runs/{made.headers['x-run-id']}").json()
    limits = run["limits"]
    assert (limits["max_cost"], limits["max_tokens"], limits["turns"]) == ("0.50", 9000, 5)
    assert (run["tags"], run["metadata"]) == (["nightly", "x"], {"ticket": "17", "user": "ann"})


def test_a_limit_that_ends_the_run_is_told(client: openai.OpenAI) -> None:
    cut = client.chat.completions.create(model="recall", messages=TALK, metadata={"max_tokens": "1"})
    response = client.responses.create(model="recall", input="hello", metadata={"max_tokens": "1"})

    assert cut.choices[0].finish_reason == "length"
    assert (response.status, response.incomplete_details and response.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )


def test_a_path_that_is_not_there_says_what_to_do(client: openai.OpenAI) -> None:
    wrong = client.with_options(base_url=str(client.base_url).replace("/v1/", "/"))
    with pytest.raises(openai.NotFoundError, match="/chat/completions; give the client a base_url that ends with /v1"):
        wrong.chat.completions.create(model="recall", messages=HELLO)
    with pytest.raises(openai.NotFoundError, match="/v1/embeddings; of OpenAI's interface this server has /v1/models"):
        client.embeddings.create(model="recall", input="hello")


def test_who_leaves_a_stream_ends_the_run_unless_it_is_to_continue(
    client: openai.OpenAI, http: httpx2.Client, model: Recaller
) -> None:
    model.go_on.clear()
    wait: list[ChatCompletionMessageParam] = [{"role": "user", "content": "please wait"}]

    def leave(**metadata: str) -> str:
        model.begun.clear()
        with client.chat.completions.with_streaming_response.create(
            model="recall", messages=wait, stream=True, metadata=metadata
        ) as response:
            assert model.begun.wait(30)
            return response.headers["x-run-id"]

    def status(run: str) -> str:
        return str(http.get(f"/v1/runs/{run}").json()["status"])

    left, kept = leave(), leave(on_disconnect="continue")
    until(lambda: status(left) == "cancelled", "the run that was left to be cancelled")
    assert status(kept) == "running"
    model.go_on.set()
    until(lambda: status(kept) == "completed", "the other run to end")


def test_the_same_request_sent_at_once_makes_one_run_and_answers_one_question(client: openai.OpenAI) -> None:
    asked = client.responses.create(model="painter", input="paint it")

    def send(key: str, **given: str) -> tuple[str, str]:
        made = client.responses.create(model="painter", extra_headers={"Idempotency-Key": key}, **given)  # type: ignore[call-overload]
        return made.id.split("_")[1], made.output_text

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: send("new", input="green"), range(4)))
        answers = list(pool.map(lambda _: send("answer", input="blue", previous_response_id=asked.id), range(4)))

    assert len(set(made)) == 1
    assert len(set(answers)) == 1
    assert answers[0][0] == asked.id.split("_")[1]
    assert answers[0][1].count("user: blue") == 1


def test_the_same_key_makes_one_run(client: openai.OpenAI) -> None:
    def send(text: str = "hello") -> tuple[str, str | None]:
        made = client.chat.completions.with_raw_response.create(
            model="recall", messages=[{"role": "user", "content": text}], extra_headers={"Idempotency-Key": "k1"}
        )
        return made.headers["x-run-id"], made.parse().choices[0].message.content

    assert send() == send()
    with pytest.raises(openai.BadRequestError) as refused:
        send("another")
    assert refused.value.code == "idempotency_mismatch"


def test_the_same_key_in_another_session_is_another_request(client: openai.OpenAI) -> None:
    def send(session: str) -> str:
        headers = {"Idempotency-Key": "k2", "X-Session-Id": session}
        made = client.chat.completions.with_raw_response.create(model="clerk", messages=HELLO, extra_headers=headers)
        return made.headers["x-session-id"]

    assert (send("first"), send("first")) == ("first", "first")
    with pytest.raises(openai.BadRequestError) as refused:
        send("second")
    assert refused.value.code == "idempotency_mismatch"


def test_a_branch_within_a_session_has_all_that_was_said_before(client: openai.OpenAI, http: httpx2.Client) -> None:
    def say(text: str, **more: Any) -> str:
        return str(client.responses.create(model="clerk", input=text, **more).id)

    in_session: dict[str, Any] = {"metadata": {"session_id": "branches"}}
    say("I am Ann.", **in_session)
    second = say("And you?", **in_session)
    say("Never mind.", **in_session)
    branch = say("Who am I?", previous_response_id=second)

    run = http.get(f"/v1/runs/run_{branch.split('_')[1]}").json()
    assert run["session_id"] != "branches"
    assert [one["content"] for one in run["history"] if one["role"] == "user"] == ["I am Ann.", "And you?"]
    assert [one["role"] for one in run["history"]] == ["user", "assistant"] * 2


class Invoice(ToolMessage):
    request: str = "invoice"
    purpose: str = "To write an invoice."
    number: str

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(tools=[self])


def test_a_result_that_is_a_tool_is_its_json(tmp_path: Path) -> None:
    app = App("invoices")

    @app.task
    def biller() -> Task:
        model = MockLMConfig(response_fn=lambda _: '{"request": "invoice", "number": "INV-1"}')
        agent = ChatAgent(ChatAgentConfig(name="biller", llm=model))
        agent.enable_message(Invoice)
        return Task(agent, interactive=False)

    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0")
    with (
        EmbeddedServer(settings, app) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=30) as client,
    ):
        told = client.chat.completions.create(model="biller", messages=HELLO).choices[0].message.content
        response = client.responses.create(model="biller", input="hello")
    assert told == response.output_text
    assert json.loads(told or "")["number"] == "INV-1"
