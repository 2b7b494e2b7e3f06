"""What a clause of ALTER TABLE does to a table's structure.

Rules

1. Names of columns and indexes are the same in any letter case.
2. A change that has happened already changes nothing (a column to be dropped is not there, the renamed one is): DDL may
   come twice. A column to be added that is there gets the new definition and keeps its place.
3. A change that does not fit what is known raises ``Unfit``: then the structure is not known any more.
4. No server has tables as large as ``MOST_COLUMNS`` and ``MOST_KEYS``; a larger one does not fit either.
5. Indexes are followed only where they are known at all (``TableSchema.indexes``); the key columns always.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from spark_jobs.cdc.ddl import nodes, tree
from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.column_grammar import BINARY_TWINS
from spark_jobs.cdc.ddl.definitions import (
    PRIMARY,
    Charset,
    charset_of,
    column,
    default_value,
    index,
    new_table,
    own_keys,
)
from spark_jobs.cdc.events import Column, Index, TableSchema

replace = msgspec.structs.replace


class Unfit(Exception):
    """The change does not fit the structure as it is known; caught inside this package."""


MOST_COLUMNS: Final = 4096
MOST_KEYS: Final = 1024
MOST_CLAUSES: Final = 4096


def created(change: tree.CreateTable, schema: str) -> TableSchema:
    """The table that a CREATE TABLE with columns makes."""
    if len(change.columns) > MOST_COLUMNS or len(change.constraints) > MOST_KEYS:
        raise Unfit
    table = new_table(change, schema)
    for definition in change.columns:
        table = _with_own_keys(table, definition)
    for constraint in change.constraints:
        table = _add_constraint(table, tree.AddConstraint(constraint))
    return table


def altered(table: TableSchema, specs: tuple[tree.Spec, ...]) -> TableSchema:
    """The table after these clauses, in their order."""
    if len(specs) > MOST_CLAUSES:
        raise Unfit
    table, specs = _with_swaps_apart(table, specs)
    for spec in specs:
        change = _SPECS.get(type(spec))
        if change is not None:
            table = change(table, spec)
    if len(table.columns) > MOST_COLUMNS or len(table.indexes or ()) > MOST_KEYS:
        raise Unfit
    return table


def _with_swaps_apart(table: TableSchema, specs: tuple[tree.Spec, ...]) -> tuple[TableSchema, tuple[tree.Spec, ...]]:
    """Old names mean the columns as they were before the statement: where a new name is another's old one, the old
    ones are moved out of the way first."""
    names = [_old_and_new(spec) for spec in specs]
    olds = {old.lower() for old, _ in names if old}
    if not any(new and new.lower() in olds - {old.lower()} for old, new in names):
        return table, specs
    for old, _ in names:
        if old and _position(table, old) >= 0:
            table = _rename_column(table, tree.RenameColumn(old, _APART + old))
    return table, tuple(
        replace(spec, old=_APART + old) if old else spec for spec, (old, _) in zip(specs, names, strict=True)
    )


_APART: Final = "\0"


def _old_and_new(spec: tree.Spec) -> tuple[str, str]:
    if isinstance(spec, tree.RenameColumn):
        return spec.old, spec.new
    return (spec.old, spec.column.name) if isinstance(spec, tree.ModifyColumn) else ("", "")


def _position(table: TableSchema, name: str) -> int:
    wanted = name.lower()
    return next((at for at, known in enumerate(table.columns) if known.name.lower() == wanted), -1)


def _add_columns(table: TableSchema, spec: tree.AddColumns) -> TableSchema:
    for definition in spec.columns:
        at = _position(table, definition.name)
        if at >= 0 and spec.if_not_exists:
            continue
        if at >= 0:
            table = _redefined(table, at, definition, None)
        else:
            table = _inserted(table, column(definition, Charset(table.charset, table.collation)), spec.position)
            table = _with_own_keys(table, definition)
    for constraint in spec.constraints:
        table = _add_constraint(table, tree.AddConstraint(constraint))
    return table


def _inserted(table: TableSchema, new: Column, position: nodes.Position | None) -> TableSchema:
    at = len(table.columns)
    if position is not None:
        at = 0
        if position.after:
            at = _position(table, position.after) + 1
            if not at:
                raise Unfit
    return replace(table, columns=(*table.columns[:at], new, *table.columns[at:]))


def _with_own_keys(table: TableSchema, definition: nodes.ColumnDefinition) -> TableSchema:
    for key in own_keys(definition):
        there = any(known.unique and known.columns == (definition.name,) for known in table.indexes or ())
        if key.kind == "PRIMARY KEY" or not there:
            table = _add_key(table, key)
    return table


def _drop_column(table: TableSchema, spec: tree.DropColumn) -> TableSchema:
    at = _position(table, spec.name)
    if at < 0:
        return table
    table = replace(table, columns=table.columns[:at] + table.columns[at + 1 :])
    return _with_indexes(table, lambda known: _without_column(known, spec.name))


def _without_column(known: Index, name: str) -> Index | None:
    columns = tuple(part for part in known.columns if part.lower() != name.lower())
    return replace(known, columns=columns) if columns else None


def _with_indexes(table: TableSchema, change: Callable[[Index], Index | None]) -> TableSchema:
    if table.indexes is None:
        return table
    changed = (change(known) for known in table.indexes)
    return replace(table, indexes=tuple(known for known in changed if known is not None))


def _modify_column(table: TableSchema, spec: tree.ModifyColumn) -> TableSchema:
    at = _position(table, spec.old or spec.column.name)
    if at < 0 and spec.old:
        at = _position(table, spec.column.name)
    if at < 0 and spec.if_exists:
        return table
    if at < 0:
        raise Unfit
    return _redefined(table, at, spec.column, spec.position)


def _redefined(
    table: TableSchema, at: int, definition: nodes.ColumnDefinition, position: nodes.Position | None
) -> TableSchema:
    old = table.columns[at]
    new = column(definition, Charset(table.charset, table.collation))
    if old.is_key:
        new = replace(new, is_key=True, nullable=False)
    table = _renamed_in_indexes(table, old.name, new.name)
    rest = table.columns[:at] + table.columns[at + 1 :]
    if position is None:
        table = replace(table, columns=(*rest[:at], new, *rest[at:]))
    else:
        table = _inserted(replace(table, columns=rest), new, position)
    return _with_own_keys(table, definition)


def _renamed_in_indexes(table: TableSchema, old: str, new: str) -> TableSchema:
    def renamed(known: Index) -> Index:
        return replace(known, columns=tuple(new if part.lower() == old.lower() else part for part in known.columns))

    return table if old == new else _with_indexes(table, renamed)


def _rename_column(table: TableSchema, spec: tree.RenameColumn) -> TableSchema:
    at = _position(table, spec.old)
    if at < 0:
        if _position(table, spec.new) < 0:
            raise Unfit
        return table
    return _with_column(_renamed_in_indexes(table, spec.old, spec.new), at, name=spec.new)


def _with_column(table: TableSchema, at: int, **changes: object) -> TableSchema:
    new = replace(table.columns[at], **changes)
    return replace(table, columns=(*table.columns[:at], new, *table.columns[at + 1 :]))


def _alter_default(table: TableSchema, spec: tree.AlterDefault) -> TableSchema:
    at = _position(table, spec.column)
    if at < 0:
        raise Unfit
    default, is_expression = (None, False)
    if spec.value is not None:
        default, is_expression = default_value(spec.value, table.columns[at].type)
    return _with_column(table, at, default=default, default_is_expression=is_expression)


def _add_constraint(table: TableSchema, spec: tree.AddConstraint) -> TableSchema:
    constraint = spec.constraint
    if isinstance(constraint, nodes.Check) or constraint.kind == "FOREIGN KEY":
        return table
    return _add_key(table, constraint)


def _add_key(table: TableSchema, key: nodes.Key) -> TableSchema:
    new = index(key, [known.name for known in table.indexes or ()])
    if new.name == PRIMARY:
        table = _marked(table, new.columns)
    if table.indexes is None:
        return table
    others = tuple(known for known in table.indexes if known.name.lower() != new.name.lower())
    # the primary key comes first, as every catalog lists it
    return replace(table, indexes=(new, *others) if new.name == PRIMARY else (*others, new))


def _marked(table: TableSchema, names: tuple[str, ...]) -> TableSchema:
    for name in names:
        at = _position(table, name)
        if at < 0:
            raise Unfit
        table = _with_column(table, at, is_key=True, nullable=False)
    return table


def _drop_key(table: TableSchema, spec: tree.DropKey) -> TableSchema:
    name = PRIMARY if spec.kind == "PRIMARY KEY" else spec.name
    if spec.kind in ("FOREIGN KEY", "CHECK"):
        return table
    if name.upper() == PRIMARY:
        table = replace(table, columns=tuple(replace(known, is_key=False) for known in table.columns))
    return _with_indexes(table, lambda known: None if known.name.lower() == name.lower() else known)


def _rename_index(table: TableSchema, spec: tree.RenameIndex) -> TableSchema:
    return _with_indexes(
        table, lambda known: replace(known, name=spec.new) if known.name.lower() == spec.old.lower() else known
    )


def _index_visibility(table: TableSchema, spec: tree.IndexVisibility) -> TableSchema:
    return _with_indexes(
        table, lambda known: replace(known, visible=spec.visible) if known.name.lower() == spec.name.lower() else known
    )


def _set_options(table: TableSchema, spec: tree.SetOptions) -> TableSchema:
    values = {option.name: option.value for option in spec.options}
    if "COMMENT" in values:
        table = replace(table, comment=values["COMMENT"])
    if "CHARACTER SET" in values or "COLLATE" in values:
        collation = values.get("COLLATE", "")
        charset = values.get("CHARACTER SET") or charset_of(collation)
        table = replace(table, charset=charset, collation=collation)
        if spec.convert:
            table = replace(table, columns=tuple(_converted(known, charset, collation) for known in table.columns))
    return table


def _converted(known: Column, charset: str, collation: str) -> Column:
    type_ = known.type
    if type_.name not in BINARY_TWINS and type_.name not in ("enum", "set"):
        return known
    if charset == "binary" and type_.name in BINARY_TWINS:
        return replace(known, type=replace(type_, name=BINARY_TWINS[type_.name], charset="", collation=""))
    return replace(known, type=replace(type_, charset=charset, collation=collation))


def _partitioned(table: TableSchema, spec: tree.PartitionBy) -> TableSchema:
    return replace(table, partitioned=True)


def _clause(table: TableSchema, spec: tree.Clause) -> TableSchema:
    return replace(table, partitioned=False) if spec.action is Action.REMOVE_PARTITIONING else table


_SPECS: Final[dict[type, Callable[[TableSchema, Any], TableSchema]]] = {
    tree.AddColumns: _add_columns,
    tree.DropColumn: _drop_column,
    tree.ModifyColumn: _modify_column,
    tree.RenameColumn: _rename_column,
    tree.AlterDefault: _alter_default,
    tree.AddConstraint: _add_constraint,
    tree.DropKey: _drop_key,
    tree.RenameIndex: _rename_index,
    tree.IndexVisibility: _index_visibility,
    tree.SetOptions: _set_options,
    tree.PartitionBy: _partitioned,
    tree.Clause: _clause,
}
