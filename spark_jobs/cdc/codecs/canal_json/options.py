"""What a user may choose about the Canal-JSON that is written."""

from collections.abc import Mapping
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.mysql.types import Dialect

ENCODE_OPTIONS: Final = (
    Option("dialect", "choice", "ticdc", "whose form: TiCDC's, or that of Canal's own server", ("ticdc", "canal")),
    Option("enable-tidb-extension", "bool", "false", "write _tidb with the commit TSO, and watermarks"),
    Option("content-compatible", "bool", "false", "full mysqlType and only the changed columns in old, as Canal has"),
    Option("only-output-updated-columns", "bool", "false", "old of an UPDATE holds only the columns that changed"),
    Option("delete-only-output-handle-key-columns", "bool", "false", "a DELETE holds only the handle key columns"),
    Option("delete-old", "bool", "false", "a DELETE repeats data in old, as TiCDC before v5.4 does"),
)


class EncodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The choices with their consequences: ``canal`` and ``content_compatible`` imply ``only_updated``."""

    dialect: Dialect = Dialect.TICDC
    extension: bool = False
    content_compatible: bool = False
    only_updated: bool = False
    delete_only_handle_key: bool = False
    delete_old: bool = False


def encode_options(given: Mapping[str, str]) -> EncodeOptions:
    """Reads them by name; ``ConfigError`` for an unknown name, a wrong value or a combination that no system writes."""
    options = Options(PROTOCOL, given, ENCODE_OPTIONS)
    dialect = Dialect(options.text("dialect"))
    canal = dialect is Dialect.CANAL
    for name in ("enable-tidb-extension", "delete-old"):
        if canal and options.flag(name):
            raise ConfigError(f"option {name} of {PROTOCOL} is TiCDC's: it cannot be used with dialect=canal")
    compatible = options.flag("content-compatible")
    return EncodeOptions(
        dialect=dialect,
        extension=options.flag("enable-tidb-extension"),
        content_compatible=compatible,
        only_updated=canal or compatible or options.flag("only-output-updated-columns"),
        delete_only_handle_key=options.flag("delete-only-output-handle-key-columns"),
        delete_old=options.flag("delete-old"),
    )
