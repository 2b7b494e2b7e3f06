"""Parameters that every source takes (contract: source URIs)."""

from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.uris import Parameter

CODE: Final = "CDC:ErrSourceURIInvalid"
WHAT: Final = "source_uri"
BAD_MESSAGE: Final = ("fail", "dead-letter")
PROTOCOLS_TODAY: Final = ("canal-json",)
PROTOCOLS_LATER: Final = ("canal", "tidb-binlog", "datahub-blob", "ticdc")

COMMON: Final = (
    Parameter("protocol", "text", "", "format of the messages"),
    Parameter("time-zone", "text", "", "zone of the source's zone-less timestamps; default: WEIR_TIME_ZONE"),
    Parameter("bad-message", "choice", "fail", "what to do with a message that cannot be decoded", BAD_MESSAGE),
    Parameter("max-rows-per-batch", "int", "200000", "messages in one micro-batch at most", low=1, high=100_000_000),
    Parameter("max-bytes-per-batch", "int", "268435456", "bytes in one micro-batch at most", low=1024, high=1 << 36),
)


def protocol(name: str) -> str:
    """The protocol if sources can read it today; ``ConfigError`` says what is missing."""
    name = name.lower()
    if not name:
        known = ", ".join(PROTOCOLS_TODAY)
        raise ConfigError(f"{WHAT}: parameter protocol is missing; known are: {known}", code=CODE)
    if name in PROTOCOLS_LATER:
        raise ConfigError(
            f"{WHAT}: protocol {name} comes in a later version; today: {', '.join(PROTOCOLS_TODAY)}", code=CODE
        )
    if name not in PROTOCOLS_TODAY:
        known = ", ".join(PROTOCOLS_TODAY)
        raise ConfigError(f"{WHAT}: unknown protocol {name!r}; known are: {known}", code="CDC:ErrSinkUnknownProtocol")
    return name


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
