"""The normalised text: the cases that TiCDC itself asserts, and ours."""

import json
from pathlib import Path

import pytest

from spark_jobs.cdc import ddl

DATA = Path(__file__).parents[1] / "data"
REWRITTEN = json.loads((DATA / "ddl_query_rewrite.json").read_text())["cases"]


@pytest.mark.parametrize("case", REWRITTEN, ids=[case["in"][:60] for case in REWRITTEN])
def test_the_text_is_ticdcs(case):
    assert ddl.normalise(case["in"], case["charset"], case["collate"]) == (case["out"],)
