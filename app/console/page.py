"""Lists every changefeed with its state, lag and what is not well."""

from html import escape
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app import VERSION, times
from app.changefeeds.conditions import Moment, conditions, lag_seconds, shown_state
from app.changefeeds.endpoints import InContext, moment_of
from app.changefeeds.record import DEFAULT_KEYSPACE, Changefeed, State
from app.masking import masked_text
from spark_jobs.uris import masked

router = APIRouter(include_in_schema=False)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
_HEADERS: Final = {"content-security-policy": _POLICY, "cache-control": "no-store", "x-content-type-options": "nosniff"}
_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .5rem .7rem; border-bottom: 1px solid #8884; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.state { border-radius: .6rem; padding: .1rem .55rem; white-space: nowrap; color: #fff; background: #666; }
.normal { background: #1a7f37; } .warning { background: #9a6700; } .failed { background: #cf222e; }
.finished { background: #0969da; }
.route, .code { color: #777; overflow-wrap: anywhere; }
"""
_FRAME: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10"><link rel="icon" href="data:,"><title>Weir</title><style>{style}</style></head>
<body><h1>Weir</h1><p>{summary} · <a href="docs">API</a> · {version}</p>{body}</body></html>
"""
_HEAD: Final = (
    "<table><thead><tr><th>changefeed</th><th>state</th><th>lag</th><th>checkpoint (UTC)</th><th>rows</th>"
    "<th>what is not well</th></tr></thead><tbody>"
)


@router.get("/")
def get_console(context: InContext) -> HTMLResponse:
    with context.database.read() as connection:
        feeds = context.feeds(connection).all()
        moment = moment_of(context, connection)
    shown = [feed for feed in feeds if feed.state is not State.REMOVED]
    captures = f"{moment.captures} capture{'' if moment.captures == 1 else 's'}"
    summary = f"{len(shown)} changefeed{'' if len(shown) == 1 else 's'} on {captures}"
    rows = "".join(_row(feed, moment) for feed in shown)
    none = "<p>There is no changefeed yet: create one with <a href='docs'>POST /api/v2/changefeeds</a>.</p>"
    body = f"{_HEAD}{rows}</tbody></table>" if shown else none
    page = _FRAME.format(style=_STYLE, summary=summary, version=f"version {VERSION}", body=body)
    return HTMLResponse(page, headers=_HEADERS)


def _row(feed: Changefeed, moment: Moment) -> str:
    state = shown_state(feed, moment).value
    lag = lag_seconds(feed, feed.checkpoint_ts, moment.now_ms)
    space = "" if feed.keyspace == DEFAULT_KEYSPACE else f"{escape(feed.keyspace)}/"
    query = "" if feed.keyspace == DEFAULT_KEYSPACE else f"?keyspace={quote(feed.keyspace, safe='')}"
    link = f"api/v2/changefeeds/{quote(feed.name, safe='')}{query}"
    route = escape(f"{masked(feed.source_uri)} → {masked(feed.sink_uri)}")
    return (
        f"<tr><td><a href='{link}'>{space}{escape(feed.name)}</a><div class='route'>{route}</div></td>"
        f"<td><span class='state {state}'>{state}</span>{' idle' if feed.signs.idle else ''}</td>"
        f"<td class='number'>{_lag(lag)}</td><td class='number'>{times.known_time_of(feed.checkpoint_ts) or '–'}</td>"
        f"<td class='number'>{feed.rows_total:,}</td><td>{_trouble(feed, moment)}</td></tr>"
    )


def _lag(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _trouble(feed: Changefeed, moment: Moment) -> str:
    return "".join(
        f"<div>{escape(masked_text(found.message))} <span class='code'>{escape(found.code)}, since"
        f" {times.json_time(found.since_ms)}</span></div>"
        for found in conditions(feed, moment)
    )
