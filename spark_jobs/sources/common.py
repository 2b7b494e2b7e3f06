"""Parameters that every source takes (contract: source URIs)."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.uris import Parameter

CODE: Final = "CDC:ErrSourceURIInvalid"
WHAT: Final = "source_uri"
BAD_MESSAGE: Final = ("fail", "dead-letter")
LATER: Final = {
    "csv": "CSV files are read with the folder that they belong to (protocol=ticdc), in a later version",
    "datahub-tuple": "DataHub's tuple records come with DataHub as a source, in a later version",
    "ticdc": "folders that a TiCDC-layout sink wrote come in a later version; read canal-json files as canal-json",
}
NOT_IN_QUEUES: Final = {"drainer": "that is Drainer's local files; its topics hold protocol=tidb-binlog"}
REPEATS: Final = Parameter(
    "repeats", "choice", "drop", "what to do with rows that the upstream sends again", ("drop", "keep")
)
"""Of queues only."""

COMMON: Final = (
    Parameter("protocol", "text", "", "format of the messages"),
    Parameter("time-zone", "text", "", "zone of the source's zone-less timestamps; default: WEIR_TIME_ZONE"),
    Parameter("bad-message", "choice", "fail", "what to do with a message that cannot be decoded", BAD_MESSAGE),
    Parameter("max-rows-per-batch", "int", "200000", "messages in one micro-batch at most", low=1, high=100_000_000),
    Parameter("max-bytes-per-batch", "int", "268435456", "bytes in one micro-batch at most", low=1024, high=1 << 36),
)


def protocol(name: str, refused: Mapping[str, str] = MappingProxyType({})) -> str:
    """The protocol if there is an opener for it; ``ConfigError`` names those that there are. ``refused``: protocols
    that this source cannot hold, and why."""
    name = name.lower()
    reasons = {**LATER, **refused}
    if name in reasons:
        raise ConfigError(f"{WHAT}: protocol {name}: {reasons[name]}", code=CODE)
    if not name:
        raise ConfigError(f"{WHAT}: parameter protocol is missing; known are: {_known(reasons)}", code=CODE)
    if name not in CODECS or CODECS[name].opener is None:
        near = difflib.get_close_matches(name, CODECS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"{WHAT}: unknown protocol {name!r}; {hint}known are: {_known(reasons)}", code="CDC:ErrSinkUnknownProtocol"
        )
    return name


def _known(refused: Mapping[str, str]) -> str:
    return ", ".join(sorted(name for name in CODECS if CODECS[name].opener is not None and name not in refused))


def zone(name: str) -> str:
    """The zone's name if this machine knows it ("" stays: use the server's)."""
    if name:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ConfigError(
                f"{WHAT}: time-zone {name!r} is not a known zone such as Asia/Shanghai", code=CODE
            ) from None
    return name
