"""The grammar of ALTER TABLE: one reader per first word of a clause."""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.column_grammar import column_definition, column_name
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.default_grammar import default_value
from spark_jobs.cdc.ddl.expressions import name as quoted
from spark_jobs.cdc.ddl.expressions import string as quoted_string
from spark_jobs.cdc.ddl.key_grammar import (
    at_constraint,
    constraint,
    if_exists,
    if_not_exists,
    index_parts,
    table_name,
)
from spark_jobs.cdc.ddl.nodes import (
    ColumnDefinition,
    Constraint,
    Position,
)
from spark_jobs.cdc.ddl.option_grammar import charset_option, table_options
from spark_jobs.cdc.ddl.partition_clauses import PARTITION_CLAUSES, add_partitions, attributes_text
from spark_jobs.cdc.ddl.tree import (
    AddColumns,
    AddConstraint,
    AlterCheck,
    AlterDefault,
    BoundPartition,
    Clause,
    DropColumn,
    DropKey,
    IndexVisibility,
    ModifyColumn,
    OnPartitions,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetOptions,
    Spec,
)


def alter_specs(cursor: Cursor) -> tuple[Spec, ...]:
    """The clauses behind ``ALTER TABLE t``; PARTITION BY and a few others need no comma before them."""
    specs: list[Spec] = []
    while not cursor.at_end:
        specs.append(_spec(cursor))
        if cursor.accept(",") and cursor.at_end:
            cursor.fail("a clause")
    return tuple(specs)


def _spec(cursor: Cursor) -> Spec:
    options = table_options(cursor, commas=False)
    if options:
        return SetOptions(options)
    read = _SPECS.get(cursor.peek().word)
    return read(cursor) if read else cursor.fail("a clause of ALTER TABLE")


def _add(cursor: Cursor) -> Spec:
    cursor.expect("ADD")
    if cursor.accept("PARTITION"):
        return add_partitions(cursor)
    if cursor.accept("STATS_EXTENDED"):
        return Clause(f"ADD STATS_EXTENDED {_rest_of_clause(cursor)}")
    if cursor.accept("SYSTEM", "VERSIONING"):
        return Clause("ADD SYSTEM VERSIONING")
    if at_constraint(cursor):
        return AddConstraint(constraint(cursor))
    cursor.accept("COLUMN")
    exists = if_not_exists(cursor)
    if cursor.accept("("):
        return _bracketed_columns(cursor, exists)
    return AddColumns((column_definition(cursor),), (), position(cursor), exists)


def _bracketed_columns(cursor: Cursor, exists: bool) -> AddColumns:
    columns: list[ColumnDefinition] = []
    constraints: list[Constraint] = []
    for element in cursor.listed(table_element):
        if isinstance(element, ColumnDefinition):
            columns.append(element)
        else:
            constraints.append(element)
    cursor.expect(")")
    return AddColumns(tuple(columns), tuple(constraints), None, exists, bracketed=True)


def table_element(cursor: Cursor) -> ColumnDefinition | Constraint:
    """A column or a constraint."""
    return constraint(cursor) if at_constraint(cursor) else column_definition(cursor)


def position(cursor: Cursor) -> Position | None:
    """``FIRST`` or ``AFTER column``, if it stands here."""
    if cursor.accept("FIRST"):
        return Position()
    return Position(column_name(cursor)) if cursor.accept("AFTER") else None


def _drop(cursor: Cursor) -> Spec:
    cursor.expect("DROP")
    if cursor.accept("PARTITION"):
        exists = if_exists(cursor)
        return OnPartitions("DROP", cursor.listed(Cursor.name), exists)
    if cursor.accept("FIRST", "PARTITION", "LESS", "THAN"):
        return BoundPartition("FIRST", cursor.group())
    if cursor.accept("PRIMARY", "KEY"):
        return DropKey("PRIMARY KEY")
    if cursor.accept("SYSTEM", "VERSIONING"):
        return Clause("DROP SYSTEM VERSIONING")
    if cursor.accept("STATS_EXTENDED"):
        return Clause(f"DROP STATS_EXTENDED {_rest_of_clause(cursor)}")
    for words, kind in _DROPPED_KEYS:
        if cursor.at(*words) and _names_something(cursor, len(words)):
            cursor.expect(*words)
            exists = if_exists(cursor)
            return DropKey(kind, cursor.name(), exists)
    cursor.accept("COLUMN")
    exists = if_exists(cursor)
    column = DropColumn(column_name(cursor), exists)
    cursor.accept_any(("RESTRICT", "CASCADE"))
    return column


