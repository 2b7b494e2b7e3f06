"""The normalised text of a statement, as TiCDC hands it to queues and storage.

Rules

1. Keywords in upper case, names in backquotes, strings in single quotes; one blank between options, ``,`` without a
   blank between the elements of CREATE TABLE, columns before keys, ``, `` between the clauses of ALTER TABLE.
2. What only TiDB understands stands in ``/*T! … */`` or ``/*T![feature] … */``.
3. Placement is left out; a statement that says nothing else has the text "". Where an option is left out, the blank
   before it stays.
4. TTL is written with ``TTL_ENABLE = 'OFF'`` behind it; a TTL_ENABLE of the text is left out.
5. Dropping and renaming tables is written with the schema, everything else as the statement says it.
"""

from collections.abc import Callable
from typing import Any, Final

from spark_jobs.cdc.ddl import nodes, tree
from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.expressions import name, render, string
from spark_jobs.cdc.ddl.parts_text import (
    column_text,
    constraint_text,
    definition_text,
    index_options_text,
    join,
    options_text,
    partitioning_text,
    parts_text,
    table_text,
)


def statement_text(change: tree.Change, charset: str = "", schema: str = "") -> str:
    """The normalised text; ``charset`` is the connection's, ``schema`` the current database. "" if nothing is left."""
    return _STATEMENTS[type(change)](change, charset, schema)


def _create_table(table: tree.CreateTable, charset: str, schema: str) -> str:
    head = join("CREATE", "OR REPLACE" if table.or_replace else "", table.temporary, "TABLE")
    text = join(head, "IF NOT EXISTS" if table.if_not_exists else "", table_text(table.name))
    if table.like is not None:
        text += f" LIKE {table_text(table.like)}"
    elements = [column_text(column, charset) for column in table.columns]
    elements += [constraint_text(constraint, charset) for constraint in table.constraints]
    if elements:
        text += f" ({','.join(elements)})"
    text += "".join(f" {option}" for option in options_text(table.options))
    if table.partitioning is not None:
        text += f" {partitioning_text(table.partitioning, charset)}"
    if table.select:
        text += f" {join(table.on_duplicate, 'AS')} {render(table.select, charset)}"
    return text + (f" ON COMMIT {table.on_commit} ROWS" if table.on_commit else "")


def _create_database(change: tree.CreateDatabase, charset: str, schema: str) -> str:
    exists = "IF NOT EXISTS " if change.if_not_exists else ""
    options = "".join(f" {_database_option(option)}" for option in change.options)
    return f"CREATE DATABASE {exists}{name(change.name)}{options}"


def _alter_database(change: tree.AlterDatabase, charset: str, schema: str) -> str:
    if all(option.name == "PLACEMENT POLICY" for option in change.options):
        return ""
    named = f" {name(change.name)}" if change.name else ""
    return f"ALTER DATABASE{named}{''.join(f' {_database_option(option)}' for option in change.options)}"


def _database_option(option: nodes.Option) -> str:
    if option.name == "PLACEMENT POLICY":
        return ""
    if option.tokens:
        return f"{option.name} {render(option.tokens)}"
    quoted = option.name in ("ENCRYPTION", "COMMENT")
    return f"{option.name} = {'DEFAULT' if option.is_default else string(option.value) if quoted else option.value}"


def _drop_table(change: tree.DropTable, charset: str, schema: str) -> str:
    kind = "VIEW" if change.view else join(change.temporary, "TABLE")
    return f"DROP {kind} {'IF EXISTS ' if change.if_exists else ''}{table_text(change.table, schema)}"


def _create_index(change: tree.CreateIndex, charset: str, schema: str) -> str:
    key = change.key
    kind = key.kind if key.kind.endswith("INDEX") else f"{key.kind} INDEX"
    exists = "IF NOT EXISTS " if key.if_not_exists else ""
    head = f"CREATE {kind} {exists}{name(key.name)} ON {table_text(change.table)} ({parts_text(key.parts, charset)})"
    return join(head, index_options_text(key.options), change.tail)


def _drop_index(change: tree.DropIndex, charset: str, schema: str) -> str:
    exists = "IF EXISTS " if change.if_exists else ""
    return join(f"DROP INDEX {exists}{name(change.name)} ON {table_text(change.table)}", change.tail)


