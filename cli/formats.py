"""``weir formats``: which protocols there are, and their options."""

import argparse
from collections.abc import Iterator

from cli.console import Console
from spark_jobs.cdc.codec import Codec, Option
from spark_jobs.cdc.codecs import CODECS, codec

EXAMPLE = """\
examples:
  weir formats
  weir formats datahub-blob
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="show its options; none: all protocols")


def run(arguments: argparse.Namespace, console: Console) -> int:
    for name in arguments.protocols or sorted(CODECS):
        lines = _with_options(codec(name)) if arguments.protocols else [_summary(codec(name))]
        console.stdout.write("".join(f"{line}\n" for line in lines).encode())
    return 0


def _summary(found: Codec) -> str:
    ways = [way for way, factory in (("read", found.decoder), ("written", found.encoder)) if factory]
    return f"{found.name:16}{'text' if found.text else 'binary':8}{' and '.join(ways)}"


def _with_options(found: Codec) -> Iterator[str]:
    yield _summary(found)
    for title, options in (("--from-option", found.decode_options), ("--option", found.encode_options)):
        for option in options:
            yield f"  {title} {option.name}={_choices(option)}  (default: {option.default!r}) {option.meaning}"


def _choices(option: Option) -> str:
    return "|".join(option.choices) if option.choices else {"bool": "true|false", "int": "N"}.get(option.kind, "TEXT")
