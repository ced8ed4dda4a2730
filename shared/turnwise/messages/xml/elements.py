"""XML elements in prose, with the mistakes that models make forgiven.

What is read is XML's elements, attributes, comments, CDATA and the five entities that every XML has. There are no
declarations, so there is nothing that could expand or be fetched. A tag that is never closed, or never opened, is
text: code such as `a <b> c` in a field spoils nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

_NAME = r"[A-Za-z_][\w.-]*"
# An attribute's value may hold no "<", so that no match looks further than the next tag.
_OPEN = re.compile(rf"<({_NAME})((?:\s+{_NAME}\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*)\s*(/?)>")
_CLOSE = re.compile(rf"</({_NAME})\s*>")
_ATTRIBUTE = re.compile(rf"({_NAME})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ENTITY = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SECTIONS = {"<![CDATA[": "]]>", "<!--": "-->"}

# Deeper than any tool; what opens below is text.
_MAX_DEPTH = 64
# How many roots that never close are looked into; no honest text has more, and each costs a scan to the end.
_MAX_VAIN_SCANS = 8


@dataclass(kw_only=True)
class Element:
    """An element and its place: `[start, end)` in `source`, its content at `[inner_start, inner_end)`."""

    tag: str
    source: str = field(repr=False)
    start: int
    inner_start: int
    inner_end: int = -1
    end: int = -1
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)

    @property
    def raw(self) -> str:
        """The content as it stands in the source."""
        return self.source[self.inner_start : self.inner_end]

    def child(self, tag: str) -> Element | None:
        """The first child of that tag."""
        return next((item for item in self.children if item.tag == tag), None)

    def text(self, *, verbatim: bool = False) -> str:
        """The content as a text.

        CDATA is taken as it is. Around it, and in a text without it, white space does not count and entities are
        resolved; a `verbatim` text without CDATA stays as it is, unless someone escaped it.
        """
        parts = list(_parts(self.raw))
        plain = "".join(part for part, is_data in parts if not is_data)
        if len(parts) > 1 and not plain.strip():
            return "".join(part for part, is_data in parts if is_data)
        text = "".join(part if is_data else _resolved(part) for part, is_data in parts)
        if verbatim:
            return self.raw if "<" in plain else text
        return text.strip()


def elements(text: str, roots: Collection[str]) -> Iterator[Element]:
    """The outermost closed elements with a tag in `roots`, in order, with all that is in them."""
    sections = _Sections(text)
    at, vain = 0, 0
    while vain < _MAX_VAIN_SCANS:
        at, opened = _next_root(text, at, roots, sections)
        if opened is None:
            return
        root = _element(text, opened)
        if root.end >= 0 or _filled(root, sections):
            yield root
            at = root.end
        else:
            vain += 1
            at = opened.end()


def _next_root(text: str, at: int, roots: Collection[str], sections: _Sections) -> tuple[int, re.Match[str] | None]:
    while (at := text.find("<", at)) != -1:
        opened = _OPEN.match(text, at)
        if opened is not None and opened[1] in roots:
            return at, opened
        at = max(sections.end_at(at), at + 1)
    return len(text), None


def _element(text: str, opened: re.Match[str]) -> Element:
    attributes = {name: _resolved(double or single) for name, double, single in _ATTRIBUTE.findall(opened[2])}
    empty = bool(opened[3])
    return Element(
        tag=opened[1],
        source=text,
        start=opened.start(),
        inner_start=opened.end(),
        inner_end=opened.end() if empty else -1,
        end=opened.end() if empty else -1,
        attributes=attributes,
    )


def _filled(root: Element, sections: _Sections) -> bool:
    """Read the root up to its end; False if it has none."""
    text, stack, at = root.source, [root], root.inner_start
    open_tags = Counter([root.tag])
    while (at := text.find("<", at)) != -1:
        behind = sections.end_at(at)
        if behind > at:
            at = behind
        elif closed := _CLOSE.match(text, at):
            if open_tags[closed[1]]:
                _close(stack, open_tags, closed)
            if not stack:
                return True
            at = closed.end()
        elif (opened := _OPEN.match(text, at)) and len(stack) < _MAX_DEPTH:
            element = _element(text, opened)
            if opened[3]:
                stack[-1].children.append(element)
            else:
                stack.append(element)
                open_tags[element.tag] += 1
            at = opened.end()
        else:
            at += 1
    return False


def _close(stack: list[Element], open_tags: Counter[str], closed: re.Match[str]) -> None:
    """End the innermost open element of that tag; those in it that were never closed were text."""
    depth = max(i for i, element in enumerate(stack) if element.tag == closed[1])
    open_tags.subtract(element.tag for element in stack[depth:])
    adopted = [child for unclosed in stack[depth + 1 :] for child in unclosed.children]
    element = stack[depth]
    del stack[depth:]
    element.children += adopted
    element.inner_end, element.end = closed.start(), closed.end()
    if stack:
        stack[-1].children.append(element)


class _Sections:
    """CDATA sections and comments; one that never ends is looked for only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._endless: set[str] = set()

    def end_at(self, at: int) -> int:
        """Behind the section that begins at `at`; -1 if none does."""
        for begin, end in _SECTIONS.items():
            if begin not in self._endless and self._text.startswith(begin, at):
                found = self._text.find(end, at + len(begin))
                if found >= 0:
                    return found + len(end)
                self._endless.add(begin)
        return -1


def _parts(raw: str) -> Iterator[tuple[str, bool]]:
    """The content in pieces, each with whether it was CDATA; a mark of CDATA that never ends is dropped."""
    at = 0
    while (begin := raw.find("<![CDATA[", at)) != -1:
        end = raw.find("]]>", begin)
        yield raw[at:begin], False
        if end < 0:
            at = begin + len("<![CDATA[")
            break
        yield raw[begin + len("<![CDATA[") : end], True
        at = end + len("]]>")
    yield raw[at:], False


def _resolved(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1]:
            return _CHARACTERS[match[1]]
        code = int(match[2]) if match[2] else int(match[3], 16)
        return chr(code) if code <= 0x10FFFF else match[0]

    return _ENTITY.sub(character, text) if "&" in text else text


def written(text: str, *, verbatim: bool = False) -> str:
    """The text as the content of an element: as it is where it can be, else as CDATA."""
    if not verbatim and text == text.strip() and not re.search(r"[<>&\n\r\t]", text):
        return text
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


def is_name(text: str) -> bool:
    """Return whether an element can have it as its tag."""
    return re.fullmatch(_NAME, text, re.ASCII) is not None
