"""The grammar of whole statements. One text may hold several, separated by semicolons.

Rules

1. ``DROP TABLE a, b``, ``DROP VIEW a, b`` and ``RENAME TABLE a TO b, c TO d`` become one change per table.
2. Statements without any effect on a table's structure are ``Other``; a stored program
   (whose body has semicolons of its own) reaches to the end of the text.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.alter_grammar import alter_specs
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.key_grammar import if_exists, if_not_exists, index_options, key_kind, key_tail, table_name
from spark_jobs.cdc.ddl.option_grammar import database_options
from spark_jobs.cdc.ddl.table_grammar import create_table
from spark_jobs.cdc.ddl.tokens import Kind, words
from spark_jobs.cdc.ddl.tree import (
    AlterDatabase,
    AlterTable,
    Change,
    CreateDatabase,
    CreateIndex,
    DropDatabase,
    DropIndex,
    DropTable,
    Other,
    RecoverTable,
    RenameTable,
    TruncateTable,
)
from spark_jobs.cdc.ddl.view_grammar import create_view

Changes = tuple[Change, ...]


def statement(cursor: Cursor) -> Changes:
    """The changes of the statement that begins here; the cursor stands behind it then, before its semicolon."""
    read = _STATEMENTS.get(cursor.peek().word)
    if read is None:
        cursor.fail("a statement")
    changes = read(cursor)
    if not cursor.at_end:
        cursor.fail("the end of the statement")
    return changes


def _create(cursor: Cursor) -> Changes:
    cursor.expect("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    if cursor.accept_any(("DATABASE", "SCHEMA")):
        exists = if_not_exists(cursor)
        return (CreateDatabase(cursor.name(), exists, database_options(cursor)),)
    if cursor.at_any(("TABLE", "TEMPORARY", "GLOBAL")):
        return (create_table(cursor, replace),)
    if cursor.at_any(("ALGORITHM", "DEFINER", "SQL", "VIEW")):
        view = create_view(cursor, replace)
        return (view,) if view is not None else _named_object(cursor, "CREATE")
    if cursor.at_any(("UNIQUE", "INDEX", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR", "ONLINE", "OFFLINE")):
        return (_create_index(cursor),)
    return _named_object(cursor, "CREATE")


def _create_index(cursor: Cursor) -> CreateIndex:
    cursor.accept_any(("ONLINE", "OFFLINE"))
    kind = key_kind(cursor)
    exists = if_not_exists(cursor)
    name = cursor.name()
    using = ""
    if cursor.accept_any(("USING", "TYPE")):
        using = cursor.next().word
    cursor.expect("ON")
    table = table_name(cursor)
    key = key_tail(cursor, kind)
    options = index_options(cursor, key.options)
    if using and not options.kind:
        options = msgspec.structs.replace(options, kind=using)
    key = msgspec.structs.replace(key, name=name, if_not_exists=exists, options=options)
    return CreateIndex(table, key, _lock_and_algorithm(cursor))


def _lock_and_algorithm(cursor: Cursor) -> str:
    values: dict[str, str] = {}
    while word := cursor.accept_any(("LOCK", "ALGORITHM")):
        cursor.accept("=")
        values[word] = cursor.next().word
    return " ".join(
        f"{word} = {values[word]}" for word in ("ALGORITHM", "LOCK") if values.get(word, "DEFAULT") != "DEFAULT"
    )


def _alter(cursor: Cursor) -> Changes:
    cursor.expect("ALTER")
    cursor.accept_any(("ONLINE", "OFFLINE", "IGNORE"))
    if cursor.accept("TABLE"):
        if_exists(cursor)
        return (AlterTable(table_name(cursor), alter_specs(cursor)),)
    if cursor.accept_any(("DATABASE", "SCHEMA")):
        return (_alter_database(cursor),)
    if cursor.at_any(("ALGORITHM", "DEFINER", "SQL", "VIEW")):
        view = create_view(cursor, replace=True)
        return (Other(Action.NONE, (view.name,)),) if view is not None else _named_object(cursor, "ALTER")
    return _named_object(cursor, "ALTER")


def _alter_database(cursor: Cursor) -> AlterDatabase:
    name = "" if (cursor.peek().word, cursor.peek(1).word) in _OPTION_STARTS else cursor.name()
    options = database_options(cursor)
    if not options:
        cursor.fail("a database option")
    return AlterDatabase(name, options)


_OPTION_STARTS: Final = frozenset(
    {("DEFAULT", word) for word in ("CHARACTER", "CHAR", "CHARSET", "COLLATE", "ENCRYPTION")}
    | {("CHARACTER", "SET"), ("CHAR", "SET"), ("PLACEMENT", "POLICY"), ("READ", "ONLY"), ("SET", "TIFLASH")}
    | {(word, "=") for word in ("CHARSET", "COLLATE", "ENCRYPTION", "COMMENT")}
)
"""How an option begins; whatever else follows ALTER DATABASE is the database's name."""


