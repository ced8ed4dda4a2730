"""The tools of an agent: known, usable by its model, handled by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnwise.errors import ConfigurationError
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import ToolSets, tool_sets


class Toolbox:
    """Three sets of names over one dict of classes; `sets` is their value, the same object until one changes."""

    def __init__(self) -> None:
        self.known: dict[str, type[ToolMessage]] = {}
        self.usable: set[str] = set()
        self.handled: set[str] = set()
        # Tools of which the model is told only the fields that it must give.
        self.bare: set[str] = set()
        # Tools to which a recipient was added.
        self.addressed: set[str] = set()
        # The tool whose class brought the fallback; the last one enabled wins.
        self.fallback_of: str = ""
        self._sets: ToolSets | None = None

    @property
    def fallback(self) -> Callable[..., Any] | None:
        """The fallback that a tool class brought."""
        return getattr(self.known.get(self.fallback_of), "handle_message_fallback", None)

    @property
    def sets(self) -> ToolSets:
        if self._sets is None:
            self._sets = tool_sets(self.known, self.usable, self.handled, self.bare)
        return self._sets

    def enable(
        self,
        tool: type[ToolMessage],
        *,
        use: bool,
        handle: bool,
        require_recipient: bool = False,
        include_defaults: bool | None = None,
    ) -> type[ToolMessage]:
        """Make the tool known, and usable or handled as said; returns the class that was taken in.

        `include_defaults` None leaves what the model is told of it as it was (at first: everything). Raises
        `ConfigurationError` for a tool without a name.
        """
        name = tool.name()
        if not name:
            raise ConfigurationError(
                f"{tool.__name__} has no name: give its field `request` a default, for instance request: str = 'square'"
            )
        if require_recipient and use:
            tool = tool.require_recipient()
            self.addressed.add(name)
        elif self.known.get(name) is not tool:
            self.addressed.discard(name)
        self.known[name] = tool
        self._put(self.usable, name, use and bool(tool.private_default("_allow_llm_use")))
        self._put(self.handled, name, handle)
        if include_defaults is not None:
            self._put(self.bare, name, not include_defaults)
        if handle and getattr(tool, "handle_message_fallback", None) is not None:
            self.fallback_of = name
        self._sets = None
        return tool

    def restrict(self, which: set[str], names: Iterable[str] | None) -> None:
        """Take `names` (None: all) out of `usable` or `handled`."""
        which.difference_update(list(which) if names is None else names)
        self._sets = None

    def copy(self) -> Toolbox:
        other = object.__new__(Toolbox)
        other.known, other.usable, other.handled = dict(self.known), set(self.usable), set(self.handled)
        other.bare, other.addressed, other.fallback_of = set(self.bare), set(self.addressed), self.fallback_of
        other._sets = self._sets
        return other

    def says_as(self, other: Toolbox) -> bool:
        """Return whether both boxes dump the same."""
        return (
            self.usable == other.usable
            and self.handled == other.handled
            and self.known.keys() == other.known.keys()
            and self.bare == other.bare
            and self.addressed == other.addressed
            and self.fallback_of == other.fallback_of
        )

    def dump(self) -> dict[str, list[str]]:
        """The names in the three sets, sorted, and what else was said of tools when they were enabled."""
        return {
            "known": sorted(self.known),
            "usable": sorted(self.usable),
            "handled": sorted(self.handled),
            "bare": sorted(self.bare),
            "addressed": sorted(self.addressed),
            "fallback": [self.fallback_of] if self.fallback_of else [],
        }

    def load(self, names: dict[str, list[str]], registry: Mapping[str, type[ToolMessage]]) -> None:
        """Take over the sets written by `dump`; a name that is no longer known is left out."""
        for name in names.get("known", []):
            if name not in self.known and name in registry:
                self.enable(registry[name], use=False, handle=False)
        self.usable = {name for name in names.get("usable", []) if name in self.known}
        self.handled = {name for name in names.get("handled", []) if name in self.known}
        self.bare = {name for name in names.get("bare", self.bare) if name in self.known}
        self.addressed = {name for name in names.get("addressed", self.addressed) if name in self.known}
        for name in self.addressed:
            self.known[name] = self.known[name].require_recipient()
        self.fallback_of = next(iter(names.get("fallback", [self.fallback_of])), "")
        self._sets = None

    @staticmethod
    def _put(names: set[str], name: str, wanted: bool) -> None:
        if wanted:
            names.add(name)
        else:
            names.discard(name)
