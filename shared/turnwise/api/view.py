"""The base of all that the API answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class View(BaseModel):
    """A document of the API. Fields that a newer server adds are kept, as `model_extra`, and dumped again."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(schema)
        # That readers take more than is described is no promise of the server.
        handler.resolve_ref_schema(made).pop("additionalProperties", None)
        return made
