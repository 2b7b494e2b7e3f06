"""Which action a parsed statement is, and which tables it is about.

Rules

1. ALTER TABLE with one clause is that clause's action, with several clauses (several columns in brackets count as
   several) it is a multi-schema change; LOCK, ALGORITHM and the like are no clauses in this sense.
2. The message's table is the new name of a renamed table, and the partitioned table of an exchange.
"""

from typing import Final

from spark_jobs.cdc.ddl import nodes, tree
from spark_jobs.cdc.ddl.actions import Action

TableId = tuple[str, str]
"""Schema and table."""


def action_of(change: tree.Change) -> Action:
    """The statement's action."""
    if isinstance(change, tree.AlterTable):
        return _alter_action(change)
    if isinstance(change, tree.CreateIndex):
        return _key_action(change.key)
    if isinstance(change, tree.DropIndex):
        return Action.DROP_PRIMARY_KEY if change.name.upper() == "PRIMARY" else Action.DROP_INDEX
    if isinstance(change, tree.DropTable):
        return Action.DROP_VIEW if change.view else Action.DROP_TABLE
    if isinstance(change, tree.AlterDatabase):
        return _database_action(change)
    return change.action if isinstance(change, tree.Other) else _STATEMENT_ACTIONS[type(change)]


_STATEMENT_ACTIONS: Final = {
    tree.CreateDatabase: Action.CREATE_SCHEMA,
    tree.DropDatabase: Action.DROP_SCHEMA,
    tree.CreateTable: Action.CREATE_TABLE,
    tree.RenameTable: Action.RENAME_TABLE,
    tree.TruncateTable: Action.TRUNCATE_TABLE,
    tree.CreateView: Action.CREATE_VIEW,
    tree.RecoverTable: Action.RECOVER_TABLE,
}


def _database_action(change: tree.AlterDatabase) -> Action:
    actions = {_DATABASE_OPTIONS.get(option.name, Action.NONE) for option in change.options}
    return next((action for action in _DATABASE_OPTIONS.values() if action in actions), Action.NONE)


_DATABASE_OPTIONS: Final = {
    "CHARACTER SET": Action.MODIFY_SCHEMA_CHARSET,
    "COLLATE": Action.MODIFY_SCHEMA_CHARSET,
    "PLACEMENT POLICY": Action.SCHEMA_PLACEMENT,
    "SET TIFLASH REPLICA": Action.SET_TIFLASH_REPLICA,
    "READ ONLY": Action.SCHEMA_READ_ONLY,
}


def _alter_action(change: tree.AlterTable) -> Action:
    actions = [action for spec in change.specs for action in _spec_actions(spec) if action is not Action.NONE]
    if not actions:
        return Action.NONE
    return actions[0] if len(actions) == 1 else Action.MULTI_SCHEMA_CHANGE


def _spec_actions(spec: tree.Spec) -> list[Action]:
    if isinstance(spec, tree.AddColumns):
        keys = [_key_action(key) for key in spec.constraints]
        return [Action.ADD_COLUMN] * len(spec.columns) + keys
    if isinstance(spec, tree.AddConstraint):
        return [_key_action(spec.constraint)]
    if isinstance(spec, tree.DropKey):
        return [Action.DROP_PRIMARY_KEY if spec.name.upper() == "PRIMARY" else _DROPPED_KEYS[spec.kind]]
    if isinstance(spec, tree.SetOptions):
        # options of one clause that mean the same, as charset and collation do, are one change
        found = [_TABLE_OPTIONS.get(option.name, Action.NONE) for option in spec.options]
        return list(dict.fromkeys(action for action in found if action is not Action.NONE))
    if isinstance(spec, tree.OnPartitions):
        return [_PARTITION_VERBS.get(spec.verb, Action.NONE)]
    if isinstance(spec, tree.BoundPartition):
        return [_BOUND_VERBS[spec.verb]]
    return [spec.action if isinstance(spec, tree.Clause) else _SPEC_ACTIONS[type(spec)]]


def _key_action(constraint: nodes.Constraint) -> Action:
    if isinstance(constraint, nodes.Check):
        return Action.ADD_CHECK
    return _KEY_KINDS.get(constraint.kind, Action.ADD_INDEX)