def _create_view(view: tree.CreateView, charset: str, schema: str) -> str:
    user = "CURRENT_USER" if view.definer is None else f"{name(view.definer[0])}@{name(view.definer[1])}"
    columns = f" ({','.join(map(name, view.columns))})" if view.columns else ""
    check = f" WITH {view.check_option} CHECK OPTION" if view.check_option == "LOCAL" else ""
    return (
        f"CREATE {'OR REPLACE ' if view.or_replace else ''}ALGORITHM = {view.algorithm} DEFINER = {user} "
        f"SQL SECURITY {view.security} VIEW {table_text(view.name)}{columns} AS {render(view.select, charset)}{check}"
    )


def _recover(change: tree.RecoverTable, charset: str, schema: str) -> str:
    if change.table is None:
        return f"RECOVER TABLE BY JOB {change.job}"
    target = f" TO {name(change.new_name)}" if change.new_name else f" {change.job}" if change.job else ""
    return f"{'FLASHBACK' if change.flashback else 'RECOVER'} TABLE {table_text(change.table)}{target}"


def _alter_table(change: tree.AlterTable, charset: str, schema: str) -> str:
    if change.specs and all(isinstance(spec, tree.PartitionPlacement) for spec in change.specs):
        return ""
    qualifier = schema if any(_needs_schema(spec, schema) for spec in change.specs) else ""
    text = f"ALTER TABLE {table_text(change.table, qualifier)}"
    first = True
    for spec in change.specs:
        clause = _SPECS[type(spec)](spec, charset, schema)
        if clause:
            text += (" " if first or _needs_no_comma(spec) else ", ") + clause
            first = False
    return text


def _needs_schema(spec: tree.Spec, schema: str) -> bool:
    # a table that moves to another database is announced under the new one: the old name must say the old one
    moved = isinstance(spec, tree.RenameTo) and spec.table.schema not in ("", schema)
    return moved or isinstance(spec, tree.ExchangePartition)


def _needs_no_comma(spec: tree.Spec) -> bool:
    if isinstance(spec, tree.Clause):
        return spec.action is Action.REMOVE_PARTITIONING or spec.text.endswith(" TABLESPACE")
    return isinstance(spec, tree.PartitionBy)


def _add_columns(spec: tree.AddColumns, charset: str, schema: str) -> str:
    head = f"ADD COLUMN {'IF NOT EXISTS ' if spec.if_not_exists else ''}"
    if not spec.bracketed:
        return join(head + column_text(spec.columns[0], charset), _position(spec.position))
    elements = [column_text(column, charset) for column in spec.columns]
    elements += [constraint_text(constraint, charset) for constraint in spec.constraints]
    return f"{head}({', '.join(elements)})"


def _position(position: nodes.Position | None) -> str:
    if position is None:
        return ""
    return f"AFTER {name(position.after)}" if position.after else "FIRST"


def _modify_column(spec: tree.ModifyColumn, charset: str, schema: str) -> str:
    verb = "CHANGE" if spec.old else "MODIFY"
    old = f"{name(spec.old)} " if spec.old else ""
    column = f"{verb} COLUMN {'IF EXISTS ' if spec.if_exists else ''}{old}{column_text(spec.column, charset)}"
    return join(column, _position(spec.position))


def _alter_default(spec: tree.AlterDefault, charset: str, schema: str) -> str:
    if spec.value is None:
        return f"ALTER COLUMN {name(spec.column)} DROP DEFAULT"
    text = render(spec.value.tokens, charset)
    is_value = not spec.value.bracketed and (len(spec.value.tokens) == 1 or text.endswith("'"))
    return f"ALTER COLUMN {name(spec.column)} SET DEFAULT {text if is_value else f'({text})'}"


def _drop_key(spec: tree.DropKey, charset: str, schema: str) -> str:
    kind = "CHECK" if spec.kind == "CONSTRAINT" else spec.kind
    return join(f"DROP {kind}", "IF EXISTS" if spec.if_exists else "", name(spec.name) if spec.name else "")


def _set_options(spec: tree.SetOptions, charset: str, schema: str) -> str:
    kinds = [option.name for option in spec.options]
    convert = "CONVERT TO " if spec.convert else ""
    words = ["DEFAULT" if option.is_default else option.value.upper() for option in spec.options]
    if kinds == ["CHARACTER SET", "COLLATE"]:
        return f"{convert}CHARACTER SET {words[0]} COLLATE {words[1]}"
    if convert or (kinds[0] == "CHARACTER SET" and spec.options[0].is_default):
        return f"{convert}CHARACTER SET {words[0]}"
    if all(kind == "PLACEMENT POLICY" for kind in kinds):
        return ""
    return " ".join(options_text(spec.options))


