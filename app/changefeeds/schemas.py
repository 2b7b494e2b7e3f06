"""Requests about changefeeds: TiCDC's names and shapes, and Weir's additions (contract, point 2).

``*_ts`` are TSOs, whole JSON numbers up to 2^64-1. ``checkpoint_time`` has no zone (it is UTC) and three digits;
``create_time`` and an error's ``time`` are RFC 3339.
"""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from app.replica_config import ReplicaConfig
from app.replica_config.go import Bool, GoModel, Int, Uint

Id = Annotated[
    int,
    Field(strict=True, ge=0, le=(1 << 63) - 1),
    WithJsonSchema({"type": "integer", "format": "int64", "minimum": 0}),
]


LONGEST_DESCRIPTION = 2000
_MOST_LABELS = 32
_LABEL = r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$"
Labels = Annotated[
    dict[Annotated[str, Field(pattern=_LABEL)], Annotated[str, Field(max_length=256)]],
    Field(max_length=_MOST_LABELS, description="names and values of your own, to find and group changefeeds by"),
]

LabelChanges = Annotated[
    dict[Annotated[str, Field(pattern=_LABEL)], Annotated[str, Field(max_length=256)] | None],
    Field(
        max_length=_MOST_LABELS,
        description="in a PATCH merged, null takes one away; in a PUT in place of what is there",
    ),
]


class PdFields(GoModel):
    """Where TiCDC finds its PD. Accepted as `cdc cli` sends them; there is no PD here."""

    pd_addrs: list[str] = Field(default=[], description="not used: there is no PD")
    ca_path: str = Field(default="", description="not used: there is no PD")
    cert_path: str = Field(default="", description="not used: there is no PD")
    key_path: str = Field(default="", description="not used: there is no PD")
    cert_allowed_cn: list[str] = Field(default=[], description="not used: there is no PD")


class CreateRequest(PdFields):
    """``source_uri``, or ``upstream_id``, or neither for the default upstream. ``start_ts`` 0: the source decides."""

    keyspace: str = ""
    namespace: str = ""
    changefeed_id: str = ""
    source_uri: str = ""
    upstream_id: Id = 0
    sink_uri: str = ""
    start_ts: Uint = 0
    start_time: str = Field(default="", description="RFC 3339, instead of start_ts")
    target_ts: Uint = 0
    target_time: str = Field(default="", description="RFC 3339, instead of target_ts")
    replica_config: ReplicaConfig = ReplicaConfig()
    paused: Bool = Field(default=False, description="create it in state stopped")
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] = ""
    labels: Labels = Field(default={})


class UpdateRequest(PdFields):
    """What is left out, or empty, stays. A masked value means "keep".

    ``replica_config`` of a PUT is laid over the defaults, of a PATCH over what is there.
    """

    keyspace: str = ""
    namespace: str = ""
    changefeed_id: str = ""
    source_uri: str = ""
    sink_uri: str = ""
    start_ts: Uint = 0
    start_time: str = ""
    target_ts: Uint = 0
    target_time: str = ""
    replica_config: ReplicaConfig | None = None
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] | None = None
    labels: LabelChanges | None = None


class ResumeRequest(PdFields):
    """``overwrite_checkpoint_ts`` > 0: deliver again everything above that TSO."""

    overwrite_checkpoint_ts: Uint = 0


class VerifyTableRequest(PdFields):
    """What `cdc cli` asks before it creates a changefeed."""

    keyspace: str = ""
    namespace: str = ""
    changefeed_id: str = ""
    source_uri: str = Field(default="", description="the source to look at; empty: the default upstream")
    target_ts: Uint = 0
    replica_config: ReplicaConfig = ReplicaConfig()
    start_ts: Uint = 0
    sink_uri: str = ""


class SkipRequest(GoModel):
    """Either ``stream``, ``partition`` and ``offset`` of a message, as an error names them, or ``commit_ts`` of a
    DDL."""

    stream: str = Field(default="", description="topic, or file below the source folder")
    partition: Int = Field(default=0, description="of the topic; 0 in a folder")
    offset: Int = Field(default=-1, description="of the message; line or record in a folder")
    commit_ts: Id = Field(default=0, description="of the statement")