_DROPPED_KEYS: Final = (
    (("FOREIGN", "KEY"), "FOREIGN KEY"),
    (("INDEX",), "INDEX"),
    (("KEY",), "INDEX"),
    (("CHECK",), "CHECK"),
    (("CONSTRAINT",), "CONSTRAINT"),
)


def _names_something(cursor: Cursor, ahead: int) -> bool:
    return cursor.peek(ahead).word not in (",", ";", "") or bool(cursor.peek(ahead).text)


def _modify(cursor: Cursor) -> Spec:
    cursor.expect("MODIFY")
    cursor.accept("COLUMN")
    exists = if_exists(cursor)
    return ModifyColumn(column_definition(cursor), "", position(cursor), exists)


def _change(cursor: Cursor) -> Spec:
    cursor.expect("CHANGE")
    cursor.accept("COLUMN")
    exists = if_exists(cursor)
    old = column_name(cursor)
    return ModifyColumn(column_definition(cursor), old, position(cursor), exists)


def _rename(cursor: Cursor) -> Spec:
    cursor.expect("RENAME")
    if cursor.accept("COLUMN"):
        if_exists(cursor)
        old = column_name(cursor)
        cursor.expect("TO")
        return RenameColumn(old, column_name(cursor))
    if cursor.accept_any(("INDEX", "KEY")):
        if_exists(cursor)
        old = cursor.name()
        cursor.expect("TO")
        return RenameIndex(old, cursor.name())
    cursor.accept_any(("TO", "AS", "="))
    return RenameTo(table_name(cursor))


def _alter(cursor: Cursor) -> Spec:
    cursor.expect("ALTER")
    if cursor.accept_any(("INDEX", "KEY")):
        if_exists(cursor)
        return IndexVisibility(cursor.name(), _visibility(cursor))
    if cursor.at("CHECK") or cursor.at("CONSTRAINT"):
        cursor.next()
        name = cursor.name()
        enforced = not cursor.accept("NOT")
        cursor.expect("ENFORCED")
        return AlterCheck(name, enforced)
    cursor.accept("COLUMN")
    if_exists(cursor)
    return _alter_column(cursor, column_name(cursor))


def _visibility(cursor: Cursor) -> bool:
    if cursor.accept("NOT", "IGNORED"):
        return True
    word = cursor.accept_any(("VISIBLE", "INVISIBLE", "IGNORED")) or cursor.fail("VISIBLE or INVISIBLE")
    return word == "VISIBLE"


def _alter_column(cursor: Cursor, column: str) -> Spec:
    if cursor.accept("DROP"):
        cursor.expect("DEFAULT")
        return AlterDefault(column, None)
    cursor.expect("SET")
    if visible := cursor.accept_any(("VISIBLE", "INVISIBLE")):
        return Clause(f"ALTER COLUMN {quoted(column)} SET {visible}")
    cursor.expect("DEFAULT")
    return AlterDefault(column, default_value(cursor))


def _convert(cursor: Cursor) -> Spec:
    cursor.expect("CONVERT", "TO")
    charset = charset_option(cursor)
    if cursor.at("COLLATE"):
        return SetOptions((charset, charset_option(cursor)), convert=True)
    return SetOptions((charset,), convert=True)


def _remove(cursor: Cursor) -> Spec:
    cursor.expect("REMOVE")
    if cursor.accept("TTL"):
        return Clause("/*T![ttl] REMOVE TTL */", Action.REMOVE_TTL)
    cursor.expect("PARTITIONING")
    return Clause("REMOVE PARTITIONING", Action.REMOVE_PARTITIONING)


