"""``stdout:``: prints each message on a line of the capture's standard output, for trying things.

Text protocols are printed as they are; of binary ones the message is read back and shown as ``weir inspect`` shows it,
so that what is seen is what is in it. All rows come in one order; a statement stands between those before and after it.
A crash may print the last batch again.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Opener, Rows
from spark_jobs.cdc.codecs import CODECS, codec, row_writer
from spark_jobs.cdc.ddl.effects import Effect, effects
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.event_json import EventJson
from spark_jobs.cdc.events import Ddl, RowChange
from spark_jobs.sinks.base import Definition, Document, Lane, Piece, Prepared, SinkView, Site, Statement, Step
from spark_jobs.sinks.trial.common import (
    CODE,
    FLUSH_INTERVAL,
    LANE,
    WHAT,
    TrialCommitter,
    TrialSerializer,
    TrialSink,
    recorded,
)
from spark_jobs.uris import Parameter, Settings, Uri, table


def _options() -> list[Parameter]:
    """The options of all encoders, by name; each is handed to the encoder that knows it."""
    names = {option.name for one in CODECS.values() for option in one.encode_options}
    return [Parameter(name, "text", "", "of the encoder") for name in sorted(names)]


PARAMETERS: Final = table(Parameter("protocol", "text", "canal-json", "any that can be written"), FLUSH_INTERVAL)


def parse(uri: Uri, replica_config: Mapping[str, object]) -> "Stdout":
    """A ``stdout:`` sink URI as a spec."""
    settings = Settings(uri, {**PARAMETERS, **table(*_options())}, what=WHAT, code=CODE)
    name = settings.text("protocol").lower()
    found = codec(name)
    if found.encoder is None:
        raise ConfigError(f"{WHAT}: {name} can be read, not written", code="CDC:ErrSinkUnknownProtocol")
    options = {option: settings.text(option) for option in settings.given if option not in PARAMETERS}
    found.encoder(options)
    return Stdout(
        uri=uri.text,
        scheme=uri.scheme,
        protocol=name,
        flush_interval_seconds=settings.seconds("flush-interval"),
        options=options,
    )


class Stdout(TrialSink, frozen=True, kw_only=True):
    """A parsed ``stdout:`` sink. ``options``: the encoder's."""

    options: dict[str, str]

    def serializer(self, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> "_Serializer":
        return _Serializer(self, opener)

    def committer(self, site: Site) -> "_Committer":
        return _Committer(self, site)


class _Lines:
    """Messages as lines."""

    def __init__(self, sink: Stdout) -> None:
        found = codec(sink.protocol)
        self._decoder = None if found.text or found.decoder is None else found.decoder({})
        self._json = EventJson(UTC)

    def of(self, message: bytes) -> bytes:
        if self._decoder is None:
            return message.rstrip(b"\r\n") + b"\n" if message else b""
        return b"".join(self._json.line(event, {}) + b"\n" for event in self._decoder.decode(message))


class _Serializer(TrialSerializer):
    def __init__(self, sink: Stdout, opener: Opener) -> None:
        self._writer = row_writer(opener, sink.protocol, sink.options, b"\n" if codec(sink.protocol).text else b"")
        self._lines = _Lines(sink)

    def serialize(self, rows: Rows, commit_ts: int, /) -> Sequence[tuple[Lane, bytes]]:
        return [(LANE, self._lines.of(self._written(change, commit_ts))) for change in rows.changes()]

    def _written(self, change: RowChange, commit_ts: int) -> bytes:
        """Each row by itself: messages behind each other could not be told apart."""
        output = bytearray()
        self._writer.changes([change], commit_ts, output)
        return bytes(output)


class _Committer(TrialCommitter):
    def __init__(self, sink: Stdout, site: Site) -> None:
        self._sink = sink
        self._site = site
        self._lines = _Lines(sink)

    def prepare(self, items: Sequence[Piece | Statement], view: SinkView) -> Prepared:
        steps: list[Step] = [Step()]
        for item in items:
            if isinstance(item, Piece):
                steps[-1].files.append(recorded(item))
            elif shown := self._shown(item):
                steps.append(Step(documents=[Document("", shown)]))
        return Prepared(steps=[step for step in steps if step.files or step.documents])

    def _shown(self, statement: Statement) -> str:
        make = codec(self._sink.protocol).encoder
        assert make is not None
        encoder = make(self._sink.options)
        messages = [message for event in self._events(statement) for message in encoder.encode(event)]
        return b"".join(map(self._lines.of, [*messages, *encoder.flush()])).decode("utf-8", "replace")

    def _events(self, statement: Statement) -> list[Ddl]:
        """The message as it was, unless a part of it is left out or named otherwise in the sink."""
        select, event = self._site.select, msgspec.structs.replace(statement.ddl, commit_ts=statement.commit_ts)
        if statement.commit_ts <= self._site.floor_ts:
            return []
        found = [effect for effect in effects(event, {}, route=select.routed).each if not effect.quiet]
        wanted = [effect for effect in found if self._is_wanted(effect)]
        names = [select.routed(effect.schema, effect.table) for effect in wanted]
        if wanted == found and names == [(effect.schema, effect.table) for effect in wanted]:
            return [event]
        return [
            msgspec.structs.replace(event, schema=schema, table=table, query=effect.query)
            for effect, (schema, table) in zip(wanted, names, strict=True)
            if effect.query
        ]

    def _is_wanted(self, effect: Effect) -> bool:
        select = self._site.select
        passes = select.passes(effect.schema, effect.table) if effect.table else select.passes_schema(effect.schema)
        return passes and not select.ignores_ddl(effect.schema, effect.table, effect.source, effect.action)

    def publish(self, steps: Sequence[Step]) -> None:
        output = sys.stdout.buffer
        for step in steps:
            self._site.guard()
            for document in step.documents:
                output.write(document.content.encode())
            for file in step.files:
                path = os.path.join(self._site.staging, file.staged)
                if os.path.exists(path):
                    with open(path, "rb") as content:
                        shutil.copyfileobj(content, output)
            output.flush()
