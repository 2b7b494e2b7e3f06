"""Worked examples for every call. Their TSOs are numbers that a browser, too, prints exactly."""

import json
from typing import Any, Final

Example = dict[str, Any]

START_TS: Final = 462341860000000000
CHECKPOINT_TS: Final = 462341862400000000
RESOLVED_TS: Final = 462341866800000000
_POSITION: Final = '{"orders":{"0":1200,"1":1187}}'
HOME: Final = "/var/lib/weir"
"""Stands for ``WEIR_HOME``; the page shows the real one, so that its examples can be sent as they are."""
_FOLDER: Final = f"file://{HOME}/demo/source?protocol=canal-json"
_SOURCE: Final = "kafka://127.0.0.1:9092/orders?protocol=canal-json&start=earliest"
_SINK: Final = f"file://{HOME}/orders?protocol=canal-json&flush-interval=1s"

ERROR: Final = {
    "error_msg": "[CDC:ErrChangeFeedNotExists]changefeed not exists, orders",
    "error_code": "CDC:ErrChangeFeedNotExists",
}
_WARNING: Final = {
    "time": "2025-11-21T03:03:58.281Z",
    "addr": "127.0.0.1:40123",
    "code": "CDC:ErrExternalFailure",
    "message": "[CDC:ErrExternalFailure]no broker answers at 127.0.0.1:9092",
}
CHANGEFEED: Final = {
    "id": "orders",
    "keyspace": "default",
    "namespace": "default",
    "source_uri": _SOURCE,
    "sink_uri": _SINK,
    "create_time": "2025-11-21T03:03:49.125Z",
    "start_ts": START_TS,
    "config": {"memory_quota": 1073741824, "filter": {"rules": ["shop.*"]}, "sink": {"date_separator": "day"}},
    "state": "normal",
    "creator_version": "v8.5.4",
    "resolved_ts": RESOLVED_TS,
    "checkpoint_ts": CHECKPOINT_TS,
    "checkpoint_time": "2025-11-21 03:03:58.281",
    "source_position": _POSITION,
    "lag_seconds": 0.7,
    "capture_id": "3f6c2d1e-0000-4000-8000-000000000001",
    "epoch": 1763694229126,
}
_NOTICE: Final = {
    "key": "sink_uri.flush-interval",
    "message": "1ms is below the smallest value, 100ms; 100ms is used",
}
CHANGEFEED_MADE: Final = CHANGEFEED | {"warnings": [_NOTICE]}
CHANGEFEED_CHANGED: Final = CHANGEFEED | {
    "state": "stopped",
    "warnings": [
        {
            "key": "replica_config.filter.rules",
            "message": "delivers from now on what the filter kept back until now, such as shop.audit; earlier rows do"
            " not come",
        }
    ],
    "changes": [
        {"key": "replica_config.filter.rules", "before": ["shop.*", "!shop.audit"], "after": ["shop.*"]},
    ],
}
CHANGEFEED_LIST: Final = {
    "total": 1,
    "items": [
        {
            "upstream_id": 0,
            "keyspace": "default",
            "namespace": "default",
            "id": "orders",
            "state": "warning",
            "checkpoint_tso": CHECKPOINT_TS,
            "checkpoint_time": "2025-11-21 03:03:58.281",
            "error": _WARNING,
            "description": "orders for the warehouse",
            "labels": {"team": "logistics"},
            "lag_seconds": 12.5,
        }
    ],
}
CREATE: Final = {
    "from a folder": {
        "changefeed_id": "sample",
        "source_uri": _FOLDER,
        "sink_uri": f"file://{HOME}/sample?protocol=csv",
    },
    "from Kafka": {
        "changefeed_id": "orders",
        "source_uri": _SOURCE,
        "sink_uri": _SINK,
        "start_ts": START_TS,
        "replica_config": {"filter": {"rules": ["shop.*", "!shop.audit"]}, "sink": {"date_separator": "none"}},
    },
}
UPDATE: Final = {
    "another filter": {"replica_config": {"filter": {"rules": ["shop.*"]}}},
    "a target": {"target_ts": RESOLVED_TS},
}
PATCH: Final = {
    "another filter": {"replica_config": {"filter": {"rules": ["shop.*"]}}},
    "the default again": {"replica_config": {"filter": None}},
    "notes": {"description": "orders for the warehouse", "labels": {"team": "logistics"}},
}
RESUMED: Final[Example] = {"warnings": []}
RESUME: Final = {"go on": {}, "deliver again": {"overwrite_checkpoint_ts": START_TS}}
VERIFY_TABLE: Final = {
    "a filter": {"replica_config": {"filter": {"rules": ["shop.*"]}}, "sink_uri": _SINK, "start_ts": START_TS}
}
_TABLE: Final = {"database_name": "shop", "table_name": "orders", "table_id": 0, "is_partition": False}
TABLES: Final = {"eligible_tables": [_TABLE], "all_tables": [_TABLE, _TABLE | {"table_name": "audit"}]}
NODES: Final = {"total": 1, "items": [{"node_id": "3f6c2d1e-0000-4000-8000-000000000001", "table_ids": []}]}
COUNT: Final = {"count": 12}
STATUS: Final = {
    "state": "warning",
    "resolved_ts": RESOLVED_TS,
    "checkpoint_ts": CHECKPOINT_TS,
    "last_warning": _WARNING,
    "conditions": [
        {
            "code": "CDC:ErrExternalFailure",
            "message": "no broker answers at 127.0.0.1:9092",
            "stage": "source",
            "since": "2025-11-21T03:03:58.281Z",
            "next_retry": "2025-11-21T03:04:18.402Z",
            "attempts": 2,
        }
    ],
    "idle": False,
    "stage": "source",
}
CHECKPOINT: Final = {
    "checkpoint_ts": CHECKPOINT_TS,
    "checkpoint_time": "2025-11-21 03:03:58.281",
    "resolved_ts": RESOLVED_TS,
    "resolved_ts_estimated": False,
    "lag_seconds": 0.7,
    "batch_id": 41,
    "epoch": 1763694229126,
    "source_position": _POSITION,
    "rows_total": 2387,
    "bytes_total": 2148300,
    "updated_at": "2025-11-21T03:03:58.900Z",
}
PROGRESS: Final = {
    "tables": [
        {
            "schema": "shop",
            "table": "orders",
            "version": START_TS,
            "rows": 2387,
            "bytes": 2148300,
            "last_commit_ts": CHECKPOINT_TS,
            "last_commit_time": "2025-11-21 03:03:58.281",
        }
    ],
    "repeats_dropped": 0,
    "late_rows": 0,
    "dead_letters": 0,
    "held_rows": 12,
    "ddl_unparsed": 0,
    "lag_messages": {"orders/0": 0, "orders/1": 25},
}
SYNCED: Final = {
    "synced": False,
    "sink_checkpoint_ts": "2025-11-21 03:03:58.281",
    "puller_resolved_ts": "2025-11-21 03:04:15.065",
    "last_synced_ts": "2025-11-21 03:03:58.281",
    "now_ts": "2025-11-21 03:04:16.000",
    "info": "Data syncing is not finished, please wait",
}
_LINE: Final = "2025-11-21T03:03:58Z batch 41: 57 rows of 3 tables in 0.31 s"
_LOG: Final = {"time": "2025-11-21T03:03:58.281Z", "level": "info", "kind": "batch", "text": _LINE}
LOGS: Final = {"lines": [_LINE], "items": [_LOG]}
LOG_STREAM: Final = f"id: 81\ndata: {json.dumps(_LOG)}\n\n"
DDL: Final = {
    "total": 1,
    "items": [
        {
            "time": "2025-11-21T03:03:58.900Z",
            "commit_ts": CHECKPOINT_TS,
            "commit_time": "2025-11-21 03:03:58.281",
            "schema": "shop",
            "table": "orders",
            "kind": "ALTER",
            "query": "ALTER TABLE `orders` ADD COLUMN `note` VARCHAR(64)",
            "outcome": "delivered",
            "position": '{"orders":{"0":1187}}',
        }
    ],
}
_LETTER: Final = {
    "id": "1763694229125-0000000000000041.jsonl:0",
    "stream": "orders",
    "partition": 0,
    "offset": 1188,
    "reason": "not a canal-json message at byte 0: it is no JSON",
    "bytes": 9,
    "retry": "",
}
DEAD_LETTERS: Final = {"total": 1, "items": [_LETTER]}
DEAD_LETTER: Final = _LETTER | {"message_base64": "e25vdCBqc29u", "message_text": "{not json"}
LETTER_ID: Final = {"any": {"value": "1763694229125-0000000000000041.jsonl:0"}}
RETRIED: Final = {"retry_id": 1}
SKIP: Final = {
    "one message": {"stream": "orders", "partition": 0, "offset": 1188},
    "one statement": {"commit_ts": CHECKPOINT_TS},
}
SKIPS: Final = {"total": 1, "items": [{"stream": "orders", "partition": 0, "offset": 1188, "commit_ts": 0}]}
LEFTOVERS: Final = {
    "total": 1,
    "items": [
        {
            "id": 3,
            "keyspace": "default",
            "changefeed_id": "orders",
            "create_time": "2025-11-21T03:03:49.125Z",
            "removed_time": "2025-11-22T09:00:00.000Z",
            "output": _SINK,
            "files": [f"{HOME}/checkpoints/orders/_dead_letter/1763694229125-0000000000000041.jsonl"],
            "bytes": 151,
            "cleaned_at": "2025-12-22T09:00:00.000Z",
        }
    ],
}
HISTORY: Final = {
    "total": 1,
    "items": [
        {
            "time": "2025-11-21T03:03:49.125Z",
            "who": "3f6c2d1e-0000-4000-8000-000000000001",
            "what": "fault",
            "from_state": "normal",
            "to_state": "warning",
            "detail": "epoch 1763694229126",
            "error": _WARNING,
        }
    ],
}
CAPTURES: Final = {
    "total": 1,
    "items": [
        {
            "id": "3f6c2d1e-0000-4000-8000-000000000001",
            "is_owner": False,
            "address": "127.0.0.1:40123",
            "cluster_id": "default",
            "state": "live",
            "changefeeds": 1,
            "version": "0.1.0",
            "spark_master": "local[*]",
            "spark_version": "4.2.0",
            "spark_application_id": "local-1763694229125",
            "spark_ui_url": "",
            "registered_at": "2025-11-21T03:03:40.000Z",
        }
    ],
}
DRAINED: Final = {"current_table_count": 3}
PROCESSORS: Final = {
    "total": 1,
    "items": [
        {
            "keyspace": "default",
            "namespace": "default",
            "changefeed_id": "orders",
            "capture_id": "3f6c2d1e-0000-4000-8000-000000000001",
        }
    ],
}
PROCESSOR: Final[Example] = {"table_ids": []}
UPSTREAM: Final = {"id": 1, "name": "shop", "source_uri": _SOURCE, "default": True}
UPSTREAM_BODY: Final = {
    "a folder": {"name": "sample", "source_uri": _FOLDER},
    "a topic": {"name": "shop", "source_uri": _SOURCE, "default": True},
}
FEED_ID: Final = {"the sample changefeed": {"value": "demo"}}
UPSTREAM_ID: Final = {"the first one": {"value": 1}}
CAPTURE_ID: Final = {"any": {"value": "3f6c2d1e-0000-4000-8000-000000000001"}}
UPSTREAM_LIST: Final = {"total": 1, "items": [UPSTREAM]}
SERVER_STATUS: Final = {
    "version": "v8.5.4",
    "git_hash": "",
    "id": "4f0e3c0e-0000-4000-8000-000000000002",
    "cluster_id": "default",
    "pid": 4242,
    "is_owner": True,
    "liveness": 0,
    "weir_version": "0.1.0",
}
LOG_BODY: Final = {"more": {"log_level": "debug"}, "as usual": {"log_level": "info"}}
REDACT_BODY: Final = {"all secrets": {"redact_info_log": "on"}}
REDACTED: Final = {"previous_mode": "on", "current_mode": "on"}
METADATA: Final[list[Example]] = [{"key": "/weir/cdc/default/changefeed/info/orders", "value": "{}"}]
LOCK_BODY: Final = {"as cdc cli sends it": {"region_id": 1, "ts": START_TS}}
TSO_BODY: Final = {"as cdc cli sends it": {"id": 0}}
TSO: Final = {"timestamp": 1763694238281, "logic_time": 0}
ALIVE: Final = {"status": "alive"}
READY: Final = {"status": "ready"}
NOT_READY: Final = {
    "error_msg": "[CDC:ErrServerIsNotReady]no replica holds the owner lease",
    "error_code": "CDC:ErrServerIsNotReady",
}

