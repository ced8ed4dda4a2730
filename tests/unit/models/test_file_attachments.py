"""Files that are attached to messages reach the model, in scripts and in served runs."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.raw_model import completion, raw_model
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    FileAttachment,
    LLMMessage,
    OpenAIGPT,
    OpenAIGPTConfig,
    Role,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.agents.history.shortening import short
from turnwise.errors import ConfigurationError
from turnwise.messages.wire import MAX_FILE_BYTES, decode_document, encode_document
from turnwise.models.tokens.estimate import message_tokens
from turnwise.record.store import Store

PNG = FileAttachment.from_bytes(b"\x89PNG-of-a-cat", filename="cat.png")
PDF = FileAttachment.from_bytes(b"%PDF-1.7 of a letter", filename="letter.pdf")
IMAGE_PART = {
    "type": "image_url",
    "image_url": {"url": "data:image/png;base64," + base64.b64encode(b"\x89PNG-of-a-cat").decode()},
}
PDF_PART = {
    "type": "file",
    "file": {
        "filename": "letter.pdf",
        "file_data": "data:application/pdf;base64," + base64.b64encode(b"%PDF-1.7 of a letter").decode(),
    },
}
Bodies = list[dict[str, Any]]


class Photograph(ToolMessage):
    request: str = "photograph"
    purpose: str = "To photograph <what>."
    what: str

    def handle(self, agent: ChatAgent) -> ChatDocument:
        return agent.create_agent_response(f"Here is the {self.what}.", files=[PNG])


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call-1", "type": "function", "function": {"name": "photograph", "arguments": '{"what": "cat"}'}}
    ],
}


@pytest.fixture
def bodies() -> Bodies:
    return []


@pytest.fixture
def config(bodies: Bodies) -> Iterator[OpenAIGPTConfig]:
    """A model that photographs first, if it can, and then is done."""

    def answer(body: dict[str, Any]) -> Any:
        bodies.append(body)
        if len(bodies) == 1 and body.get("tools"):
            return completion(CALL, {"prompt_tokens": 5, "completion_tokens": 5})
        if len(bodies) == 1 and "photograph" in str(body["messages"][0]):
            text = '{"request": "photograph", "what": "cat"}'
            return completion({"role": "assistant", "content": text}, {"prompt_tokens": 5, "completion_tokens": 5})
        return completion({"role": "assistant", "content": "DONE seen"}, {"prompt_tokens": 5, "completion_tokens": 5})

    with raw_model(answer) as url:
        yield OpenAIGPTConfig(chat_model="gpt-4o", api_base=url, provider="openai", stream=False)


def photographer(config: OpenAIGPTConfig, *, as_functions: bool = False) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(llm=config, use_tools=not as_functions, use_functions_api=as_functions))
    agent.enable_message(Photograph)
    return Task(agent, interactive=False)


def parts(body: dict[str, Any]) -> list[Any]:
    """The contents of the user's messages."""
    return [message["content"] for message in body["messages"] if message["role"] == "user"]


def test_a_file_is_made_of_a_path_bytes_a_stream_a_text_or_a_url(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(PNG.content)

    assert FileAttachment.from_path(tmp_path / "cat.png") == PNG
    assert FileAttachment.from_io(io.BytesIO(PNG.content), filename="cat.png") == PNG
    assert FileAttachment.from_text("häuser", filename="a.txt").to_data_uri() == "data:text/plain;base64,aMOkdXNlcg=="
    there = FileAttachment.from_path("https://example.org/pictures/a%20cat.jpg?size=2", detail="low")
    assert (there.filename, there.mime_type, there.content) == ("a cat.jpg", "image/jpeg", b"")
    unnamed = FileAttachment(content=b"abc")
    assert unnamed.filename == FileAttachment(content=b"abc").filename != FileAttachment(content=b"abd").filename
    assert unnamed.mime_type == "application/octet-stream"
    with pytest.raises(FileNotFoundError):
        FileAttachment.from_path(tmp_path / "dog.png")


def test_each_kind_of_file_is_the_part_that_the_api_takes() -> None:
    url = "https://example.org/cat.jpg"
    there = FileAttachment.from_path(url, detail="high")

    assert (PNG.to_dict("gpt-4o"), PDF.to_dict("gpt-4o")) == (IMAGE_PART, PDF_PART)
    assert there.to_dict("gpt-4o") == {"type": "image_url", "image_url": {"url": url, "detail": "high"}}
    assert PDF.to_dict("gemini-2.5-flash")["image_url"]["url"].startswith("data:application/pdf;base64,")


def test_a_file_that_no_provider_fetches_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match=r"letter\.pdf.*from_url\(url, content="):
        FileAttachment.from_path("https://example.org/letter.pdf").to_dict("gpt-4o")


