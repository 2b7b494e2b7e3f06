"""The normalised text of the parts of a statement, in TiDB's style.

What only TiDB understands stands in ``/*T! … */`` or ``/*T![feature] … */``. Placement is written as "": where an
option is left out, the blank before it stays, as TiCDC has it. ``charset`` is the connection's everywhere.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from spark_jobs.cdc.ddl import nodes
from spark_jobs.cdc.ddl.expressions import name, render, string
from spark_jobs.cdc.ddl.option_grammar import TABLE_OPTIONS, Form
from spark_jobs.cdc.ddl.tokens import Kind


def table_text(table: nodes.TableName, schema: str = "") -> str:
    qualifier = table.schema or schema
    return f"{name(qualifier)}.{name(table.table)}" if qualifier else name(table.table)


def tidb_comment(text: str, feature: str = "") -> str:
    return f"/*T![{feature}] {text} */" if feature else f"/*T! {text} */"


def join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def type_text(type_: nodes.DataType) -> str:
    """A data type with its attributes."""
    numbers = type_.numbers or ((1,) if type_.name == "bit" else ())
    inside = f"({','.join(map(str, numbers))})" if numbers else ""
    if type_.elements is not None:
        inside = f"({','.join(map(string, type_.elements))})"
    element = f"<{type_.element_type.upper()}>" if type_.element_type else ""
    return join(
        type_.name.upper() + element + inside,
        "UNSIGNED" if type_.unsigned else "",
        "ZEROFILL" if type_.zerofill else "",
        "BINARY" if type_.binary else "",
        f"CHARACTER SET {type_.charset.upper()}" if type_.charset else "",
    )


def column_text(column: nodes.ColumnDefinition, charset: str) -> str:
    options = (_COLUMN_OPTIONS[type(option)](option, charset) for option in column.options)
    return " ".join((name(column.name), type_text(column.type), *options))


def _attribute(attribute: nodes.Attribute, charset: str) -> str:
    if attribute.kind == "PRIMARY KEY" and attribute.text.endswith("CLUSTERED"):
        return f"PRIMARY KEY {tidb_comment(attribute.text, 'clustered_index')}"
    if attribute.kind == "AUTO_RANDOM":
        numbers = f"({', '.join(map(str, attribute.numbers))})" if attribute.numbers else ""
        return tidb_comment(f"AUTO_RANDOM{numbers}", "auto_rand")
    if attribute.kind == "COMMENT":
        return f"COMMENT {string(attribute.text)}"
    if attribute.kind.endswith("ENGINE_ATTRIBUTE"):
        return f"{attribute.kind} = {string(attribute.text)}"
    value = attribute.text.upper() if attribute.kind == "CHARACTER SET" else attribute.text
    value = "" if value == "LOCAL" else value
    return join(attribute.kind, value)


def default_text(default: nodes.Default, charset: str) -> str:
    """A default value: CURRENT_TIMESTAMP() whatever it was called, other calls and expressions in parentheses."""
    current = _current_timestamp(default.tokens)
    if current:
        return current
    text = render(default.tokens, charset)
    is_call = default.tokens[0].kind is Kind.WORD and default.tokens[-1].word == ")"
    return f"({text})" if default.bracketed or is_call else text


def _current_timestamp(tokens: nodes.Tokens) -> str:
    name = tokens[0].word if tokens else ""
    inside = tokens[2:-1]
    simple = len(tokens) == 1 or (len(tokens) in (3, 4) and tokens[1].word == "(" and tokens[-1].word == ")")
    if name not in CURRENT_TIMESTAMP or not simple:
        return ""
    return f"CURRENT_TIMESTAMP({inside[0].text if inside else ''})"


CURRENT_TIMESTAMP: Final = frozenset({"CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW"})
"""Names of the one function that may be a default without parentheses."""


def _generated(option: nodes.Generated, charset: str) -> str:
    kind = "STORED" if option.stored else "VIRTUAL"
    return f"GENERATED ALWAYS AS({render(option.expression, charset)}) {kind}"


def _check(check: nodes.Check, charset: str) -> str:
    named = f"CONSTRAINT {name(check.name)} " if check.name else ""
    return f"{named}CHECK({render(check.expression, charset)}) {'' if check.enforced else 'NOT '}ENFORCED"


def _reference(reference: nodes.Reference, charset: str) -> str:
    parts = f"({parts_text(reference.parts, charset)})" if reference.parts else ""
    return join(
        f"REFERENCES {table_text(reference.table)}{parts}",
        f"MATCH {reference.match}" if reference.match else "",
        f"ON DELETE {reference.on_delete}" if reference.on_delete else "",
        f"ON UPDATE {reference.on_update}" if reference.on_update else "",
    )


_COLUMN_OPTIONS: Final[dict[type, Callable[[Any, str], str]]] = {
    nodes.Attribute: _attribute,
    nodes.DefaultValue: lambda option, charset: f"DEFAULT {default_text(option.value, charset)}",
    nodes.OnUpdate: lambda option, charset: f"ON UPDATE {default_text(option.value, charset)}",
    nodes.Generated: _generated,
    nodes.Check: _check,
    nodes.Reference: _reference,
}


def parts_text(parts: Iterable[nodes.IndexPart], charset: str) -> str:
    return ", ".join(part_text(part, charset) for part in parts)


def part_text(part: nodes.IndexPart, charset: str = "") -> str:
    """One part of an index."""
    text = name(part.column) if part.column else f"({render(part.expression, charset)})"
    length = f"({part.length})" if part.length else ""
    return f"{text}{length}{' DESC' if part.descending else ''}"


def index_options_text(options: nodes.IndexOptions) -> str:
    clustered = {True: "CLUSTERED", False: "NONCLUSTERED", None: ""}[options.clustered]
    return join(
        tidb_comment(clustered, "clustered_index") if clustered else "",
        f"KEY_BLOCK_SIZE={options.block_size}" if options.block_size else "",
        f"USING {options.kind}" if options.kind else "",
        f"WITH PARSER {name(options.parser)}" if options.parser else "",
        f"COMMENT {string(options.comment)}" if options.comment else "",
        tidb_comment("GLOBAL", "global_index") if options.is_global else "",
        tidb_comment(f"PRE_SPLIT_REGIONS = {render(options.pre_split)}", "pre_split") if options.pre_split else "",
        {True: "VISIBLE", False: "INVISIBLE", None: ""}[options.visible],
    )


def constraint_text(constraint: nodes.Constraint, charset: str) -> str:
    if isinstance(constraint, nodes.Check):
        return _check(constraint, charset)
    exists = "IF NOT EXISTS " if constraint.if_not_exists else ""
    parts = f"({parts_text(constraint.parts, charset)})"
    if constraint.reference is not None:
        symbol = constraint.symbol or constraint.name
        named = f"{name(symbol)} " if symbol else ""
        return f"CONSTRAINT {named}FOREIGN KEY {exists}{parts} {_reference(constraint.reference, charset)}"
    return join(_key_words(constraint) + parts, index_options_text(constraint.options))


def _key_words(key: nodes.Key) -> str:
    named = key.name or (key.symbol if key.kind == "UNIQUE" else "")
    return join(key.kind, "IF NOT EXISTS" if key.if_not_exists else "", name(named) if named else "")


def options_text(options: Iterable[nodes.Option]) -> list[str]:
    texts: list[str] = []
    for option in options:
        if option.name == "TTL_ENABLE":
            continue
        texts.append(option_text(option))
        if option.name == "TTL":
            texts.append(tidb_comment("TTL_ENABLE = 'OFF'", "ttl"))
    return texts


def option_text(option: nodes.Option) -> str:
    """A table option; "" for placement."""
    if option.name == "PLACEMENT POLICY":
        return ""
    if option.name in ("CHARACTER SET", "COLLATE"):
        return f"DEFAULT {option.name} = {'DEFAULT' if option.is_default else option.value.upper()}"
    text = f"{option.name} = {_option_value(option)}"
    if option.name == "STORAGE":
        text = f"STORAGE {option.value.upper()}"
    if option.name in _TIDB_OPTIONS:
        text = tidb_comment(text, _TIDB_OPTIONS[option.name])
    return f"/*T![force_inc] FORCE  */{text}" if option.force else text


def _option_value(option: nodes.Option) -> str:
    form = TABLE_OPTIONS[option.name]
    if option.is_default:
        return "DEFAULT"
    if option.name in _UNSUPPORTED:
        return f"DEFAULT /* {_UNSUPPORTED[option.name]} is not supported */ "
    if form is Form.INTERVAL:
        return f"{name(option.value)} + INTERVAL {render(option.tokens[:1])} {option.tokens[1].word}"
    if option.tokens:
        return f"({render(option.tokens)})" if form is Form.TABLES else render(option.tokens)
    if form is Form.PLAIN and not option.value:
        return "''"
    return _VALUES.get(form, str)(option.value)


_UNSUPPORTED: Final = {"STATS_PERSISTENT": "TableOptionStatsPersistent", "PACK_KEYS": "TableOptionPackKeys"}
"""Options whose value TiDB does not keep."""
_VALUES: Final[dict[Form, Callable[[str], str]]] = {Form.STRING: string, Form.NAME: name, Form.UPPER: str.upper}
_TIDB_OPTIONS: Final = {
    "SHARD_ROW_ID_BITS": "",
    "PRE_SPLIT_REGIONS": "",
    "AUTO_ID_CACHE": "auto_id_cache",
    "AUTO_RANDOM_BASE": "auto_rand_base",
    "TTL": "ttl",
    "TTL_JOB_INTERVAL": "ttl",
}


def partitioning_text(partitioning: nodes.Partitioning, charset: str) -> str:
    """``PARTITION BY …``"""
    counted = partitioning.method.count and not partitioning.definitions
    hashed = partitioning.method.kind in ("HASH", "KEY") and not partitioning.definitions
    count = partitioning.method.count if counted else 1 if hashed else 0
    scopes = ",".join(f"{name(index)} {scope}" for index, scope in partitioning.index_scopes)
    definitions = ",".join(definition_text(definition, charset) for definition in partitioning.definitions)
    return join(
        "PARTITION BY",
        _method(partitioning.method, charset),
        _interval(partitioning.interval, charset) if partitioning.interval else "",
        f"PARTITIONS {count}" if count else "",
        f"SUBPARTITION BY {_method(partitioning.sub, charset)}" if partitioning.sub else "",
        f"SUBPARTITIONS {partitioning.sub.count}" if partitioning.sub and partitioning.sub.count else "",
        f"({definitions})" if definitions else "",
        f"UPDATE INDEXES ({scopes})" if scopes else "",
    )


def _method(method: nodes.PartitionMethod, charset: str) -> str:
    words = join("LINEAR" if method.linear else "", method.kind)
    if method.algorithm is not None:
        words += f" ALGORITHM = {method.algorithm}"
    if method.columns is None:
        return f"{words} ({render(method.expression, charset)})"
    listed = " COLUMNS" if method.kind in ("RANGE", "LIST") else ""
    return f"{words}{listed} ({','.join(map(name, method.columns))})"


def _interval(interval: nodes.PartitionInterval, charset: str) -> str:
    return join(
        f"INTERVAL ({render(interval.step, charset)})",
        f"FIRST PARTITION LESS THAN ({render(interval.first, charset)})" if interval.first else "",
        f"LAST PARTITION LESS THAN ({render(interval.last, charset)})" if interval.last else "",
        "NULL PARTITION" if interval.null_partition else "",
        "MAXVALUE PARTITION" if interval.maxvalue_partition else "",
    )


def definition_text(definition: nodes.PartitionDefinition, charset: str) -> str:
    """``PARTITION p VALUES …``"""
    text = f"PARTITION {name(definition.name)}{' DEFAULT' if definition.default else ''}"
    if definition.less_than is not None:
        text += f" VALUES LESS THAN ({', '.join(render(bound, charset) for bound in definition.less_than)})"
    if definition.values_in is not None:
        text += _values_in(definition.values_in, charset)
    text += "".join(f" {option_text(option)}" for option in definition.options)
    subs = ",".join(f"SUB{definition_text(sub, charset)}" for sub in definition.subpartitions)
    return text + (f" ({subs})" if subs else "")


def _values_in(values: tuple[tuple[nodes.Tokens, ...], ...], charset: str) -> str:
    rows = [[render(value, charset) for value in row] for row in values]
    if rows == [["DEFAULT"]]:
        return " DEFAULT"
    return f" VALUES IN ({', '.join(map(_row, rows))})"


def _row(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"
