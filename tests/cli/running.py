"""Runs ``weir``: in this process, and as the command that users call."""

import io
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cli.console import Console
from cli.main import main

WEIR = [str(Path(sys.executable).with_name("weir"))]
BLOB_SAMPLES = Path(__file__).parents[1] / "data/datahub/blob_samples.json"


class Result(NamedTuple):
    status: int
    out: bytes
    err: str


def weir(*words: object, stdin: bytes = b"") -> Result:
    """In this process."""
    out, err = io.BytesIO(), io.StringIO()
    status = main([str(word) for word in words], Console(io.BytesIO(stdin), out, err))
    return Result(status, out.getvalue(), err.getvalue())


def weir_command(*words: object, stdin: bytes = b"") -> Result:
    """As a process of its own."""
    done = subprocess.run([*WEIR, *map(str, words)], input=stdin, capture_output=True, timeout=60, check=False)
    return Result(done.returncode, done.stdout, done.stderr.decode())
