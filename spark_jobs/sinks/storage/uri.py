"""``file://`` sink URIs: parsed over a configuration, checked against the folder that they name.

``adopt`` says what becomes of data that is in the folder already: ``continue`` goes on after its last commit,
``restart`` delivers again under numbers behind it.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from spark_jobs import folders
from spark_jobs.cdc.codec import Opener
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sinks.base import Committer, Definition, Serializer, Site
from spark_jobs.sinks.storage import config
from spark_jobs.sinks.storage.config import CODE, SEPARATORS, WHAT, CloudStorageConfig
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

WEIR_FOLDER: Final = "_weir"
NOT_EMPTY: Final = "CDC:ErrSinkFolderNotEmpty"
ADOPT: Final = ("", "continue", "restart")

PARAMETERS: Final = table(
    Parameter("protocol", "text", "", "canal-json or csv"),
    Parameter("flush-interval", "duration", "5s", "time between two micro-batches", low=0.1, high=600, clamp=True),
    Parameter("file-size", "int", "67108864", "bytes at which a file is cut", low=1024, high=1 << 29, clamp=True),
    Parameter("worker-count", "int", "16", "of TiCDC; Spark decides here", low=1, applies=False),
    Parameter("flush-concurrency", "int", "1", applies=False),
    Parameter("use-table-id-as-path", applies=False),
    Parameter("spool-disk-quota", applies=False),
    Parameter("spool-base-dir", applies=False),
    Parameter("transaction-atomicity", "choice", "none", "a file never spans two batches", ("", "none", "table")),
    Parameter("enable-tidb-extension", "bool", "false", "canal-json: adds _tidb with the commit-ts"),
    Parameter("content-compatible", "bool", "false", "canal-json: full mysqlType, only changed columns in old"),
    Parameter("only-output-updated-columns", "bool", "false", "canal-json: only changed columns in old"),
    Parameter("delete-old", "bool", "false", "canal-json: old of a delete repeats data, as before TiCDC 5.4"),
    Parameter("dialect", "choice", "ticdc", "canal-json: ticdc, or canal for Canal's own form", ("ticdc", "canal")),
    Parameter("adopt", "text", "", "a folder that holds data already: continue, or restart"),
    Parameter("date-separator", "choice", "day", "folder per commit date", SEPARATORS),
    Parameter("file-index-width", "int", "6", "digits of file numbers"),
)


class StorageSink(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed storage sink, a ``SinkSpec``.

    ``codec_options`` go to the encoder by name; ``not_applicable`` lists what was ignored. ``adopt``: "", ``continue``
    or ``restart``.
    """

    uri: str
    path: str
    protocol: str
    flush_interval_seconds: float
    file_size: int
    terminator: str
    date_separator: str
    enable_partition_separator: bool
    file_index_width: int
    codec_options: dict[str, str]
    adopt: str
    not_applicable: tuple[str, ...] = ()
    scheme: str = "file"

    @property
    def extension(self) -> str:
        """Ending of data files, with its dot."""
        return ".csv" if self.protocol == "csv" else ".json"

    @property
    def needs_definitions(self) -> bool:
        """CSV writes names of enum and set elements, which only definitions have."""
        return self.protocol == "csv"

    @property
    def identity_key(self) -> tuple[str, ...]:
        """What makes it this sink: what was delivered to another one is not here."""
        return self.scheme, self.path

    @property
    def folder(self) -> str:
        """The local folder that is written."""
        return self.path

    def masked(self) -> str:
        """The URI without secrets."""
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        """``ConfigError`` unless the folder is in one of the permitted roots."""
        folders.require_inside(self.path, roots, what=WHAT, code=CODE)

    def check(self, changefeed_id: str = "") -> None:
        """Proves that the folder can be written and holds nothing of unknown origin (I/O); ``ConfigError`` else."""
        folders.check_writable(self.path, what=WHAT, code=CODE)
        if not self.adopt:
            self._require_empty()
        self._require_one_file_system(changefeed_id)

    def home(self, changefeed_id: str, checkpoint_folder: str) -> str:
        """Beside the data, so that files can be linked and the log is never apart from what it tells of."""
        return os.path.join(self.path, WEIR_FOLDER, changefeed_id)

    def ended(self, changefeed_id: str) -> None:
        """Its checkpoint does not hold ``metadata`` back any more."""
        from spark_jobs.sinks.storage.checkpoints import end

        end(self.home(changefeed_id, ""))

    def serializer(self, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> Serializer:
        """See ``Serializer``; the lanes are (schema, table, partition id)."""
        from spark_jobs.sinks.storage.serializer import StorageSerializer

        return StorageSerializer(self, opener, definitions, time_zone)

    def committer(self, site: Site) -> Committer:
        """See ``Committer``."""
        from spark_jobs.sinks.storage.committer import StorageCommitter

        return StorageCommitter(self, site)

    def _require_empty(self) -> None:
        there = os.listdir(self.path) if os.path.isdir(self.path) else []
        found = sorted(name for name in there if not name.startswith("."))
        if not found:
            return
        if WEIR_FOLDER in found:
            owners = ", ".join(sorted(os.listdir(os.path.join(self.path, WEIR_FOLDER)))) or "unknown"
            holds = f"the output of a changefeed ({owners})"
        else:
            holds = f"data of unknown origin ({found[0]})"
        raise ConfigError(
            f"{WHAT}: the folder {self.path} holds {holds}; choose an empty folder, or add adopt=continue to go on "
            "after its last commit, or adopt=restart to deliver again behind what is there",
            code=NOT_EMPTY,
        )

    def _require_one_file_system(self, changefeed_id: str) -> None:
        """Data files get their names by hard links from the changefeed's home."""
        home = self.home(changefeed_id, "")
        with contextlib.suppress(OSError):
            if os.stat(_existing(home)).st_dev != os.stat(_existing(self.path)).st_dev:
                raise ConfigError(
                    f"{WHAT}: {home} is on another file system than {self.path}, so files cannot get their names by "
                    "hard links; mount one file system for both",
                    code=CODE,
                )


def parse(uri: Uri, replica_config: Mapping[str, object]) -> StorageSink:
    """A ``file://`` sink URI over its configuration as a spec."""
    given = config.sink_config(replica_config)
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    storage = given.cloud_storage_config or CloudStorageConfig()
    protocol = config.protocol_of(settings.text("protocol") or given.protocol or "")
    options = config.csv_options(given) if protocol == "csv" else config.canal_json_options(settings, given)
    config.check_encoder(protocol, options)
    return StorageSink(
        uri=uri.text,
        path=folders.local_path(uri, what=WHAT, code=CODE),
        protocol=protocol,
        flush_interval_seconds=config.flush_interval_seconds(settings, storage),
        file_size=config.file_size(settings, storage),
        terminator="\r\n" if given.terminator is None else given.terminator,
        date_separator=config.date_separator(settings, given),
        enable_partition_separator=given.enable_partition_separator is not False,
        file_index_width=config.file_index_width(settings, given),
        codec_options=options,
        adopt=_adopt(settings.text("adopt")),
        not_applicable=tuple(settings.not_applicable),
    )


def _adopt(text: str) -> str:
    if text.lower() in ADOPT:
        return text.lower()
    raise ConfigError(
        f"{WHAT}: parameter adopt: {text!r} is neither continue (go on after the folder's last commit) nor restart "
        "(deliver again, under numbers behind what is there)",
        code=CODE,
    )


def _existing(path: str) -> str:
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path
