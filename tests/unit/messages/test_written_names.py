"""Tools with aliases: they are explained, shown and found by the names that are taken."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, ToolMessage, XMLToolMessage


class Stop(BaseModel):
    place: str = Field(alias="in")


class Trip(ToolMessage):
    request: str = "trip"
    purpose: str = "To book a trip."
    from_: str = Field(alias="from")
    to: str = Field(validation_alias=AliasChoices("towards", "destination"))
    stops: list[Stop] = Field(default_factory=list)
    by_day: dict[str, Stop] = Field(default_factory=dict)

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls.model_validate(FIELDS)]


class XMLTrip(XMLToolMessage):
    request: str = "xml_trip"
    purpose: str = "To book a trip."
    from_: str = Field(alias="from", json_schema_extra={"verbatim": True})
    stop: Stop


class Both(ToolMessage):
    model_config = ConfigDict(populate_by_name=True)
    request: str = "both"
    purpose: str = "To do both."
    class_: str = Field(alias="class")


FIELDS = {"from": "Köln", "towards": "Lyon", "stops": [{"in": "Metz"}], "by_day": {"monday": {"in": "Nancy"}}}


def agent_with(tool: type[ToolMessage]) -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))
    agent.enable_message(tool)
    return agent


def test_a_tool_that_is_written_is_read_again() -> None:
    trip = Trip.model_validate(FIELDS)
    [again] = agent_with(Trip).get_tool_messages(trip.to_json())

    assert again.model_dump(exclude={"id"}) == trip.model_dump(exclude={"id"})
    assert '"from": "Köln"' in Trip.format_instructions()
    assert '"from_"' not in Trip.format_instructions()


def test_xml_is_explained_and_written_by_the_names_that_are_taken() -> None:
    trip = XMLTrip.model_validate({"from": "Köln", "stop": {"in": "Metz"}})
    [again] = agent_with(XMLTrip).get_tool_messages(trip.to_xml())

    assert again.model_dump(exclude={"id"}) == trip.model_dump(exclude={"id"})
    told = XMLTrip.format_instructions()
    assert "<from><![CDATA[text]]></from>" in told
    assert "Write the content of <from> between" in told
    assert "<in>text</in>" in told


@pytest.mark.parametrize(
    ("tool", "written"),
    [
        (Trip, '{"from": "Köln", "towards": "Lyon"}'),
        (Trip, '{"from": "Köln", "destination": "Lyon"}'),
        (Both, '{"class": "first"}'),
        (Both, '{"class_": "first"}'),
    ],
)
def test_an_object_without_a_name_is_found_by_aliases(tool: type[ToolMessage], written: str) -> None:
    assert [type(one) for one in agent_with(tool).get_tool_messages(written)] == [tool]
