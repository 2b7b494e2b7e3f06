"""``weir tso``: TiDB timestamps as times and times as TiDB timestamps."""

import argparse
from datetime import UTC, datetime, tzinfo

import msgspec

from cli.console import Console
from spark_jobs.cdc import tso
from spark_jobs.cdc.codec_options import time_zone
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.event_json import time_text

EXAMPLE = """\
examples:
  weir tso 443773863624179716                      2023-08-24T07:42:24.123Z
  weir tso --zone Asia/Shanghai 443773863624179716 2023-08-24T15:42:24.123+08:00
  weir tso 2023-08-24T15:42:24.123+08:00           443773863624179712
  weir tso --zone Asia/Shanghai '2023-08-24 15:42:24' now
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "values",
        nargs="+",
        metavar="VALUE",
        help="a TSO (digits only), a time (RFC 3339; without an offset it is in --zone), or now",
    )
    parser.add_argument("--zone", default="UTC", help="time zone of times without an offset, and of those shown")
    parser.add_argument("--json", action="store_true", help="TSO, milliseconds, counter and time of every value")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """One line for each value."""
    zone = time_zone(arguments.zone)
    for value in arguments.values:
        line = _as_json(value, zone) if arguments.json else _other_form(value, zone)
        console.stdout.write(line.encode() + b"\n")
    return 0


def _other_form(value: str, zone: tzinfo) -> str:
    ts = parse(value, zone)
    return time_text(ts, zone) if value.isdigit() else str(ts)


def _as_json(value: str, zone: tzinfo) -> str:
    ts = parse(value, zone)
    tree = {"tso": ts, "unix_ms": tso.physical_ms(ts), "logical": tso.logical(ts), "time": time_text(ts, zone)}
    return msgspec.json.encode(tree).decode()


def parse(value: str, zone: tzinfo) -> int:
    """The TSO that a value means; ``ConfigError`` for one that means none."""
    if value.isascii() and value.isdigit():
        if len(value) > 20 or int(value) > tso.MAX_TSO:
            raise ConfigError(f"{value} is not a TSO: it does not fit 63 bits")
        return int(value)
    if value == "now":
        return tso.from_datetime(datetime.now(UTC))
    try:
        at = datetime.fromisoformat(value)
        ts = tso.from_datetime(at if at.tzinfo else at.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise ConfigError(f"{value!r} is neither a TSO nor a time such as 2023-08-24T15:42:24.123+08:00") from None
    if not 0 <= ts <= tso.MAX_TSO:
        raise ConfigError(f"{value!r} is outside the years 1970 to 3084, which TSOs hold")
    return ts