def test_a_model_asked_by_hand_is_sent_files(config: OpenAIGPTConfig, bodies: Bodies) -> None:
    message = LLMMessage(role=Role.USER, content="Who wrote this?", files=[PDF, PNG])  # type: ignore[arg-type]
    OpenAIGPT(config).chat([message], 100)

    assert parts(bodies[0]) == [[{"type": "text", "text": "Who wrote this?"}, PDF_PART, IMAGE_PART]]


@pytest.mark.parametrize("text", ["What is it?", ""])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_task_is_given_files(config: OpenAIGPTConfig, bodies: Bodies, text: str, awaited: bool) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=config))
    task = Task(agent, interactive=False)
    question = agent.create_user_response(text, files=[PNG])
    result = asyncio.run(task.run_async(question)) if awaited else task.run(question)

    assert result is not None
    assert result.content == "seen"
    assert parts(bodies[0]) == [[*([{"type": "text", "text": text}] if text else []), IMAGE_PART]]


def test_the_files_of_a_message_stay_in_the_history(config: OpenAIGPTConfig, bodies: Bodies) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=config))
    agent.llm_response(ChatDocument(content="What is it?", files=[PNG]))
    agent.llm_response("And why?")

    assert parts(bodies[1]) == [[{"type": "text", "text": "What is it?"}, IMAGE_PART], "And why?"]


def test_the_file_of_a_tools_result_is_sent_with_it(config: OpenAIGPTConfig, bodies: Bodies) -> None:
    photographer(config).run("go")

    assert parts(bodies[1])[-1] == [{"type": "text", "text": "Here is the cat."}, IMAGE_PART]


def test_the_file_of_an_api_calls_result_follows_it(config: OpenAIGPTConfig, bodies: Bodies) -> None:
    photographer(config, as_functions=True).run("go")

    result, files = bodies[1]["messages"][-2:]
    assert (result["role"], result["content"], result["tool_call_id"]) == ("tool", "Here is the cat.", "call-1")
    assert (files["role"], files["content"]) == ("user", [IMAGE_PART])


@pytest.mark.parametrize("as_functions", [False, True])
def test_files_last_in_a_served_run(config: OpenAIGPTConfig, bodies: Bodies, store: Store, as_functions: bool) -> None:
    app = App("photos", version="1")
    app.task(name="photo")(lambda: photographer(config, as_functions=as_functions))
    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("photo", "go"))

    assert run.result is not None
    assert run.result["content"] == "seen"
    assert IMAGE_PART in parts(bodies[1])[-1]


def test_a_document_keeps_its_files_on_the_way_to_another_process() -> None:
    document = ChatDocument(content="Look.", files=[PNG, PDF, {"type": "audio", "data": "x"}])
    other = decode_document(encode_document(document), {})

    assert other.files == [PNG, PDF, {"type": "audio", "data": "x"}]


def test_a_file_that_is_too_large_for_a_served_run_is_refused() -> None:
    large = FileAttachment.from_bytes(bytes(MAX_FILE_BYTES + 1), filename="film.mp4")
    with pytest.raises(TypeError, match=r"film\.mp4.*hand on its URL"):
        encode_document(ChatDocument(content="Look.", files=[large]))


def test_files_count_toward_the_context_and_the_limits(config: OpenAIGPTConfig, bodies: Bodies) -> None:
    plain = LLMMessage(role=Role.USER, content="What is it?")
    message = plain.model_copy(update={"files": (PNG,)})
    assert message_tokens(message) - message_tokens(plain) == 1_500
    assert short(message) == plain

    agent = ChatAgent(ChatAgentConfig(llm=config))
    question = agent.create_user_response("What is it?", files=[PNG])
    refused = Task(agent, interactive=False).run(question, max_tokens=30_000)

    assert refused is not None
    assert refused.metadata.status is StatusCode.MAX_TOKENS
    assert not bodies