def _drop(cursor: Cursor) -> Changes:
    cursor.expect("DROP")
    if cursor.accept_any(("DATABASE", "SCHEMA")):
        exists = if_exists(cursor)
        return (DropDatabase(cursor.name(), exists),)
    if cursor.at("INDEX") or cursor.at("ONLINE", "INDEX") or cursor.at("OFFLINE", "INDEX"):
        return (_drop_index(cursor),)
    temporary = " ".join(filter(None, (cursor.accept_any(("GLOBAL",)), cursor.accept_any(("TEMPORARY",)))))
    kind = cursor.accept_any(("TABLE", "TABLES", "VIEW"))
    if not kind:
        return _named_object(cursor, "DROP")
    exists = if_exists(cursor)
    tables = cursor.listed(table_name)
    cursor.accept_any(("RESTRICT", "CASCADE"))
    return tuple(DropTable(table, exists, kind == "VIEW", temporary) for table in tables)


def _drop_index(cursor: Cursor) -> DropIndex:
    cursor.accept_any(("ONLINE", "OFFLINE"))
    cursor.expect("INDEX")
    exists = if_exists(cursor)
    name = cursor.name()
    cursor.expect("ON")
    table = table_name(cursor)
    return DropIndex(name, table, exists, _lock_and_algorithm(cursor))


def _rename(cursor: Cursor) -> Changes:
    cursor.expect("RENAME")
    if cursor.at("USER"):
        return _program(cursor)
    if not cursor.accept_any(("TABLE", "TABLES")):
        cursor.fail("TABLE")
    return cursor.listed(_rename_one)


def _rename_one(cursor: Cursor) -> RenameTable:
    if_exists(cursor)
    old = table_name(cursor)
    cursor.expect("TO")
    return RenameTable(old, table_name(cursor))


def _truncate(cursor: Cursor) -> Changes:
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    return (TruncateTable(table_name(cursor)),)


def _recover(cursor: Cursor) -> Changes:
    cursor.expect("RECOVER", "TABLE")
    if cursor.accept("BY", "JOB"):
        return (RecoverTable(None, cursor.integer()),)
    return (RecoverTable(table_name(cursor), cursor.integer() if cursor.peek().kind is Kind.NUMBER else 0),)


def _flashback(cursor: Cursor) -> Changes:
    cursor.expect("FLASHBACK")
    if cursor.accept("TABLE"):
        table = table_name(cursor)
        if cursor.at(",") or cursor.at("TO", "TIMESTAMP") or cursor.at("TO", "TSO"):
            cursor.rest()
            return (Other(Action.FLASHBACK_CLUSTER),)
        return (RecoverTable(table, 0, True, cursor.name() if cursor.accept("TO") else ""),)
    action = Action.FLASHBACK_CLUSTER if cursor.at("CLUSTER") else Action.FLASHBACK_SCHEMA
    cursor.rest()
    return (Other(action),)