def _set(cursor: Cursor) -> Spec:
    cursor.expect("SET")
    hypo = " HYPO" if cursor.accept("HYPO") else ""
    cursor.expect("TIFLASH", "REPLICA")
    text = f"SET{hypo} TIFLASH REPLICA {cursor.integer()}"
    if cursor.accept("LOCATION", "LABELS"):
        text += f" LOCATION LABELS {', '.join(map(quoted_string, cursor.listed(Cursor.string)))}"
    return Clause(text, Action.SET_TIFLASH_REPLICA)


def _attributes(cursor: Cursor) -> Spec:
    return Clause(attributes_text(cursor), Action.TABLE_ATTRIBUTES)


def _stats_options(cursor: Cursor) -> Spec:
    return Clause(attributes_text(cursor), Action.STATS_OPTIONS)


def _assigned(cursor: Cursor) -> Spec:
    word = cursor.next().word
    cursor.accept("=")
    return Clause(f"{word} = {cursor.next().word or cursor.fail('a word')}")


def _read_only(cursor: Cursor) -> Spec:
    cursor.expect("READ")
    return Clause(f"READ {cursor.accept_any(('ONLY', 'WRITE')) or cursor.fail('ONLY or WRITE')}")


def _order(cursor: Cursor) -> Spec:
    cursor.expect("ORDER", "BY")
    parts = [quoted(column_name(cursor)) + (" DESC" if cursor.accept_any(("ASC", "DESC")) == "DESC" else "")]
    while cursor.at(",") and cursor.peek(2).word in (",", "", ";", "ASC", "DESC"):
        cursor.next()
        parts.append(quoted(column_name(cursor)) + (" DESC" if cursor.accept_any(("ASC", "DESC")) == "DESC" else ""))
    return Clause(f"ORDER BY {','.join(parts)}")


def _words(*words: str, action: Action = Action.NONE) -> Callable[[Cursor], Spec]:
    def read(cursor: Cursor) -> Spec:
        cursor.expect(*words)
        return Clause(" ".join(words), action)

    return read


def _force(cursor: Cursor) -> Spec:
    cursor.expect("FORCE")
    return Clause("FORCE /* AlterTableForce is not supported */ ")


def _rest_of_clause(cursor: Cursor) -> str:
    exists = "IF EXISTS " if if_exists(cursor) else "IF NOT EXISTS " if if_not_exists(cursor) else ""
    text = f"{exists}{quoted(cursor.name())}"
    if kind := cursor.accept_any(("CARDINALITY", "DEPENDENCY", "CORRELATION")):
        text += f" {kind}({', '.join(quoted(part.column) for part in index_parts(cursor))})"
    return text


_SPECS: Final[dict[str, Callable[[Cursor], Spec]]] = {
    "ADD": _add,
    "DROP": _drop,
    "MODIFY": _modify,
    "CHANGE": _change,
    "RENAME": _rename,
    "ALTER": _alter,
    "CONVERT": _convert,
    "REMOVE": _remove,
    "SET": _set,
    "ATTRIBUTES": _attributes,
    "STATS_OPTIONS": _stats_options,
    "LOCK": _assigned,
    "ALGORITHM": _assigned,
    "ORDER": _order,
    "FORCE": _force,
    "CACHE": _words("CACHE", action=Action.TABLE_CACHE),
    "NOCACHE": _words("NOCACHE", action=Action.TABLE_NOCACHE),
    "ENABLE": _words("ENABLE", "KEYS"),
    "DISABLE": _words("DISABLE", "KEYS"),
    "WITH": _words("WITH", "VALIDATION"),
    "WITHOUT": _words("WITHOUT", "VALIDATION"),
    "UPGRADE": _words("UPGRADE", "PARTITIONING"),
    "SECONDARY_LOAD": _words("SECONDARY_LOAD"),
    "SECONDARY_UNLOAD": _words("SECONDARY_UNLOAD"),
    "READ": _read_only,
} | PARTITION_CLAUSES
