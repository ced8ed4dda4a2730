"""A tool: a structured message that a handler answers instead of a model."""

from __future__ import annotations

import inspect
import json
import random as random_module
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic.fields import FieldInfo, ModelPrivateAttr
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from turnwise.errors import ConfigurationError
from turnwise.messages.schema.json_schema import clean_schema, without_titles
from turnwise.messages.typed_value import value_as
from turnwise.messages.written_names import as_written
from turnwise.models.base import LLMFunctionSpec
from turnwise.models.retry_policy import RetryPolicy

# What a handler does to the world outside: nothing; something that is done once however often it is called with the
# same key; something that is done each time.
ToolEffect: TypeAlias = Literal["read_only", "idempotent", "once"]

# The private attributes that say how a tool is used.
SETTINGS = (
    "_allow_llm_use",
    "_handler",
    "_max_result_tokens",
    "_max_retained_tokens",
    "_effect",
    "_retry",
    "_timeout",
)


class ToolMessage(BaseModel):
    """Base class of tools; a subclass adds fields and gives `request` and `purpose` defaults.

    `request` is the tool's name, and the name of the agent's method that handles it. `id` is the id of the API call
    it came from, "" for a tool written as text.

    Private attributes of a subclass:

    - `_allow_llm_use = False`: no model may use it, whatever an agent enables;
    - `_handler = "other"`: another name of the handling method;
    - `_max_result_tokens`: the handler's result is truncated to so many tokens;
    - `_max_retained_tokens`: once the model has answered the result, it is sent so many tokens of it in later calls;
    - `_effect`: what the handler does outside, which says what a served run does when a crash interrupted it.
      "read_only" and "idempotent" are called again (the second gets the same idempotency key), "once" waits for a
      human, who says whether it happened. What declares nothing is "once";
    - `_retry`: a `RetryPolicy` for a handler that raises or takes too long; by default it is not called again;
    - `_timeout`: seconds that one call of the handler may take. An async handler is cancelled then; a synchronous one
      cannot be interrupted, but may look at `cancelled()`, and what it still returns is its result.
    """

    model_config = ConfigDict(validate_default=True)

    request: str
    purpose: str = ""
    id: str = ""

    # Attributes of the class. As private attributes, which pydantic would make of them, they take as long to set on
    # each tool as all of its fields. The plain annotations let subclasses annotate theirs.
    if TYPE_CHECKING:
        _allow_llm_use: bool
        _handler: str
        _max_result_tokens: int | None
        _max_retained_tokens: int | None
        _effect: ToolEffect
        _retry: RetryPolicy | None
        _timeout: float | None
    else:
        _allow_llm_use: ClassVar[bool] = True
        _handler: ClassVar[str] = ""
        _max_result_tokens: ClassVar[int | None] = None
        _max_retained_tokens: ClassVar[int | None] = None
        _effect: ClassVar[ToolEffect] = "once"
        _retry: ClassVar[RetryPolicy | None] = None
        _timeout: ClassVar[float | None] = None

    # Whether `_effect` speaks of the handlers of the class that declares it alone, as it does in this library's tools.
    _effect_of_own_handlers: ClassVar[bool] = False
    _effect_declared_by: ClassVar[type[ToolMessage]]

    # Whether the tool hands on what it was given, and so is no author of it (see `messages/provenance`).
    _steers: ClassVar[bool] = False

    # True for a tool that replaces an earlier message of the model.
    _takes_back: ClassVar[bool] = False

    # The class that it is a form of whose `recipient` has to be filled in; None of any other class.
    _unaddressed: ClassVar[type[ToolMessage] | None] = None

    # True if the field `recipient` is an ordinary argument, and not the name of the agent that the tool is for.
    _recipient_is_data: ClassVar[bool] = False

    # Whether `messages/wire` writes the fields that were not given, too, so that they count as given when read.
    _writes_unset: ClassVar[bool] = True

    # How a model writes it as text: "json" or "xml".
    _form: ClassVar[str] = "json"

    # Fields that belong to every tool, so tell nothing about which one an object is.
    common_fields: ClassVar[frozenset[str]] = frozenset({"request", "purpose", "id"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = inspect.get_annotations(cls)
        if "id" in own:
            raise ConfigurationError(
                f"{cls.__name__} declares the field `id`, which every tool has for the id of the API call that it "
                "came from, and which no model is told of; give it another name, such as `item_id`"
            )
        # A field `name: str` would take the method of that name for its default, and so be optional.
        for field in own:
            if field not in cls.__dict__ and callable(getattr(ToolMessage, field, None)):
                setattr(cls, field, Field(...))

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name in [name for name in SETTINGS if name in cls.__private_attributes__]:
            setattr(cls, name, cls.__private_attributes__.pop(name).default)
        if cls._effect not in get_args(ToolEffect):
            known = ", ".join(map(repr, get_args(ToolEffect)))
            raise ConfigurationError(f"{cls.__name__} has the effect {cls._effect!r}; expected one of {known}")
        if "_effect" in cls.__dict__:
            cls._effect_declared_by = cls
            if "_effect_of_own_handlers" not in cls.__dict__:
                cls._effect_of_own_handlers = False

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Tell of a tool, also of one in another's field, only what its writer has to write; its name is fixed."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        own = handler.resolve_ref_schema(schema)
        properties = own.get("properties", {})
        for name in ("purpose", "id"):
            properties.pop(name, None)
        required = [name for name in own.get("required", []) if name in properties]
        if cls.name() and "request" in properties:
            properties["request"] = {"type": "string", "enum": [cls.name()]}
            required = ["request", *(name for name in required if name != "request")]
        own["required"] = required
        return schema

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        name: str | None = None,
        purpose: str | None = None,
        effect: ToolEffect | None = None,
    ) -> type[Self]:
        """Make a tool of a typed function, sync or async; handling the tool calls it.

        The function's parameters become fields, with their types, defaults and `Field(...)` settings; its docstring
        gives the purpose and the fields' descriptions (sections in the style of Google, NumPy or Sphinx; a
        description in `Annotated[..., Field(description=...)]` or `Annotated[..., "..."]` wins). `name` and `purpose`
        replace the function's; `effect` declares what the function does outside (see `_effect`; None: as the class
        that this is called on). A parameter of type `ChatAgent` or `ChatDocument`, or without type and called `agent`
        or `chat_doc`, is not the model's to give: it gets the agent that handles the tool, and the message that the
        tool is in. Nor is one called `idempotency_key`: it gets the key of the call. A parameter with a name that tools
        need themselves (`id`, `request`, `purpose`, `handle`, ...) becomes a field with an underscore after it.

        Usable as a decorator. A subclass of `ToolMessage` passes its private attributes and its form on:
        `XMLToolMessage.from_function(f)` is a tool in XML. Raises `ConfigurationError` for `*args` and `**kwargs`, a
        parameter without a type, a type that is no field's, and a name that is no tool's.
        """
        from turnwise.messages.schema.function_tool import tool_from_function

        return tool_from_function(cls, function, name, purpose, effect)

    @classmethod
    def name(cls) -> str:
        """The tool's name: the default of `request`, "" for a class without one."""
        info = cls.__pydantic_fields__.get("request")
        # Asked many times a turn, and nearly always a text, of which pydantic would make a copy.
        if info is not None and type(info.default) is str:
            return info.default
        return str(cls.default_value("request") or "")

    @classmethod
    def default_value(cls, f: str) -> Any:
        """The default of the field `f`; None if it has none or does not exist."""
        info: FieldInfo | None = cls.model_fields.get(f)
        if info is None or info.is_required():
            return None
        return info.get_default(call_default_factory=True, validated_data={})

    @classmethod
    def private_default(cls, attribute: str) -> Any:
        """The class's value of a private attribute such as `_handler`; None if it has none."""
        found = getattr(cls, attribute, None)
        return found.default if isinstance(found, ModelPrivateAttr) else found

    @classmethod
    def examples(cls) -> list[ToolMessage | tuple[str, ToolMessage]]:
        """Instances to show the model, each alone or with the thought that leads to it. Override it."""
        return []

    @classmethod
    def instructions(cls) -> str:
        """More to tell the model about the tool. Override it."""
        return ""

    @classmethod
    def usage_examples(cls, random: bool = False) -> str:
        """The examples as text for a prompt, all of them or a random one; "" if there are none."""
        examples = cls.examples()
        if not examples:
            return ""
        if random:
            examples = [random_module.choice(examples)]
        lines = []
        for number, example in enumerate(examples, start=1):
            thought, tool = example if isinstance(example, tuple) else ("", example)
            lines.append(f"EXAMPLE {number}: {thought + ' => ' if thought else ''}\n{tool.format_example()}")
        return "\n\n".join(lines)

    def to_json(self) -> str:
        """The tool as a model would write it: its fields without `purpose` and `id`."""
        dumped = json.loads(self.model_dump_json(exclude={"purpose", "id"}))
        return json.dumps(as_written(self, dumped), indent=4, ensure_ascii=False)

    def json_example(self) -> str:
        """The tool as JSON text, as a model should write it."""
        return self.to_json()

    def format_example(self) -> str:
        """The tool in the form that models are told to use."""
        return self.json_example()

    @classmethod
    def json_instructions(cls, tool: bool = False) -> str:
        """Return how to write the tool as JSON, `request` included; with `tool`, also fields with defaults."""
        spec = cls.llm_function_schema(request=True, defaults=tool)
        body = {"type": "object", **spec.parameters}
        parts = [f"TOOL: {cls.name()}", f"PURPOSE: {cls.default_value('purpose') or ''}"]
        parts.append("JSON FORMAT:\n" + json.dumps(body, indent=4))
        examples = cls.usage_examples(random=True)
        if examples:
            parts.append(examples)
        return "\n".join(parts)

    @classmethod
    def format_instructions(cls, tool: bool = False) -> str:
        """Return how to write the tool in the form that models are told to use."""
        return cls.json_instructions(tool)

    @staticmethod
    def json_group_instructions() -> str:
        """Return what introduces the instructions of a group of tools; `{format_instructions}` stands for them."""
        return (
            "=== TOOLS IN JSON ===\n"
            "You can use the tools below. To use one, write a JSON object that follows its format; the `request`\n"
            "field must be the tool's name. Write the object itself, not its schema.\n\n"
            "{format_instructions}\n\n"
            "When a tool does not apply, answer in plain text.\n"
        )

    @classmethod
    def llm_function_schema(cls, request: bool = False, defaults: bool = True) -> LLMFunctionSpec:
        """The tool for a function-calling API.

        `request` keeps that field in the parameters (fixed to the tool's name); without `defaults`, fields that have
        one are left out.
        """
        hidden = {"purpose", "id"} | (set() if request else {"request"})
        parameters = clean_schema(cls.model_json_schema(), hidden=hidden, defaults=defaults)
        if request:
            parameters["properties"]["request"] = {"type": "string", "enum": [cls.name()]}
            parameters["required"] = ["request", *[n for n in parameters.get("required", []) if n != "request"]]
        return LLMFunctionSpec(
            name=cls.name(),
            description=str(cls.default_value("purpose") or f"Tool for {cls.name()}"),
            parameters=parameters,
        )

    @classmethod
    def simple_schema(cls) -> dict[str, Any]:
        """The JSON schema with only `request` and the fields that must be given."""
        schema = without_titles(cls.model_json_schema())
        required = [name for name in schema.get("required", []) if name != "purpose"]
        properties = {name: schema["properties"][name] for name in ["request", *required] if name != "id"}
        return {"type": "object", "properties": properties, "required": list(properties)}

    @classmethod
    def require_recipient(cls) -> type[ToolMessage]:
        """A subclass of the same name with a `recipient` field that the model has to fill in."""
        return cls if "recipient" in cls.model_fields else _with_recipient(cls)

    def get_value_of_type(self, target_type: Any) -> Any:
        """The first of the tool's own fields (then of its extra ones) that holds a `target_type`, or None.

        A type with parameters is taken at its word: a list of texts is no `list[int]`.
        """
        for name in [*type(self).model_fields, *(self.model_extra or {})]:
            if name in self.common_fields:
                continue
            value = value_as(getattr(self, name), target_type)
            if value is not None:
                return value
        return None


@lru_cache(maxsize=1024)
def _with_recipient(cls: type[ToolMessage]) -> type[ToolMessage]:
    """Made once, because a served agent asks for it anew at each turn."""
    made = create_model(
        cls.__name__,
        __base__=cls,
        __module__=cls.__module__,
        recipient=(str, Field(..., description="Name of the intended recipient of the tool.")),
    )

    def addressed(example: ToolMessage | tuple[str, ToolMessage]) -> ToolMessage | tuple[str, ToolMessage]:
        if isinstance(example, tuple):
            return example[0], made.model_construct(**{**dict(example[1]), "recipient": "<recipient>"})
        return made.model_construct(**{**dict(example), "recipient": "<recipient>"})

    # The examples were written for the class without that field, and cannot be made of the one with it.
    made.examples = lambda: [addressed(example) for example in cls.examples()]  # type: ignore[method-assign]
    made._unaddressed = cls
    made._recipient_is_data = False
    return made
