"""One image for all tests of containers."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.container import root
from tests.container.image import Image, build

PROJECT: Final = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """The Dockerfile, executed. Its root goes at the end; the base stays in ``build/``."""
    reason = root.missing()
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="weir-image-")).resolve()
    folder.chmod(0o755)
    try:
        yield build(PROJECT, folder, PROJECT / "build" / "container")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
