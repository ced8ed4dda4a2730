"""Names of a message that programs for Langroid use: its log line, and the ids of its tools."""

from __future__ import annotations

from turnwise import ChatDocument, Entity
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.log_fields import ChatDocLoggerFields


def test_a_message_is_a_line_of_tabs_under_its_header() -> None:
    metadata = ChatDocMetaData(sender=Entity.LLM, sender_name="desk", recipient="Bob")
    message = ChatDocument(content="one\ttwo\nthree", metadata=metadata)

    names, values = ChatDocLoggerFields.tsv_header().split("\t"), message.tsv_str().split("\t")

    assert dict(zip(names, values, strict=True)) == {
        "sender_entity": "LLM",
        "sender_name": "desk",
        "recipient": "Bob",
        "block": "",
        "tool_type": "",
        "tool": "",
        "content": r"one\ttwo\nthree",
    }


def test_the_last_id_of_a_tool_is_dropped() -> None:
    metadata = ChatDocMetaData(sender=Entity.LLM, tool_ids=["a", "b"])
    message = ChatDocument(content="", metadata=metadata)

    message.pop_tool_ids()
    assert message.metadata.tool_ids == ["a"]

    message.pop_tool_ids()
    message.pop_tool_ids()
    assert message.metadata.tool_ids == []
