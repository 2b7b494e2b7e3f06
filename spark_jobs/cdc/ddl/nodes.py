"""The parts of statements as values: names, columns, keys, options, partitions.

Expressions stay runs of tokens, since nothing here computes them.
"""

from typing import TypeAlias

import msgspec

from spark_jobs.cdc.ddl.tokens import Token

Tokens: TypeAlias = tuple[Token, ...]


class Node(msgspec.Struct, frozen=True, gc=False):
    """Base of everything in the tree."""


class TableName(Node, frozen=True):
    table: str
    schema: str = ""


class Default(Node, frozen=True):
    """``tokens``: a literal (with its sign), a function call, or the inside of ``( … )`` if ``bracketed``."""

    tokens: Tokens
    bracketed: bool = False


class DataType(Node, frozen=True):
    """``name`` is the base name in TiDB's spelling; ``numbers`` what stands in its parentheses, as written."""

    name: str
    numbers: tuple[int, ...] = ()
    elements: tuple[str, ...] | None = None
    unsigned: bool = False
    zerofill: bool = False
    binary: bool = False
    charset: str = ""
    national: bool = False
    element_type: str = ""


class Attribute(Node, frozen=True):
    """A column option that needs no more than words: NOT NULL, AUTO_INCREMENT, PRIMARY KEY …

    ``kind`` is upper case; ``text`` a value (comment, collation …); ``numbers`` those of AUTO_RANDOM.
    """

    kind: str
    text: str = ""
    numbers: tuple[int, ...] = ()


class DefaultValue(Node, frozen=True):
    value: Default


class OnUpdate(Node, frozen=True):
    value: Default


class Generated(Node, frozen=True):
    expression: Tokens
    stored: bool


class Check(Node, frozen=True):
    expression: Tokens
    name: str = ""
    enforced: bool = True


class IndexPart(Node, frozen=True):
    """A column, or an expression (then ``column`` is "")."""

    column: str
    length: int = 0
    descending: bool = False
    expression: Tokens = ()


class Reference(Node, frozen=True):
    table: TableName
    parts: tuple[IndexPart, ...] = ()
    match: str = ""
    on_delete: str = ""
    on_update: str = ""


class IndexOptions(Node, frozen=True):
    """``kind``: BTREE, HASH …; ``visible`` and ``clustered`` are None where nothing is said."""

    clustered: bool | None = None
    block_size: int = 0
    kind: str = ""
    parser: str = ""
    comment: str = ""
    is_global: bool = False
    pre_split: Tokens = ()
    visible: bool | None = None


ColumnOption: TypeAlias = Attribute | DefaultValue | OnUpdate | Generated | Check | Reference


class ColumnDefinition(Node, frozen=True):
    name: str
    type: DataType
    options: tuple[ColumnOption, ...] = ()


class Key(Node, frozen=True):
    """A key of a table. ``kind``: PRIMARY KEY, INDEX, UNIQUE, FULLTEXT, SPATIAL, VECTOR INDEX, COLUMNAR INDEX, FOREIGN
    KEY. ``symbol``: the name after CONSTRAINT."""

    kind: str
    parts: tuple[IndexPart, ...]
    name: str = ""
    symbol: str = ""
    options: IndexOptions = IndexOptions()
    reference: Reference | None = None
    if_not_exists: bool = False


Constraint: TypeAlias = Key | Check


class Option(Node, frozen=True):
    """A table or database option: ``name`` in its canonical spelling, ``value`` without quotes.

    ``is_default``: the value is the word DEFAULT. ``force``: of FORCE AUTO_INCREMENT. ``tokens``: TTL's interval.
    """

    name: str
    value: str = ""
    is_default: bool = False
    force: bool = False
    tokens: Tokens = ()


class Position(Node, frozen=True):
    """Where a column goes: behind ``after``, or first if that is ""."""

    after: str = ""


class PartitionMethod(Node, frozen=True):
    """``kind``: RANGE, LIST, HASH, KEY. Either ``columns`` or ``expression``."""

    kind: str
    expression: Tokens = ()
    columns: tuple[str, ...] | None = None
    linear: bool = False
    algorithm: int | None = None
    count: int = 0


class PartitionInterval(Node, frozen=True):
    """TiDB's ``INTERVAL (…) FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…)``."""

    step: Tokens
    first: Tokens = ()
    last: Tokens = ()
    null_partition: bool = False
    maxvalue_partition: bool = False


class PartitionDefinition(Node, frozen=True):
    """``less_than`` or ``values_in`` (a list of tuples) hold runs of tokens; ``default``: a list's DEFAULT."""

    name: str
    less_than: tuple[Tokens, ...] | None = None
    values_in: tuple[tuple[Tokens, ...], ...] | None = None
    default: bool = False
    options: tuple[Option, ...] = ()
    subpartitions: tuple["PartitionDefinition", ...] = ()


class Partitioning(Node, frozen=True):
    method: PartitionMethod
    interval: PartitionInterval | None = None
    sub: PartitionMethod | None = None
    definitions: tuple[PartitionDefinition, ...] = ()
    index_scopes: tuple[tuple[str, str], ...] = ()
