"""The schema of a model without what its program added: validators, constraints, aliases, strictness.

Pydantic describes a class as nested dicts, each with a `type`. What is taken out is known by its function: those of
decorated methods, and of `AfterValidator` and its neighbours in annotations. Others belong to the types themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator, TypeAdapter, WrapValidator
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function, no_info_wrap_validator_function

Schema = dict[str, Any]

_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)
_WRAPPERS = frozenset({"function-after", "function-before", "function-wrap"})
_CLASSES = frozenset({"model", "dataclass"})
_FIELDS = frozenset({"model-field", "dataclass-field", "typed-dict-field"})
_URLS = frozenset({"url", "multi-host-url"})
# Keys whose values are no schemas, whatever they look like.
_OPAQUE = frozenset(
    {"default", "metadata", "serialization", "config", "expected", "members", "function", "computed_fields"}
)
_CONSTRAINTS = frozenset(
    {
        *("gt", "ge", "lt", "le", "multiple_of", "allow_inf_nan", "max_digits", "decimal_places"),
        *("min_length", "max_length", "pattern", "strip_whitespace", "to_lower", "to_upper", "now_op", "tz_constraint"),
        *("strict", "revalidate_instances"),
    }
)
_CONFIG = frozenset(
    {
        *("strict", "revalidate_instances", "allow_inf_nan", "validate_by_alias", "validate_by_name"),
        *("str_min_length", "str_max_length", "str_strip_whitespace", "str_to_lower", "str_to_upper"),
    }
)


def bare_schema(kind: type[BaseModel], serialized: bool) -> CoreSchema | None:
    """Return the schema to read `kind` with, None if there is nothing to take out of its own.

    `serialized`: the fields of `kind` itself went through its serializers; those of nested models always did.
    """
    own: Any = kind.__pydantic_core_schema__
    stripping = _Stripping(kind, own)
    made: Any = stripping.schema(own, serialized)
    return made if stripping.changed else None


class _Stripping:
    def __init__(self, kind: type[BaseModel], own: Schema) -> None:
        self._kind = kind
        self.changed = False
        # The functions to take out, by identity: a callable object need not be hashable. The classes keep them alive.
        self._added: set[int] = set()
        self._plain: dict[int, Any] = {}  # what replaces the whole of a type's own validation, and the type
        for found in _classes(own):
            self._collect(found)

    def _collect(self, kind: type[Any]) -> None:
        fields = getattr(kind, "__pydantic_fields__", {})
        for info in fields.values():
            self._collect_metadata(info.metadata, info.annotation)
            self._collect_annotation(info.annotation)
        decorators = getattr(kind, "__pydantic_decorators__", None)
        if decorators is None:
            return
        groups = (decorators.validators, decorators.field_validators, decorators.root_validators)
        for each in (*(one for group in groups for one in group.values()), *decorators.model_validators.values()):
            self._added.add(id(each.func))
        for each in decorators.field_validators.values():
            if each.info.mode == "plain":
                self._plain |= {id(each.func): fields[name].annotation for name in each.info.fields if name in fields}

    def _collect_annotation(self, annotation: Any) -> None:
        metadata = getattr(annotation, "__metadata__", ())
        for inner in get_args(annotation)[:1] if metadata else get_args(annotation):
            self._collect_metadata(metadata, inner)
            self._collect_annotation(inner)

    def _collect_metadata(self, metadata: Any, annotation: Any) -> None:
        for each in metadata:
            if isinstance(each, _VALIDATORS):
                self._added.add(id(each.func))
                if isinstance(each, PlainValidator):
                    self._plain[id(each.func)] = annotation

    # --- the schema, part by part ------------------------------------------------------------------------------

    def _part(self, part: Any, serialized: bool) -> Any:
        if type(part) is list or type(part) is tuple:
            return type(part)(self._part(item, serialized) for item in part)
        if type(part) is not dict:
            return part
        # Fields by name are a dict as well, but a field called "type" is no text.
        if isinstance(part.get("type"), str):
            return self.schema(part, serialized)
        return {key: self._part(item, serialized) for key, item in part.items()}

    def schema(self, own: Schema, serialized: bool) -> Schema:
        kind = own["type"]
        if serialized and kind not in _FIELDS and has_serializer(own):
            return own  # the validator may be what undoes it
        if kind in _WRAPPERS and self._is_added(own["function"]["function"]):
            self.changed = True
            inner = self.schema(own["schema"], serialized)
            return {**inner, "ref": own["ref"]} if "ref" in own else inner
        if kind == "function-plain" and id(own["function"]["function"]) in self._plain:
            return self._of_type(own, self._plain[id(own["function"]["function"])], serialized)
        if kind == "json":  # written as the value that was in its text
            self.changed = True
            return self.schema(own["schema"], serialized) if "schema" in own else {"type": "any"}
        if kind in _CLASSES:
            return self._class(own, serialized or own["cls"] is not self._kind)
        return self._copy(own, serialized)

    def _is_added(self, function: Any) -> bool:
        if id(function) in self._added:
            return True
        # How pydantic writes a constraint of a type whose schema has no place for it.
        return isinstance(function, partial) and bool(function.keywords) and _CONSTRAINTS.issuperset(function.keywords)

    def _of_type(self, own: Schema, annotation: Any, serialized: bool) -> Schema:
        try:
            schema: Any = TypeAdapter(annotation).core_schema
        except (PydanticUserError, PydanticUndefinedAnnotation):  # a type that only its validator can read
            return own
        if schema["type"] == "definitions":
            return own
        self.changed = True
        return self.schema(schema, serialized)

    def _copy(self, own: Schema, serialized: bool) -> Schema:
        made = {key: item if key in _OPAQUE else self._part(item, serialized) for key, item in own.items()}
        if own["type"] in _FIELDS:
            dropped = {"validation_alias"} & made.keys()
        elif own["type"] in _URLS:
            dropped = set()
        else:
            dropped = {key for key in _CONSTRAINTS & made.keys() if made[key] not in (None, "never")}
        if config := made.get("config"):
            made["config"] = {key: item for key, item in config.items() if key not in _CONFIG}
            self.changed = self.changed or len(made["config"]) < len(config)
        self.changed = self.changed or bool(dropped)
        return {key: item for key, item in made.items() if key not in dropped}

    def _class(self, own: Schema, serialized: bool) -> Schema:
        if own.get("custom_init"):
            return own
        made = self._copy(own, serialized)
        if own["type"] == "dataclass":
            return made
        config = own.get("config", {})
        inner = made["schema"]
        if config.get("serialize_by_alias") and serialized and inner["type"] == "model-fields":
            for field in inner["fields"].values():
                if "serialization_alias" in field:
                    field["validation_alias"] = field["serialization_alias"]
        if "post_init" in made and made["cls"].model_post_init.__name__ != "init_private_attributes":
            self.changed = True
            del made["post_init"]
            made = _outside(made, no_info_wrap_validator_function(_settled, made))
        computed = inner.get("computed_fields")
        if serialized and computed and config.get("extra_fields_behavior") in ("allow", "forbid"):
            self.changed = True
            names = {name for each in computed for name in (each["property_name"], each.get("alias"))}
            made = _outside(made, no_info_before_validator_function(partial(_without, names), made))
        return made


def _outside(inner: Schema, outer: Any) -> Schema:
    """Return `outer`, which wraps `inner`, under the name that other parts of the schema know `inner` by."""
    ref = inner.pop("ref", None)
    return outer if ref is None else {**outer, "ref": ref}


def _settled(value: Any, read: Callable[[Any], Any]) -> Any:
    """Set private attributes as the class does; the fields stay as they were written, after the first such call."""
    made = read(value)
    if made is value:
        return made
    fields = deepcopy(made.__dict__)
    written = set(made.__pydantic_fields_set__)
    made.model_post_init(None)
    made.__dict__.update(fields)
    object.__setattr__(made, "__pydantic_fields_set__", written)
    return made


def _without(names: set[str], fields: Any) -> Any:
    """Leave out computed fields: they were written, and are computed again."""
    return {key: item for key, item in fields.items() if key not in names} if isinstance(fields, dict) else fields


def has_serializer(schema: Schema) -> bool:
    """Return whether the program says how the value is written."""
    at: Any = schema
    while isinstance(at, dict):
        written = at.get("serialization") or {}
        if "function" in written:
            module = getattr(written["function"], "__module__", None) or ""
            if module.partition(".")[0] not in ("pydantic", "pydantic_core"):
                return True
        if at.get("type") in _CLASSES:
            return False
        at = at.get("schema")
    return False


def _classes(own: Schema) -> Iterator[type[Any]]:
    return (schema["cls"] for schema in schemas(own) if schema["type"] in _CLASSES)


def schemas(part: Any, *, in_models: bool = True) -> Iterator[Schema]:
    """Yield a schema and all that are inside of it; without `in_models`, none of classes and none inside of them."""
    if isinstance(part, list | tuple):
        for item in part:
            yield from schemas(item, in_models=in_models)
    elif isinstance(part, dict):
        # Fields by name are a dict as well, but a field called "type" is no text.
        is_schema = isinstance(part.get("type"), str)
        if is_schema:
            if part["type"] in _CLASSES and not in_models:
                return
            yield part
        for key, item in part.items():
            if not (is_schema and key in _OPAQUE):
                yield from schemas(item, in_models=in_models)
