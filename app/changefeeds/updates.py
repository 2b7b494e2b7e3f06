"""What an update makes of a stopped or failed changefeed. Parsing only; the caller looks at source and sink.

- The source may be read in another way (brokers, credentials, bad-message, limits …), but it stays the same source.
- A target that was reached may be raised: what came after it was passed over, so reading goes back there. One that is
  over but not reached cannot: nobody knows what was passed over.
- A new output folder begins anew, so its checkpoint does too. A folder keeps its protocol: readers of the layout find
  files by their number and one ending.
"""

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from app.changefeeds import validation
from app.changefeeds.record import UPDATABLE, Changefeed
from app.errors import UpdateRefused
from app.masking import Json, kept_uri
from app.replica_config import ReplicaConfig
from app.settings import Settings
from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import WeirError
from spark_jobs.sinks import SinkSpec, parse_sink
from spark_jobs.sources import SourceSpec


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be: URIs ("" as before), the target (0: none), and the whole configuration."""

    source_uri: str
    sink_uri: str
    target_ts: int
    config: dict[str, Json]


class Update(msgspec.Struct, frozen=True):
    """The changefeed after it; ``source`` and ``moved_to``, when they are others than before, have to be looked at."""

    after: Changefeed
    source: SourceSpec | None
    moved_to: SinkSpec | None


def updated(before: Changefeed, wish: Wish, settings: Settings, now_ms: int) -> Update:
    """Raises ``UpdateRefused`` and whatever is wrong with the new values."""
    if before.state not in UPDATABLE:
        raise UpdateRefused(f"changefeed {before.name} is {before.state}; pause it before it is updated")
    source_uri, source = _source(before, wish, settings)
    sink_uri = kept_uri(wish.sink_uri, before.sink_uri) or before.sink_uri
    sink, config = validation.sink_of(sink_uri, ReplicaConfig.model_validate(wish.config), settings)
    after = replace(
        _with_target(before, wish.target_ts, now_ms),
        source_uri=source_uri,
        sink_uri=sink_uri,
        replica_config=validation.text(validation.tree(config)),
        stuck_ms=config.changefeed_error_stuck_duration // 1_000_000,
    )
    old_sink = sink_of(before, settings)
    if old_sink is None or old_sink.identity_key != sink.identity_key:
        floor = before.rewind_ts or before.start_ts
        return Update(replace(after, checkpoint_ts=floor, resolved_ts=floor), source, sink)
    if old_sink.protocol != sink.protocol:
        raise UpdateRefused(f"{sink.masked()} holds {old_sink.protocol}; give a folder of its own to {sink.protocol}")
    return Update(after, source, None)


def sink_of(feed: Changefeed, settings: Settings) -> SinkSpec | None:
    """A stored changefeed's sink; None when it is not valid any more."""
    config = ReplicaConfig.model_validate_json(feed.replica_config)
    try:
        return validation.sink_of(feed.sink_uri, config, settings)[0]
    except WeirError:
        return None


def path_of(feed: Changefeed, settings: Settings) -> str:
    """The folder of a stored changefeed's sink; "" when it has none."""
    return _path(feed.sink_uri, feed.replica_config, settings.permitted_roots)


@lru_cache(4096)
def _path(sink_uri: str, replica_config: str, roots: tuple[str, ...] | None) -> str:
    """Remembered: each new changefeed's folder is compared with all others."""
    try:
        tree = msgspec.json.decode(replica_config, type=dict[str, object])
        return parse_sink(sink_uri, tree, file_roots=roots).folder
    except WeirError:
        return ""


def _source(before: Changefeed, wish: Wish, settings: Settings) -> tuple[str, SourceSpec | None]:
    uri = kept_uri(wish.source_uri, before.source_uri) or before.source_uri
    if uri == before.source_uri:
        return uri, None
    source = validation.source_of(uri, settings)
    if source.identity_key != validation.source_of(before.source_uri, settings).identity_key:
        raise UpdateRefused(
            "source_uri names another source (its path, pattern and protocol cannot be changed); remove the changefeed"
            " and create it anew"
        )
    return uri, source


def _with_target(before: Changefeed, target_ts: int, now_ms: int) -> Changefeed:
    if target_ts == before.target_ts:
        return before
    if target_ts and target_ts <= before.start_ts:
        raise UpdateRefused(f"target_ts {target_ts} must be above start_ts {before.start_ts}")
    if target_ts and target_ts <= before.checkpoint_ts:
        raise UpdateRefused(
            f"target_ts {target_ts} must be above the checkpoint {before.checkpoint_ts}: everything up to there is"
            " delivered already"
        )
    after = replace(before, target_ts=target_ts)
    if not before.target_ts or 0 < target_ts < before.target_ts:
        return after
    if before.checkpoint_ts >= before.target_ts:
        return replace(after, rewind_ts=before.target_ts, rewind_id=before.rewind_id + 1)
    if tso.physical_ms(before.target_ts) <= now_ms:
        raise UpdateRefused(
            f"target_ts {before.target_ts} is over and not reached yet, and events above it may have been passed over;"
            " resume, and raise it when the changefeed is finished"
        )
    return after
