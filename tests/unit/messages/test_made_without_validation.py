"""Messages that the library makes of values which need no validation, and the settings of tools."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise import ChatDocMetaData, ChatDocument, Entity, LLMMessage, Role, ToolMessage
from turnwise.machine.done import answer_valid
from turnwise.machine.spec import TaskSpec
from turnwise.models.shared_fields import SharedFieldsSet

_GIVEN: list[tuple[type[SharedFieldsSet], dict[str, Any]]] = [
    (ChatDocMetaData, {"id": "doc_1", "sender": Entity.LLM, "tools_from_agent": True}),
    (ChatDocument, {"content": "x", "content_any": 3, "metadata": ChatDocMetaData(id="doc_2")}),
    (LLMMessage, {"role": Role.USER, "content": "x", "chat_document_id": "doc_3"}),
]


@pytest.mark.parametrize(("kind", "given"), _GIVEN)
def test_made_is_what_the_constructor_makes(kind: type[SharedFieldsSet], given: dict[str, Any]) -> None:
    made, constructed = kind.made(**given), kind(**given)
    assert made == constructed
    assert list(vars(made)) == list(vars(constructed))
    assert made.model_dump_json() == constructed.model_dump_json()
    assert made.model_fields_set == constructed.model_fields_set
    assert made.model_copy(deep=True) == constructed


def test_documents_that_are_made_share_nothing_changeable() -> None:
    one, other = ChatDocument.made(), ChatDocument.made()
    assert one.metadata.id != other.metadata.id
    one.files.append("x")
    one.tool_messages.append(ToolMessage(request="x"))
    one.metadata.tool_ids.append("x")
    assert not other.files
    assert not other.tool_messages
    assert not other.metadata.tool_ids
    assert one.parent is None
    assert one.child is None
    assert one.json_objects() == []


class Slow(ToolMessage):
    request: str = "slow"
    _max_result_tokens: int | None = 10
    _handler = "other"
    _own: int = 1


class Slower(Slow):
    request: str = "slower"
    _timeout = 3.0


def test_settings_of_tools_are_those_of_their_classes() -> None:
    assert (Slower._max_result_tokens, Slower._handler, Slower._timeout) == (10, "other", 3.0)
    assert (Slow._timeout, ToolMessage._max_result_tokens) == (None, None)
    assert Slower.private_default("_max_result_tokens") == 10
    assert Slower.private_default("_own") == 1
    # What else a class declares is pydantic's private attribute, one for each tool.
    tool = Slower()
    tool._own = 2
    assert (tool._own, Slower()._own) == (2, 1)
    assert tool.__pydantic_private__ == {"_own": 2}


def test_a_setting_that_a_base_gets_later_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slow, "_max_result_tokens", 5)
    assert Slower.private_default("_max_result_tokens") == 5


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("DO-NOT-KNOW", False),
        (" .DO-NOT-KNOW! ", False),
        ("D.O-NOT,-KNOW", False),
        (". ", True),
        ("Do not know", True),
        ("DO-NOT-KNOW it", True),
        ("?! x DO-NOT-KNOW", True),
    ],
)
def test_an_answer_that_says_nothing_but_no_answer_is_not_valid(text: str, valid: bool) -> None:
    assert answer_valid(TaskSpec(name="t", path="t", agent="t"), ChatDocument(content=text)) is valid
