"""``blackhole://``: decodes every row and drops it, for measuring what comes before a sink."""

from collections.abc import Mapping, Sequence
from typing import Final

from spark_jobs.cdc.codec import Opener, Rows
from spark_jobs.sinks.base import Definition, Lane, Piece, Prepared, SinkView, Site, Statement
from spark_jobs.sinks.trial.common import CODE, FLUSH_INTERVAL, LANE, WHAT, TrialCommitter, TrialSerializer, TrialSink
from spark_jobs.uris import Parameter, Settings, Uri, table

PARAMETERS: Final = table(Parameter("protocol", applies=False), FLUSH_INTERVAL)
_NOTHING: Final = (LANE, b"")


def parse(uri: Uri, replica_config: Mapping[str, object]) -> "Blackhole":
    """A ``blackhole://`` sink URI as a spec."""
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    return Blackhole(
        uri=uri.text,
        scheme=uri.scheme,
        protocol="",
        flush_interval_seconds=settings.seconds("flush-interval"),
        not_applicable=tuple(settings.not_applicable),
    )


class Blackhole(TrialSink, frozen=True, kw_only=True):
    """A parsed ``blackhole://`` sink."""

    def serializer(self, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> "_Serializer":
        return _Serializer()

    def committer(self, site: Site) -> "_Committer":
        return _Committer()


class _Serializer(TrialSerializer):
    def serialize(self, rows: Rows, commit_ts: int, /) -> Sequence[tuple[Lane, bytes]]:
        return [_NOTHING] * len(rows.changes())


class _Committer(TrialCommitter):
    def prepare(self, items: Sequence[Piece | Statement], view: SinkView) -> Prepared:
        return Prepared()
