"""The base of records that are made and changed many times in a turn."""

from __future__ import annotations

from typing import Any, Self

from turnwise.base.json_value import Json


class RowRecord:
    """A record with many fields that is made and changed many times in a turn.

    Its subclasses are frozen dataclasses without slots. `dataclasses.replace` sets every field by a call of its own,
    which takes 20 us for a run; here a dict is copied.
    """

    @classmethod
    def of(cls, values: Json) -> Self:
        """Return a record of these values, which have to be those of all fields."""
        made = object.__new__(cls)
        made.__dict__.update(values)
        return made

    def changed(self, **values: Any) -> Self:
        """Return the record with other values in the fields that are named."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **values)
        return made
