"""What a DDL statement does: TiDB's numbers, their names, and Canal's words for them.

Rules

1. The number is what a schema file carries as ``Type``, the word what Canal-JSON carries as ``type``.
2. Whatever is not listed under a word is ``QUERY``: databases, views, sequences, exchange partition, TTL, placement.
3. TiCDC hands only ``REPLICATED`` actions to sinks; the others change nothing that a row shows.
"""

from enum import IntEnum, StrEnum
from typing import Final


class Action(IntEnum):
    """TiDB's DDL action numbers. 46, 48, 37 and 38 are history; 66 was never used."""

    NONE = 0
    CREATE_SCHEMA = 1
    DROP_SCHEMA = 2
    CREATE_TABLE = 3
    DROP_TABLE = 4
    ADD_COLUMN = 5
    DROP_COLUMN = 6
    ADD_INDEX = 7
    DROP_INDEX = 8
    ADD_FOREIGN_KEY = 9
    DROP_FOREIGN_KEY = 10
    TRUNCATE_TABLE = 11
    MODIFY_COLUMN = 12
    REBASE_AUTO_INCREMENT = 13
    RENAME_TABLE = 14
    SET_DEFAULT = 15
    SHARD_ROW_ID = 16
    MODIFY_TABLE_COMMENT = 17
    RENAME_INDEX = 18
    ADD_PARTITION = 19
    DROP_PARTITION = 20
    CREATE_VIEW = 21
    MODIFY_TABLE_CHARSET = 22
    TRUNCATE_PARTITION = 23
    DROP_VIEW = 24
    RECOVER_TABLE = 25
    MODIFY_SCHEMA_CHARSET = 26
    LOCK_TABLE = 27
    UNLOCK_TABLE = 28
    REPAIR_TABLE = 29
    SET_TIFLASH_REPLICA = 30
    UPDATE_TIFLASH_STATUS = 31
    ADD_PRIMARY_KEY = 32
    DROP_PRIMARY_KEY = 33
    CREATE_SEQUENCE = 34
    ALTER_SEQUENCE = 35
    DROP_SEQUENCE = 36
    ADD_COLUMNS = 37
    DROP_COLUMNS = 38
    MODIFY_AUTO_ID_CACHE = 39
    REBASE_AUTO_RANDOM = 40
    ALTER_INDEX_VISIBILITY = 41
    EXCHANGE_PARTITION = 42
    ADD_CHECK = 43
    DROP_CHECK = 44
    ALTER_CHECK = 45
    RENAME_TABLES = 47
    TABLE_ATTRIBUTES = 49
    PARTITION_ATTRIBUTES = 50
    CREATE_PLACEMENT_POLICY = 51
    ALTER_PLACEMENT_POLICY = 52
    DROP_PLACEMENT_POLICY = 53
    PARTITION_PLACEMENT = 54
    SCHEMA_PLACEMENT = 55
    TABLE_PLACEMENT = 56
    TABLE_CACHE = 57
    STATS_OPTIONS = 58
    TABLE_NOCACHE = 59
    CREATE_TABLES = 60
    MULTI_SCHEMA_CHANGE = 61
    FLASHBACK_CLUSTER = 62
    FLASHBACK_SCHEMA = 63
    REORGANIZE_PARTITION = 64
    ALTER_TTL = 65
    REMOVE_TTL = 67
    CREATE_RESOURCE_GROUP = 68
    ALTER_RESOURCE_GROUP = 69
    DROP_RESOURCE_GROUP = 70
    ALTER_PARTITIONING = 71
    REMOVE_PARTITIONING = 72
    ADD_COLUMNAR_INDEX = 73
    MODIFY_ENGINE_ATTRIBUTE = 74
    TABLE_MODE = 75
    REFRESH_META = 76
    SCHEMA_READ_ONLY = 77


class CanalType(StrEnum):
    """Canal's word for a kind of DDL."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    ERASE = "ERASE"
    QUERY = "QUERY"
    TRUNCATE = "TRUNCATE"
    RENAME = "RENAME"
    CINDEX = "CINDEX"
    DINDEX = "DINDEX"


_NUMBERS: Final[dict[CanalType, tuple[int, ...]]] = {
    CanalType.CREATE: (3,),
    CanalType.ERASE: (4,),
    CanalType.TRUNCATE: (11,),
    CanalType.RENAME: (14, 47),
    CanalType.CINDEX: (7, 9, 32),
    CanalType.DINDEX: (8, 10, 33),
    CanalType.ALTER: (5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38, 41, 61, 64, 71, 72),
}
CANAL_TYPES: Final = {Action(number): word for word, numbers in _NUMBERS.items() for number in numbers}
"""Canal's word for an action; one that is not here is ``QUERY``."""

REPLICATED: Final = frozenset(
    map(Action, (*range(1, 16), *range(17, 27), 32, 33, 37, 38, 41, 42, 47, 60, 61, 64, 65, 67, 71, 72))
)
"""Actions that TiCDC hands to its sinks."""

_NAMES: Final = {
    Action.REBASE_AUTO_INCREMENT: "rebase auto_increment ID",
    Action.SET_DEFAULT: "set default value",
    Action.SHARD_ROW_ID: "shard row ID",
    Action.MODIFY_TABLE_CHARSET: "modify table charset and collate",
    Action.MODIFY_SCHEMA_CHARSET: "modify schema charset and collate",
    Action.SET_TIFLASH_REPLICA: "set tiflash replica",
    Action.UPDATE_TIFLASH_STATUS: "update tiflash replica status",
    Action.ADD_COLUMNS: "add columns",
    Action.DROP_COLUMNS: "drop columns",
    Action.REBASE_AUTO_RANDOM: "rebase auto_random ID",
    Action.ADD_CHECK: "add check constraint",
    Action.DROP_CHECK: "drop check constraint",
    Action.ALTER_CHECK: "alter check constraint",
    Action.TABLE_ATTRIBUTES: "alter table attributes",
    Action.PARTITION_ATTRIBUTES: "alter table partition attributes",
    Action.PARTITION_PLACEMENT: "alter table partition placement",
    Action.SCHEMA_PLACEMENT: "modify schema default placement",
    Action.TABLE_PLACEMENT: "alter table placement",
    Action.TABLE_CACHE: "alter table cache",
    Action.STATS_OPTIONS: "alter table stats options",
    Action.TABLE_NOCACHE: "alter table nocache",
    Action.MULTI_SCHEMA_CHANGE: "multi-schema change",
    Action.ALTER_TTL: "alter table ttl",
    Action.REMOVE_TTL: "alter table no_ttl",
    Action.ALTER_PARTITIONING: "alter table partition by",
    Action.REMOVE_PARTITIONING: "remove partitioning",
    Action.TABLE_MODE: "alter table mode",
    Action.SCHEMA_READ_ONLY: "modify schema read only",
}


def canal_type(action: Action) -> CanalType:
    """Canal's word for an action."""
    return CANAL_TYPES.get(action, CanalType.QUERY)


def action_name(action: Action) -> str:
    """TiDB's name of an action, as its job list shows it."""
    return _NAMES.get(action) or action.name.lower().replace("_", " ")