def _named_object(cursor: Cursor, verb: str) -> Changes:
    for named, actions, placement in _OBJECTS:
        if cursor.accept(*named):
            cursor.rest()
            return (Other(actions.get(verb, Action.NONE), dropped=placement and verb == "ALTER"),)
    if cursor.at_any(_PROGRAMS):
        return _program(cursor)
    return cursor.fail(f"something to {verb}")


_OBJECTS: Final[tuple[tuple[tuple[str, ...], dict[str, Action], bool], ...]] = (
    (
        ("SEQUENCE",),
        {"CREATE": Action.CREATE_SEQUENCE, "ALTER": Action.ALTER_SEQUENCE, "DROP": Action.DROP_SEQUENCE},
        False,
    ),
    (
        ("PLACEMENT", "POLICY"),
        {
            "CREATE": Action.CREATE_PLACEMENT_POLICY,
            "ALTER": Action.ALTER_PLACEMENT_POLICY,
            "DROP": Action.DROP_PLACEMENT_POLICY,
        },
        True,
    ),
    (
        ("RESOURCE", "GROUP"),
        {
            "CREATE": Action.CREATE_RESOURCE_GROUP,
            "ALTER": Action.ALTER_RESOURCE_GROUP,
            "DROP": Action.DROP_RESOURCE_GROUP,
        },
        False,
    ),
)
_PROGRAMS: Final = words(
    "PROCEDURE FUNCTION TRIGGER EVENT USER ROLE SERVER TABLESPACE UNDO LOGFILE AGGREGATE INSTANCE PACKAGE BINDING "
    "STATISTICS MASKING RANGE SESSION SPATIAL MATERIALIZED STORED DEFINER GLOBAL LIBRARY WORKLOAD PREPARE"
)


def _program(cursor: Cursor) -> Changes:
    while cursor.peek().kind is not Kind.END:
        cursor.next()
    return (Other(),)


def _plain(action: Action = Action.NONE) -> Callable[[Cursor], Changes]:
    def read(cursor: Cursor) -> Changes:
        cursor.rest()
        return (Other(action),)

    return read


def _set(cursor: Cursor) -> Changes:
    if not cursor.accept("SET", "STATEMENT"):
        return _plain()(cursor)
    # MariaDB: SET STATEMENT variable = value, … FOR statement
    while not cursor.accept("FOR"):
        if cursor.at_end:
            cursor.fail("FOR")
        cursor.next()
    read = _STATEMENTS.get(cursor.peek().word)
    return read(cursor) if read not in (None, _set) else cursor.fail("a statement")


def _admin(cursor: Cursor) -> Changes:
    action = Action.REPAIR_TABLE if cursor.at("ADMIN", "REPAIR") else Action.NONE
    cursor.rest()
    return (Other(action),)


_STATEMENTS: Final[dict[str, Callable[[Cursor], Changes]]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "RENAME": _rename,
    "TRUNCATE": _truncate,
    "RECOVER": _recover,
    "FLASHBACK": _flashback,
    "LOCK": _plain(Action.LOCK_TABLE),
    "UNLOCK": _plain(Action.UNLOCK_TABLE),
    "ADMIN": _admin,
    "SET": _set,
} | dict.fromkeys(
    words(
        "GRANT REVOKE ANALYZE OPTIMIZE CHECK CHECKSUM REPAIR FLUSH BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE "
        "XA INSERT UPDATE DELETE REPLACE SELECT WITH CALL DO LOAD SHOW DESCRIBE DESC EXPLAIN PREPARE HANDLER EXECUTE "
        "HELP DEALLOCATE INSTALL UNINSTALL PURGE RESET CHANGE KILL REFRESH CANCEL SPLIT BACKUP RESTORE IMPORT CACHE "
        "TABLE"
    ),
    _plain(),
)
