"""The sink: ``example-notes:///folder?protocol=P``. Rows are appended to a file a table; a statement is a note of its
own. Published twice, a row would stand there twice; so each note is one file, named by its staged name."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence

import msgspec

from spark_jobs.cdc.codec import Opener, Rows
from spark_jobs.cdc.codecs import row_writer
from spark_jobs.sinks.base import (
    EVER,
    NO_LABEL,
    Definition,
    Document,
    FileRecord,
    Label,
    Lane,
    Piece,
    Prepared,
    SinkView,
    Site,
    Statement,
    Step,
    TableCount,
)
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

PARAMETERS = table(Parameter("protocol"))


class NotesSink(msgspec.Struct, frozen=True, kw_only=True):
    uri: str
    protocol: str
    folder: str
    scheme: str = "example-notes"
    flush_interval_seconds: float = 0.1
    adopt: str = ""
    not_applicable: tuple[str, ...] = ()
    needs_definitions: bool = False

    @property
    def identity_key(self) -> tuple[str, ...]:
        return (self.folder,)

    def masked(self) -> str:
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        return

    def check(self, changefeed_id: str = "") -> None:
        os.makedirs(self.folder, exist_ok=True)

    def ended(self, changefeed_id: str) -> None:
        return

    def home(self, changefeed_id: str, checkpoint_folder: str) -> str:
        return os.path.join(checkpoint_folder, "notes")

    def serializer(self, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> "NotesSerializer":
        return NotesSerializer(self, opener)

    def committer(self, site: Site) -> "NotesCommitter":
        return NotesCommitter(self, site)


def parse(uri: Uri, replica_config: Mapping[str, object]) -> NotesSink:
    settings = Settings(uri, PARAMETERS, what="sink_uri", code="CDC:ErrSinkURIInvalid")
    return NotesSink(uri=uri.text, protocol=settings.text("protocol"), folder=uri.path)


class NotesSerializer:
    piece_bytes = 1 << 20

    def __init__(self, sink: NotesSink, opener: Opener) -> None:
        self._writer = row_writer(opener, sink.protocol, {}, b"\n")

    def serialize(self, rows: Rows, commit_ts: int, /) -> Sequence[tuple[Lane, bytes]]:
        lines = bytearray()
        self._writer.rows(rows, commit_ts, lines)
        return [((rows.schema, rows.name), bytes(lines))]

    def label(self, rows: Rows, /) -> Label:
        return NO_LABEL

    def joins(self, label: Label, other: Label, /) -> bool:
        return True

    def section(self, commit_ts: int, /) -> tuple[str, int, int]:
        return EVER

    def head(self, label: Label, /) -> bytes:
        return b""


class NotesCommitter:
    def __init__(self, sink: NotesSink, site: Site) -> None:
        self._folder = sink.folder
        self._site = site

    def cuts(self, statements: Sequence[Statement], view: SinkView) -> Callable[[Lane], list[int]]:
        return lambda lane: [statement.order[0] for statement in statements]

    def definitions(self, statements: Sequence[Statement], view: SinkView) -> list[Definition]:
        return []

    def prepare(self, items: Sequence[Piece | Statement], view: SinkView) -> Prepared:
        prepared = Prepared()
        for number, item in enumerate(items):
            name = f"{view.number:04d}-{number:04d}"
            if isinstance(item, Statement):
                prepared.steps.append(Step(documents=[Document(f"{name}.statement", item.ddl.query)]))
                continue
            path = f"{name}.{item.lane[0]}.{item.lane[1]}"
            times = item.first_ts, item.last_ts
            prepared.steps.append(Step(files=[FileRecord(item.staged, path, item.rows, item.bytes, *times)]))
            prepared.counts.append(TableCount(str(item.lane[0]), str(item.lane[1]), item.rows, item.bytes))
        return prepared

    def publish(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._site.guard()
            for document in step.documents:
                with open(os.path.join(self._folder, document.path), "w") as note:
                    note.write(document.content)
            for file in step.files:
                shutil.copyfile(os.path.join(self._site.staging, file.staged), os.path.join(self._folder, file.path))

    def watermark(self, checkpoint_ts: int, *, may_go_back: bool = False) -> None:
        return

    def claimed(self, view: SinkView) -> None:
        return

    def upkeep(self, view: SinkView) -> None:
        return

    def settle(self, view: SinkView) -> None:
        return

    def close(self) -> None:
        return
