"""Column types and expressions that mean the same on SQLite and PostgreSQL, and the collection of all tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from turnwise.base.json_bounds import MAX_STORED_DEPTH, is_too_deep
from turnwise.errors import UnwritableError

# Every table of the record is in it; `schema` loads the modules that define them.
metadata = sa.MetaData()

Document = sa.JSON(none_as_null=True)
# Searchable, and therefore without NUL characters, which jsonb refuses.
Tags = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
Seconds: sa.Double[float] = sa.Double()


def word(text: str) -> sa.ColumnElement[str]:
    """A constant of the statement itself: a plan that is kept for any value could not use a partial index."""
    return sa.literal_column(f"'{text}'", sa.Text)


def status_is(*statuses: str) -> str:
    """The condition of a partial index or a constraint that a status is one of those, as the text of SQL."""
    words = [f"'{status}'" for status in statuses]
    return f"status = {words[0]}" if len(words) == 1 else f"status IN ({', '.join(words)})"


# For `limit`: with a parameter there, a plan that is kept would have to be good for any number of rows, and is not.
ONE = sa.literal_column("1", sa.Integer)


class Money(TypeDecorator[Decimal]):
    """US dollars: NUMERIC where the database has it, decimal text on SQLite; never a float."""

    impl = sa.Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the storage of `dialect`."""
        return dialect.type_descriptor(sa.Text() if dialect.name == "sqlite" else sa.Numeric())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Write a `Decimal`; a float is a programming error, because it has already lost digits."""
        if value is not None and not isinstance(value, Decimal):
            raise TypeError(f"money is {value!r}; expected a Decimal")
        return str(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """Read a `Decimal`."""
        return None if value is None else Decimal(value)


class now(FunctionElement[float]):
    """The database's clock in seconds since the epoch, read anew at each use."""

    type = Seconds
    inherit_cache = True


@compiles(now, "postgresql")
def _now_postgresql(element: now, compiler: Any, **options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **options: Any) -> str:
    return "turnwise_now()"  # made known to each connection by `Database`


class money_sum(FunctionElement[Decimal]):
    """The sum of two amounts of money."""

    type = Money()
    inherit_cache = True


@compiles(money_sum, "postgresql")
def _sum_postgresql(element: money_sum, compiler: Any, **options: Any) -> str:
    one, other = element.clauses
    return f"{compiler.process(one, **options)} + {compiler.process(other, **options)}"


@compiles(money_sum, "sqlite")
def _sum_sqlite(element: money_sum, compiler: Any, **options: Any) -> str:
    return f"turnwise_sum({compiler.process(element.clauses, **options)})"  # see `Database`


class money_total(FunctionElement[Decimal]):
    """The sum of a column of money over the rows of a group."""

    type = Money()
    inherit_cache = True


@compiles(money_total, "postgresql")
def _total_postgresql(element: money_total, compiler: Any, **options: Any) -> str:
    return f"sum({compiler.process(element.clauses, **options)})"


@compiles(money_total, "sqlite")
def _total_sqlite(element: money_total, compiler: Any, **options: Any) -> str:
    return f"turnwise_total({compiler.process(element.clauses, **options)})"  # see `Database`


class text_bytes(FunctionElement[int]):
    """The bytes of some JSON documents together as they are kept; one that is not there has none."""

    type = sa.Integer()
    inherit_cache = True


@compiles(text_bytes, "postgresql")
def _bytes_postgresql(element: text_bytes, compiler: Any, **options: Any) -> str:
    found = (compiler.process(one, **options) for one in element.clauses)
    return f"({' + '.join(f'coalesce(octet_length(CAST({one} AS text)), 0)' for one in found)})"


@compiles(text_bytes, "sqlite")
def _bytes_sqlite(element: text_bytes, compiler: Any, **options: Any) -> str:
    found = (compiler.process(one, **options) for one in element.clauses)
    return f"({' + '.join(f'coalesce(length(CAST({one} AS BLOB)), 0)' for one in found)})"


class parts_of(FunctionElement[Any]):
    """The parts of a JSON document, for statements: `parts_of(column)["kind"].as_string()`.

    PostgreSQL reads no part of a document that has a NUL or half of a surrogate pair anywhere, and the statement fails
    for all rows. Here U+FFFD stands for them.
    """

    type = Document
    inherit_cache = True


@compiles(parts_of, "postgresql")
def _parts_of_postgresql(element: parts_of, compiler: Any, **options: Any) -> str:
    document = compiler.process(element.clauses, **options)
    text = f"CAST({document} AS text)"
    # Few documents have any such escape. To look for one costs less than to parse the document, which follows.
    replaced = rf"CAST(regexp_replace({text}, '\\u(0000|d[89a-f]..)', '\ufffd', 'g') AS json)"
    return rf"CASE WHEN strpos({text}, '\u') > 0 THEN {replaced} ELSE {document} END"


@compiles(parts_of, "sqlite")
def _parts_of_sqlite(element: parts_of, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


# A value that contains itself ends with a `RecursionError`.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False)


def _pieces_of(value: Any, _level: int) -> tuple[str, ...]:
    return (_ENCODER.encode(value),)


def _encoding() -> Callable[[Any, int], tuple[str, ...]]:
    """Return what encodes a value at level 0 as `_ENCODER` does, in pieces.

    `encode` makes an encoder in C for each value, which takes as long as the encoding of a small one: a turn has a
    dozen. Here one is made for all, where the interpreter has it.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _pieces_of
    text_of = json.encoder.encode_basestring
    encoder: Callable[[Any, int], tuple[str, ...]] = make(
        None, _ENCODER.default, text_of, None, ":", ",", False, False, False
    )
    return encoder


_encoded = _encoding()


def dump_json(value: Any) -> str:
    """Compact JSON in UTF-8, escaped to ASCII only where a lone surrogate cannot be encoded.

    Raises `UnwritableError` for what some reader of the record could not read: here every JSON column passes.
    """
    try:
        text = "".join(_encoded(value, 0))
    except (ValueError, RecursionError) as error:
        raise UnwritableError(f"this cannot be kept as JSON: {error}") from error
    # A shorter text has no room for so many brackets.
    if len(text) > 2 * MAX_STORED_DEPTH and is_too_deep(value, text):
        raise UnwritableError(f"this cannot be kept: it is nested deeper than {MAX_STORED_DEPTH} levels")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":"))
    return text
