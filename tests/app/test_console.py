"""The page at ``/``: every changefeed with state, lag and what is not well; plain HTML."""

import re
from html.parser import HTMLParser

from app.owner.loop import Owner
from spark_jobs.cdc import tso
from tests.app.calls import create

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Refuses what is not closed; gathers addresses and text."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value for name, value in attrs if name in ("href", "src", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_lists_changefeeds_with_state_lag_and_trouble(api, context, clock, twin, order, tmp_path):
    create(api, order("fine"))
    create(api, order("broken"))
    create(api, order("other", sink_uri=f"file://{tmp_path}/o?protocol=csv"), keyspace="team_a")
    Owner(context).tick()
    given = {assignment.changefeed_id: assignment for assignment in twin.beat().assignments}
    checkpoint_ts = tso.compose(clock() - 5000)
    twin.beat(
        twin.report(given["fine"], checkpoint_ts=checkpoint_ts, batch_id=1, rows_total=1234567),
        twin.report(given["team_a.other"], idle=True),
    )
    twin.fail(given["broken"], "CDC:ErrDecodeFailed", retryable=False, message="<b>kafka://u:hunter2@h/t</b> is bad")
    reply = api.get("/")
    assert reply.headers["content-type"].startswith("text/html")
    page = Page(reply.text)
    for words in (
        "3 changefeeds on 1 capture",
        "fine",
        "1,234,567",
        "failed",
        "CDC:ErrDecodeFailed",
        "team_a/other",
        "idle",
    ):
        assert words in page.text, words
    assert re.search(r"[5-9]\.\d s", page.text), "the lag"
    assert "<b>kafka" in page.text, "what came with the data is shown as text"
    assert "hunter2" not in reply.text
    for address in page.addresses:
        assert "//" not in address
        if not address.startswith("data:"):
            assert api.get(f"/{address}").status_code == 200
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_an_empty_page_says_how_to_begin(api):
    assert "There is no changefeed yet" in Page(api.get("/").text).text
