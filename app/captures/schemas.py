"""Replies about captures: TiCDC's four fields, then Weir's."""

from pydantic import BaseModel


class CaptureItem(BaseModel):
    """``is_owner`` is never true: the owner is a replica of the control plane. ``state``: live, draining or lost."""

    id: str
    is_owner: bool
    address: str
    cluster_id: str
    state: str
    changefeeds: int
    version: str
    spark_master: str
    spark_version: str
    spark_application_id: str
    spark_ui_url: str
    registered_at: str


class CaptureList(BaseModel):
    total: int
    items: list[CaptureItem]


class Drained(BaseModel):
    """How many changefeeds are still on the capture."""

    current_table_count: int


class ProcessorItem(BaseModel):
    keyspace: str
    namespace: str
    changefeed_id: str
    capture_id: str


class ProcessorList(BaseModel):
    """A changefeed and the capture that runs it."""

    total: int
    items: list[ProcessorItem]


class Processor(BaseModel):
    """Tables have no numbers here."""

    table_ids: list[int]
