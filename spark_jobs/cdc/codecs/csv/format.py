"""The parameters of CSV rows, and the fields that stand before the columns; the rules stand in ``csv.py``."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import Column, TableSchema

NAME: Final = "csv"

FORMAT_OPTIONS: Final = (
    Option("delimiter", "str", ",", "between fields, 1 to 3 bytes"),
    Option("quote", "str", '"', "around text; empty: text is escaped instead"),
    Option("null", "str", r"\N", "stands for NULL"),
    Option("terminator", "str", "\r\n", "after each row"),
    Option("include-commit-ts", "bool", "false", "a field for the commit-ts"),
    Option("binary-encoding-method", "choice", "base64", "how bytes are written", ("base64", "hex")),
    Option("output-old-value", "bool", "false", "an update as two rows, old and new, and a field that tells them"),
    Option("output-handle-key", "bool", "false", "a field for the handle"),
    Option("output-field-header", "bool", "false", "the names of the fields as the first line of each file"),
)

OPERATION_FIELD: Final = "ticdc-meta$operation"
_TABLE_FIELD: Final = "ticdc-meta$table"
_SCHEMA_FIELD: Final = "ticdc-meta$schema"
_COMMIT_TS_FIELD: Final = "ticdc-meta$commit-ts"
_IS_UPDATE_FIELD: Final = "ticdc-meta$is-update"


class CsvFormat(msgspec.Struct, frozen=True, kw_only=True):
    """TiCDC's ``[sink.csv]``, and the terminator of ``[sink]``; the fields are the options of that name."""

    delimiter: str = ","
    quote: str = '"'
    null: str = r"\N"
    terminator: str = "\r\n"
    include_commit_ts: bool = False
    hex: bool = False
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False

    @classmethod
    def of(cls, given: Options) -> "CsvFormat":
        """From the checked options; ``ConfigError`` for a delimiter or quote that TiCDC refuses as well."""
        found = cls(
            delimiter=given.text("delimiter"),
            quote=given.text("quote"),
            null=given.text("null"),
            terminator=given.text("terminator"),
            include_commit_ts=given.flag("include-commit-ts"),
            hex=given.text("binary-encoding-method") == "hex",
            output_old_value=given.flag("output-old-value"),
            output_handle_key=given.flag("output-handle-key"),
            output_field_header=given.flag("output-field-header"),
        )
        found.check()
        return found

    def check(self) -> None:
        if not 1 <= len(self.delimiter.encode()) <= 3 or _breaks_lines(self.delimiter):
            raise ConfigError(f"the csv delimiter is 1 to 3 bytes without a line break, not {self.delimiter!r}")
        if len(self.quote) > 1 or _breaks_lines(self.quote):
            raise ConfigError(f"the csv quote is one character or none, and no line break, not {self.quote!r}")
        if self.quote and self.quote in self.delimiter:
            raise ConfigError(f"the csv delimiter {self.delimiter!r} contains the quote {self.quote!r}")

    def header(self, table: TableSchema) -> bytes:
        """The line that names the fields, with its terminator. There is no name for the handle's field."""
        names = [OPERATION_FIELD, _TABLE_FIELD, _SCHEMA_FIELD]
        if self.include_commit_ts:
            names.append(_COMMIT_TS_FIELD)
        if self.output_old_value:
            names.append(_IS_UPDATE_FIELD)
        names += [column.name for column in written_columns(table)]
        return (self.delimiter.join(names) + self.terminator).encode("utf-8", "surrogateescape")


def csv_format(options: Mapping[str, str]) -> CsvFormat:
    """The format that a sink's parameters ask for."""
    return CsvFormat.of(Options(NAME, options, FORMAT_OPTIONS))


def written_columns(table: TableSchema) -> Sequence[Column]:
    """The columns that a row carries: all but virtual generated ones."""
    return [column for column in table.columns if column.generated != "virtual"]


def _breaks_lines(text: str) -> bool:
    return "\r" in text or "\n" in text