def _add_partitions(spec: tree.AddPartitions, charset: str, schema: str) -> str:
    definitions = ", ".join(definition_text(definition, charset) for definition in spec.definitions)
    return join(
        "ADD PARTITION",
        "IF NOT EXISTS" if spec.if_not_exists else "",
        "NO_WRITE_TO_BINLOG" if spec.local else "",
        f"({definitions})" if definitions else f"PARTITIONS {spec.count}" if spec.count else "",
    )


def _on_partitions(spec: tree.OnPartitions, charset: str, schema: str) -> str:
    names = "ALL" if spec.names is None else ",".join(map(name, spec.names))
    tail = "TABLESPACE" if spec.verb in ("IMPORT", "DISCARD") else ""
    local = "NO_WRITE_TO_BINLOG" if spec.local and spec.verb in ("OPTIMIZE", "REPAIR", "REBUILD") else ""
    return join(f"{spec.verb} PARTITION", "IF EXISTS" if spec.if_exists else "", local, names, tail)


def _reorganize(spec: tree.ReorganizePartitions, charset: str, schema: str) -> str:
    head = f"REORGANIZE PARTITION{' NO_WRITE_TO_BINLOG' if spec.local else ''}"
    if not spec.names:
        return head
    definitions = ", ".join(definition_text(definition, charset) for definition in spec.definitions)
    return f"{head} {','.join(map(name, spec.names))} INTO ({definitions})"


def _exchange(spec: tree.ExchangePartition, charset: str, schema: str) -> str:
    validation = "" if spec.validation else " WITHOUT VALIDATION"
    return f"EXCHANGE PARTITION {name(spec.partition)} WITH TABLE {table_text(spec.table, schema)}{validation}"


def _bound(spec: tree.BoundPartition, charset: str, schema: str) -> str:
    return f"{spec.verb} PARTITION LESS THAN ({render(spec.bound, charset)})"


def _alter_check(spec: tree.AlterCheck, charset: str, schema: str) -> str:
    return f"ALTER CHECK {name(spec.name)} {'' if spec.enforced else 'NOT '}ENFORCED"


_SPECS: Final[dict[type, Callable[[Any, str, str], str]]] = {
    tree.AddColumns: _add_columns,
    tree.DropColumn: lambda spec, charset, schema: (
        f"DROP COLUMN {'IF EXISTS ' if spec.if_exists else ''}{name(spec.name)}"
    ),
    tree.ModifyColumn: _modify_column,
    tree.RenameColumn: lambda spec, charset, schema: f"RENAME COLUMN {name(spec.old)} TO {name(spec.new)}",
    tree.AlterDefault: _alter_default,
    tree.AddConstraint: lambda spec, charset, schema: f"ADD {constraint_text(spec.constraint, charset)}",
    tree.DropKey: _drop_key,
    tree.RenameIndex: lambda spec, charset, schema: f"RENAME INDEX {name(spec.old)} TO {name(spec.new)}",
    tree.IndexVisibility: lambda spec, charset, schema: (
        f"ALTER INDEX {name(spec.name)} {'VISIBLE' if spec.visible else 'INVISIBLE'}"
    ),
    tree.AlterCheck: _alter_check,
    tree.RenameTo: lambda spec, charset, schema: f"RENAME AS {table_text(spec.table)}",
    tree.SetOptions: _set_options,
    tree.PartitionBy: lambda spec, charset, schema: partitioning_text(spec.partitioning, charset),
    tree.AddPartitions: _add_partitions,
    tree.OnPartitions: _on_partitions,
    tree.ReorganizePartitions: _reorganize,
    tree.ExchangePartition: _exchange,
    tree.BoundPartition: _bound,
    tree.PartitionPlacement: lambda spec, charset, schema: "",
    tree.Clause: lambda spec, charset, schema: spec.text,
}


_STATEMENTS: Final[dict[type, Callable[[Any, str, str], str]]] = {
    tree.CreateDatabase: _create_database,
    tree.AlterDatabase: _alter_database,
    tree.DropDatabase: lambda change, charset, schema: (
        f"DROP DATABASE {'IF EXISTS ' if change.if_exists else ''}{name(change.name)}"
    ),
    tree.CreateTable: _create_table,
    tree.AlterTable: _alter_table,
    tree.DropTable: _drop_table,
    tree.RenameTable: lambda change, charset, schema: (
        f"RENAME TABLE {table_text(change.old, schema)} TO {table_text(change.new, schema)}"
    ),
    tree.TruncateTable: lambda change, charset, schema: f"TRUNCATE TABLE {table_text(change.table)}",
    tree.CreateIndex: _create_index,
    tree.DropIndex: _drop_index,
    tree.CreateView: _create_view,
    tree.RecoverTable: _recover,
}
