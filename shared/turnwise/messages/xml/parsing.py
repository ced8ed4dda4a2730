"""Tools in XML next to tools in JSON: which pieces of a text are tools, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pydantic import BaseModel

from turnwise.messages.json_text import ObjectScan
from turnwise.messages.xml.elements import Element, elements
from turnwise.messages.xml.values import read_fields

ROOT = "tool"

Piece = dict[str, object] | Element


def pieces(text: str, names: Collection[str]) -> list[Piece]:
    """JSON objects, and elements called `tool` or like one of `names`, by their place.

    What stands inside another piece is part of it: JSON in the code that a tool carries is no tool, nor is an element
    in a string of a JSON object.
    """
    found: list[Piece] = []
    scan, at = ObjectScan(text), 0
    for root in [*elements(text, {ROOT, *names}), None]:
        before = root.start if root is not None else len(text)
        while at < before and (item := scan.first(at, before)) is not None:
            found.append(item[0])
            at = item[2]
        if root is not None and root.start >= at:
            found.append(root)
            at = root.end
    return found


def holds_elements(text: str, names: Collection[str]) -> bool:
    """Return whether the text holds an element that could be a tool."""
    return "<" in text and next(iter(elements(text, {ROOT, *names})), None) is not None


def requested(root: Element) -> str:
    """The name of the tool that the element is meant to be: in `<request>`, an attribute, or its own tag."""
    request = root.child("request")
    if request is not None:
        return request.text()
    return root.attributes.get("request") or root.attributes.get("name") or ("" if root.tag == ROOT else root.tag)


def fields_of(root: Element, model: type[BaseModel]) -> dict[str, object]:
    """The fields of the model that the element holds, without its name."""
    fields = read_fields(root, model)
    if root.child("name") is None and root.child("request") is None:
        fields.pop("name", None)
    fields.pop("request", None)
    return fields


def recipients(text: str, addresses: Callable[[str | None], bool]) -> set[str]:
    """Return whom the tools in XML of a text are for; "" for one without a recipient."""
    roots = (root for root in elements(text, {ROOT}) if addresses(requested(root) or None))
    found = [root.child("recipient") for root in roots]
    return {child.text() if child is not None else "" for child in found}


def tool_names(text: str) -> list[str]:
    """The names of the tools in XML in a text, as its elements `tool` say them."""
    return [name for root in elements(text, {ROOT}) if (name := requested(root))] if "<" in text else []
