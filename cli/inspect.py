"""``weir inspect``: messages of any format as readable JSON, an event a line. ``event_json`` says what stands in it."""

import argparse

from cli import reading
from cli.console import Console
from cli.reading import Reading
from spark_jobs.cdc.codec_options import time_zone
from spark_jobs.cdc.event_json import EventJson, Tree

EXAMPLE = """\
examples:
  weir inspect --from canal-json messages.json
  kcat -C -t orders -e -f '%s\\n' | weir inspect --from canal-json | jq .after
  weir inspect --from tidb-binlog --framing drainer binlog-0000000000000000-20240229101112
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_arguments(parser)
    parser.add_argument("--zone", default="UTC", help="time zone of the times shown (default: UTC)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Exit status 0, or 1 after a bad message."""
    writer = EventJson(time_zone(arguments.zone))
    source = Reading(arguments, console)
    for message, event in source.events():
        where: dict[str, Tree] = {"message": message.number}
        if source.has_many_files:
            where["file"] = message.file
        console.stdout.write(writer.line(event, where) + b"\n")
        if console.stdout.isatty():
            console.stdout.flush()
    source.end()
    return 0
