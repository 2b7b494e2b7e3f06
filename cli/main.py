"""The command ``weir``: a table of subcommands.

A subcommand is a module with ``EXAMPLE``, ``add_arguments(parser)`` and ``run(arguments, console) -> int``; only the
one that is asked for is imported. Exit status: 0; 1 after bad input or a fault of the machine, 2 for wrong usage, 130
when interrupted, 141 when the reader of the output went away.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from typing import Final, Protocol, cast

from cli.console import Console, Stopped
from spark_jobs.cdc.errors import ConfigError, WeirError
from spark_jobs.plugins import register_installed

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "inspect": ("cli.inspect", "show messages as readable JSON, one event a line"),
    "convert": ("cli.convert", "turn messages of one format into messages of another"),
    "formats": ("cli.formats", "list the protocols and their options"),
    "tso": ("cli.tso", "turn TSOs into times and times into TSOs"),
}
"""Name → module, and what it does."""


class Command(Protocol):
    EXAMPLE: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], int]


def main(argv: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Runs a command line and returns its exit status."""
    console = console or _console()
    words = sys.argv[1:] if argv is None else argv
    try:
        register_installed()
        arguments = _parser(words[0] if words else None).parse_args(words)
        status = cast(int, arguments.run(arguments, console))
        console.stdout.flush()
        return status
    except Stopped:
        console.stdout.flush()
        return 1
    except BrokenPipeError:
        _forget_output()
        return 141
    except OSError as error:
        console.say(f"the input cannot be read or the output not written: {error.strerror or error}")
        _forget_output()
        return 1
    except KeyboardInterrupt:
        return 130
    except WeirError as error:
        console.say(error.message)
        return 2 if isinstance(error, ConfigError) else 1


def _parser(asked: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="weir", description="Looks into change streams and converts them.")
    parser.add_argument("--version", action="version", version=f"weir {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == asked:
            command = cast(Command, import_module(module))
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
            subparser.epilog = command.EXAMPLE
    return parser


def _version() -> str:
    try:
        return metadata.version("weir")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _console() -> Console:
    """The streams of the process; whoever started it may have closed some of them."""
    stdin = sys.stdin.buffer if sys.stdin else io.BytesIO()
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    return Console(stdin, sys.stdout.buffer, sys.stderr)


def _forget_output() -> None:
    """Keeps the interpreter from complaining at its end about output that nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
