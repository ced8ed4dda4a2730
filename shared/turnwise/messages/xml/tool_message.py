"""A tool that a model writes as XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.xml.elements import elements
from turnwise.messages.xml.parsing import ROOT, fields_of
from turnwise.messages.xml.sample import sample_fields, verbatim_fields
from turnwise.messages.xml.values import write_fields
from turnwise.models.base import LLMFunctionSpec


class XMLToolMessage(ToolMessage):
    """A tool in XML, for models that write XML better than JSON, above all long texts and code.

    It is a `<tool>` element with a child for each field, `<request>` first. A field declared with
    `Field(json_schema_extra={"verbatim": True})` is written as CDATA, without any escaping: the model is told so, and
    the text is taken as it stands. Nested models, lists and dicts are nested elements.

    It is found in texts next to tools in JSON. Through a function-calling API it is a function like any other, and
    JSON of its name is taken, too.
    """

    _form: ClassVar[str] = "xml"

    @classmethod
    def find_candidates(cls, text: str) -> list[str]:
        """The pieces of a text that may be this tool, as they stand there."""
        return [text[item.start : item.end] for item in elements(text, {ROOT, cls.name()})]

    @classmethod
    def extract_field_values(cls, formatted_string: str) -> dict[str, Any] | None:
        """The fields in the first such piece, not yet validated; None if there is none."""
        root = next(elements(formatted_string, {ROOT, cls.name()}), None)
        return fields_of(root, cls) if root is not None else None

    @classmethod
    def parse(cls, formatted_string: str) -> Self:
        """The tool that a text holds; raises `ValueError` without one, `ValidationError` for fields that do not fit."""
        values = cls.extract_field_values(formatted_string)
        if values is None:
            raise ValueError(f"no <{ROOT}> element found in {formatted_string[:80]!r}; expected {cls.name()!r} as XML")
        return cls.model_validate({"request": cls.name(), **values})

    def to_xml(self) -> str:
        """The tool as a model would write it: its fields without `purpose` and `id`."""
        values = self.model_dump(mode="json", exclude={"purpose", "id"})
        return "\n".join([f"<{ROOT}>", *write_fields(values, type(self), "  "), f"</{ROOT}>"])

    def format_example(self) -> str:
        """The tool as XML text, as a model should write it."""
        return self.to_xml()

    @classmethod
    def format_instructions(cls, tool: bool = False) -> str:
        """Return how to write the tool as XML; with `tool`, fields with defaults are described, too."""
        return "\n".join(cls._instructions(tool))

    @classmethod
    def _instructions(cls, tool: bool) -> Iterator[str]:
        yield f"TOOL: {cls.name()}"
        yield f"PURPOSE: {cls.default_value('purpose') or ''}"
        yield "XML FORMAT:"
        yield f"<{ROOT}>"
        yield f"  <request>{cls.name()}</request>"
        hidden = cls.common_fields if tool else cls.common_fields | cls._with_defaults()
        yield from sample_fields(cls, "  ", hidden=hidden)
        yield f"</{ROOT}>"
        if verbatim := verbatim_fields(cls, hidden):
            yield (
                f"Write the content of {', '.join(f'<{name}>' for name in verbatim)} between <![CDATA[ and ]]>, "
                "exactly as it is: every space, quote and line end, nothing escaped."
            )
        if examples := cls.usage_examples(random=True):
            yield examples

    @classmethod
    def _with_defaults(cls) -> frozenset[str]:
        return frozenset(name for name, info in cls.model_fields.items() if not info.is_required())

    @staticmethod
    def json_group_instructions() -> str:
        """Return what introduces the instructions of the tools in XML; `{format_instructions}` stands for them."""
        return (
            "=== TOOLS IN XML ===\n"
            "You can use the tools below. To use one, write an XML element that follows its format: the texts between\n"
            "the tags say what to put there. `<request>` must hold the tool's name. Leave out what is optional and\n"
            "has no value.\n\n"
            "{format_instructions}\n\n"
            "When a tool does not apply, answer in plain text.\n"
        )

    @classmethod
    def llm_function_schema(cls, request: bool = False, defaults: bool = True) -> LLMFunctionSpec:
        """The tool for a function-calling API; these take JSON, where nothing is verbatim."""
        spec = super().llm_function_schema(request, defaults)
        for name in verbatim_fields(cls):
            spec.parameters["properties"].get(name, {}).pop("verbatim", None)
        return spec
