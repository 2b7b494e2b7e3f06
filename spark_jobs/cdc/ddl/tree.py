"""Statements as values: everything that a table's structure or the normalised text needs.

A statement is one of ``Change``; ``AlterTable`` holds one ``Spec`` per clause. Names are as written: a table's schema
is "" where the statement does not say it.
"""

from typing import TypeAlias

from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.nodes import (
    ColumnDefinition,
    Constraint,
    Default,
    Key,
    Node,
    Option,
    PartitionDefinition,
    Partitioning,
    Position,
    TableName,
    Tokens,
)


class AddColumns(Node, frozen=True):
    """``bracketed``: written as ``ADD (a …, b …)``; only then may there be several columns, or constraints."""

    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[Constraint, ...] = ()
    position: Position | None = None
    if_not_exists: bool = False
    bracketed: bool = False


class DropColumn(Node, frozen=True):
    name: str
    if_exists: bool = False


class ModifyColumn(Node, frozen=True):
    """MODIFY, or CHANGE if ``old`` says the column's name until now."""

    column: ColumnDefinition
    old: str = ""
    position: Position | None = None
    if_exists: bool = False


class RenameColumn(Node, frozen=True):
    old: str
    new: str


class AlterDefault(Node, frozen=True):
    """SET DEFAULT, or DROP DEFAULT if ``value`` is None."""

    column: str
    value: Default | None


class AddConstraint(Node, frozen=True):
    constraint: Constraint


class DropKey(Node, frozen=True):
    """``kind``: PRIMARY KEY, INDEX, FOREIGN KEY, CHECK or CONSTRAINT (any of the latter three)."""

    kind: str
    name: str = ""
    if_exists: bool = False


class RenameIndex(Node, frozen=True):
    old: str
    new: str


class IndexVisibility(Node, frozen=True):
    name: str
    visible: bool


class AlterCheck(Node, frozen=True):
    name: str
    enforced: bool


class RenameTo(Node, frozen=True):
    table: TableName


class SetOptions(Node, frozen=True):
    """Table options that stand together. ``convert``: CONVERT TO CHARACTER SET."""

    options: tuple[Option, ...]
    convert: bool = False


class PartitionBy(Node, frozen=True):
    partitioning: Partitioning


class AddPartitions(Node, frozen=True):
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    local: bool = False


class OnPartitions(Node, frozen=True):
    """DROP, TRUNCATE, CHECK … of partitions; ``names`` None is ALL; ``local``: not for the binlog."""

    verb: str
    names: tuple[str, ...] | None
    if_exists: bool = False
    local: bool = False


class ReorganizePartitions(Node, frozen=True):
    names: tuple[str, ...] = ()
    definitions: tuple[PartitionDefinition, ...] = ()
    local: bool = False


class ExchangePartition(Node, frozen=True):
    partition: str
    table: TableName
    validation: bool = True


class BoundPartition(Node, frozen=True):
    """TiDB's FIRST / LAST / SPLIT MAXVALUE / MERGE FIRST PARTITION LESS THAN (…)."""

    verb: str
    bound: Tokens


class PartitionPlacement(Node, frozen=True):
    """``PARTITION p PLACEMENT POLICY …``, which never leaves TiDB."""

    partition: str


class Clause(Node, frozen=True):
    """A clause that changes no structure: LOCK, ALGORITHM, CACHE, TiFlash … ``text`` is its normalised form."""

    text: str
    action: Action = Action.NONE


Spec: TypeAlias = (
    AddColumns
    | DropColumn
    | ModifyColumn
    | RenameColumn
    | AlterDefault
    | AddConstraint
    | DropKey
    | RenameIndex
    | IndexVisibility
    | AlterCheck
    | RenameTo
    | SetOptions
    | PartitionBy
    | AddPartitions
    | OnPartitions
    | ReorganizePartitions
    | ExchangePartition
    | BoundPartition
    | PartitionPlacement
    | Clause
)


class CreateDatabase(Node, frozen=True):
    name: str
    if_not_exists: bool = False
    options: tuple[Option, ...] = ()


class AlterDatabase(Node, frozen=True):
    """``name`` "" is the current database."""

    name: str
    options: tuple[Option, ...]


class DropDatabase(Node, frozen=True):
    name: str
    if_exists: bool = False


class CreateTable(Node, frozen=True):
    """``temporary``: "", TEMPORARY or GLOBAL TEMPORARY. ``select``: the query that fills it, if there is one;
    ``on_duplicate``: IGNORE or REPLACE before it."""

    name: TableName
    columns: tuple[ColumnDefinition, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    options: tuple[Option, ...] = ()
    partitioning: Partitioning | None = None
    like: TableName | None = None
    select: Tokens = ()
    on_duplicate: str = ""
    if_not_exists: bool = False
    or_replace: bool = False
    temporary: str = ""
    on_commit: str = ""


class AlterTable(Node, frozen=True):
    table: TableName
    specs: tuple[Spec, ...]


class DropTable(Node, frozen=True):
    """One table or view; a list is cut into one of these each."""

    table: TableName
    if_exists: bool = False
    view: bool = False
    temporary: str = ""


class RenameTable(Node, frozen=True):
    old: TableName
    new: TableName


class TruncateTable(Node, frozen=True):
    table: TableName


class CreateIndex(Node, frozen=True):
    """``tail``: LOCK and ALGORITHM, normalised."""

    table: TableName
    key: Key
    tail: str = ""


class DropIndex(Node, frozen=True):
    name: str
    table: TableName
    if_exists: bool = False
    tail: str = ""


class CreateView(Node, frozen=True):
    name: TableName
    select: Tokens
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: tuple[str, str] | None = None
    security: str = "DEFINER"
    check_option: str = ""


class RecoverTable(Node, frozen=True):
    """RECOVER TABLE t or FLASHBACK TABLE t TO new; ``table`` is None for RECOVER TABLE BY JOB."""

    table: TableName | None
    job: int = 0
    flashback: bool = False
    new_name: str = ""


class Other(Node, frozen=True):
    """A statement that changes no table's structure, and is passed on as it is, or not at all if ``dropped``."""

    action: Action = Action.NONE
    tables: tuple[TableName, ...] = ()
    schema: str = ""
    dropped: bool = False


Change: TypeAlias = (
    CreateDatabase
    | AlterDatabase
    | DropDatabase
    | CreateTable
    | AlterTable
    | DropTable
    | RenameTable
    | TruncateTable
    | CreateIndex
    | DropIndex
    | CreateView
    | RecoverTable
    | Other
)