_KEY_KINDS: Final = {
    "PRIMARY KEY": Action.ADD_PRIMARY_KEY,
    "FOREIGN KEY": Action.ADD_FOREIGN_KEY,
    "VECTOR INDEX": Action.ADD_COLUMNAR_INDEX,
    "COLUMNAR INDEX": Action.ADD_COLUMNAR_INDEX,
}
_DROPPED_KEYS: Final = {
    "PRIMARY KEY": Action.DROP_PRIMARY_KEY,
    "INDEX": Action.DROP_INDEX,
    "FOREIGN KEY": Action.DROP_FOREIGN_KEY,
    "CHECK": Action.DROP_CHECK,
    "CONSTRAINT": Action.DROP_CHECK,
}
_SPEC_ACTIONS: Final = {
    tree.DropColumn: Action.DROP_COLUMN,
    tree.ModifyColumn: Action.MODIFY_COLUMN,
    tree.RenameColumn: Action.MODIFY_COLUMN,
    tree.AlterDefault: Action.SET_DEFAULT,
    tree.RenameIndex: Action.RENAME_INDEX,
    tree.IndexVisibility: Action.ALTER_INDEX_VISIBILITY,
    tree.AlterCheck: Action.ALTER_CHECK,
    tree.RenameTo: Action.RENAME_TABLE,
    tree.PartitionBy: Action.ALTER_PARTITIONING,
    tree.AddPartitions: Action.ADD_PARTITION,
    tree.ReorganizePartitions: Action.REORGANIZE_PARTITION,
    tree.ExchangePartition: Action.EXCHANGE_PARTITION,
    tree.PartitionPlacement: Action.PARTITION_PLACEMENT,
}
_TABLE_OPTIONS: Final = {
    "AUTO_INCREMENT": Action.REBASE_AUTO_INCREMENT,
    "AUTO_RANDOM_BASE": Action.REBASE_AUTO_RANDOM,
    "AUTO_ID_CACHE": Action.MODIFY_AUTO_ID_CACHE,
    "SHARD_ROW_ID_BITS": Action.SHARD_ROW_ID,
    "COMMENT": Action.MODIFY_TABLE_COMMENT,
    "CHARACTER SET": Action.MODIFY_TABLE_CHARSET,
    "COLLATE": Action.MODIFY_TABLE_CHARSET,
    "PLACEMENT POLICY": Action.TABLE_PLACEMENT,
    "TTL": Action.ALTER_TTL,
    "TTL_ENABLE": Action.ALTER_TTL,
    "TTL_JOB_INTERVAL": Action.ALTER_TTL,
    "ENGINE_ATTRIBUTE": Action.MODIFY_ENGINE_ATTRIBUTE,
}
_PARTITION_VERBS: Final = {"DROP": Action.DROP_PARTITION, "TRUNCATE": Action.TRUNCATE_PARTITION}
_BOUND_VERBS: Final = {
    "FIRST": Action.DROP_PARTITION,
    "LAST": Action.ADD_PARTITION,
    "MERGE FIRST": Action.REORGANIZE_PARTITION,
    "SPLIT MAXVALUE": Action.REORGANIZE_PARTITION,
}


def tables_of(change: tree.Change, schema: str) -> tuple[tuple[TableId, ...], tuple[TableId, ...]]:
    """The tables it is about, the message's first, and the old names that are gone after it."""
    if isinstance(change, tree.RenameTable):
        return (resolved(change.new, schema),), (resolved(change.old, schema),)
    if isinstance(change, tree.AlterTable):
        return _altered(change, schema)
    if isinstance(change, tree.CreateTable):
        return (resolved(change.name, schema),), ()
    if isinstance(change, tree.CreateDatabase | tree.DropDatabase | tree.AlterDatabase):
        return ((change.name or schema, ""),), ()
    if isinstance(change, tree.CreateView):
        return (resolved(change.name, schema),), ()
    if isinstance(change, tree.Other):
        return tuple(resolved(table, schema) for table in change.tables), ()
    if isinstance(change, tree.RecoverTable):
        return _recovered(change, schema), ()
    return (resolved(change.table, schema),), ()


def _recovered(change: tree.RecoverTable, schema: str) -> tuple[TableId, ...]:
    if change.table is None:
        return ()
    database, table = resolved(change.table, schema)
    return ((database, change.new_name or table),)


def _altered(change: tree.AlterTable, schema: str) -> tuple[tuple[TableId, ...], tuple[TableId, ...]]:
    table = resolved(change.table, schema)
    renames = [spec.table for spec in change.specs if isinstance(spec, tree.RenameTo)]
    if renames:
        return (resolved(renames[-1], schema),), (table,)
    exchanged = [resolved(spec.table, schema) for spec in change.specs if isinstance(spec, tree.ExchangePartition)]
    return (table, *exchanged), ()


def resolved(table: nodes.TableName, schema: str) -> TableId:
    """The table's full name; ``schema`` is the current database."""
    return table.schema or schema, table.table
