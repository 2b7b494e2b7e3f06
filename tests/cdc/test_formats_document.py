"""``docs/formats.md`` says what the code does."""

import pytest

from spark_jobs.cdc.codecs import CODECS
from tests.cdc.formats_document import DOCUMENT, rendered

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_document_is_up_to_date():
    assert rendered(TEXT) == TEXT, "run: python -m tests.cdc.formats_document"


@pytest.mark.parametrize("name", CODECS)
def test_every_format_has_its_options_shown(name):
    assert f"<!-- options {name} -->" in TEXT


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if codec.decoder and codec.encoder])
def test_every_format_has_its_limits_shown(name):
    assert f"<!-- losses {name} -->" in TEXT
