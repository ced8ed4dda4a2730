"""Values of an enumeration that a newer server may extend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class OpenValues:
    """Marks a `Literal` of texts: another text is taken as it is, and the schema names the known ones only.

    A client that is older than its server then reads a status it has never heard of, and does not fail.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.union_schema([handler(source), core_schema.str_schema()], mode="left_to_right")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(_known(schema))


@dataclass(frozen=True)
class OtherKinds:
    """Marks a union of models: what is none of them is read as `model`, and the schema names the known ones only."""

    model: type[BaseModel]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.union_schema([handler(source), handler.generate_schema(self.model)], mode="left_to_right")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(_known(schema))


def _known(schema: CoreSchema) -> CoreSchema:
    """Return the first member of the union that was made here."""
    assert schema["type"] == "union"
    known: CoreSchema = schema["choices"][0]
    return known
