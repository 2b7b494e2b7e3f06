"""A protocol and how its messages stand in a stream."""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs import CODECS, codec
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.framing import FRAMINGS, Framing

_IN_FRAMES: Final = {("tidb-binlog", "drainer"): "drainer"}
"""TiDB Binlog's local files hold other messages than its Kafka topics."""

_OWN_FRAMING: Final = {"drainer": "drainer"}


def choose(name: str, framing: str | None) -> tuple[Codec, Framing]:
    """The protocol, and the framing of that name or the protocol's own; ``ConfigError`` where they do not fit."""
    found = codec(_IN_FRAMES.get((name.lower(), framing or ""), name))
    chosen = FRAMINGS[framing or _OWN_FRAMING.get(found.name) or ("lines" if found.text else "length")]
    if chosen.text_only and not found.text:
        raise ConfigError(f"{found.name} messages are binary, so they cannot stand in lines; use hex or length")
    return found, chosen


def readable() -> str:
    """The names of what can be read."""
    return ", ".join(name for name, found in sorted(CODECS.items()) if found.decoder)


def writable() -> str:
    """The names of what can be written."""
    return ", ".join(name for name, found in sorted(CODECS.items()) if found.encoder)