UNAUTHORIZED: Final = {
    "error_msg": "[CDC:ErrCredentialNotFound]send the token of WEIR_ADMIN_TOKEN: Authorization: Bearer TOKEN, or as a"
    " password",
    "error_code": "CDC:ErrCredentialNotFound",
}
_ERROR_SCHEMA: Final = {
    "type": "object",
    "required": ["error_msg", "error_code"],
    "properties": {"error_msg": {"type": "string"}, "error_code": {"type": "string"}},
}


def errors() -> dict[int | str, Example]:
    """The ``responses`` of every call that are errors."""
    return {
        400: error_reply("The request cannot be carried out; the text says why and what to do.", ERROR),
        401: error_reply("WEIR_ADMIN_TOKEN is set, and the call did not send it.", UNAUTHORIZED),
        503: error_reply("Not now; ask again.", NOT_READY),
    }


def reply(example: Example | list[Example], *, status: int = 200) -> dict[int | str, Example]:
    """The ``responses`` of a call: its example, and the one form of errors."""
    return {
        status: {"content": {"application/json": {"example": example}}},
        **errors(),
    }


def error_reply(description: str, example: Example) -> Example:
    """An error in TiCDC's shape."""
    return {
        "description": description,
        "content": {"application/json": {"schema": _ERROR_SCHEMA, "example": example}},
    }


def body(cases: Example, *, required: bool = True) -> Example:
    """The ``openapi_extra`` of a call with a body: named examples."""
    examples = {name: {"value": value} for name, value in cases.items()}
    return {"requestBody": {"required": required, "content": {"application/json": {"examples": examples}}}}
