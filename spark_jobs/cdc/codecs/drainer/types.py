"""MySQL's type numbers, which Drainer's local files name beside the type's text."""

from typing import Final

TYPE_NUMBERS: Final[dict[str, int]] = {
    "decimal": 246,
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "float": 4,
    "double": 5,
    "null": 6,
    "timestamp": 7,
    "bigint": 8,
    "mediumint": 9,
    "date": 10,
    "time": 11,
    "datetime": 12,
    "year": 13,
    "varchar": 15,
    "varbinary": 15,
    "bit": 16,
    "json": 245,
    "enum": 247,
    "set": 248,
    "tinytext": 249,
    "tinyblob": 249,
    "mediumtext": 250,
    "mediumblob": 250,
    "longtext": 251,
    "longblob": 251,
    "text": 252,
    "blob": 252,
    "var_string": 253,
    "char": 254,
    "binary": 254,
    "geometry": 255,
}
OTHER_TYPE_NUMBER: Final = 253
"""Number of a type that has none of its own: it travels as a string."""

TYPE_NAMES: Final[dict[int, str]] = {0: "decimal", 14: "date"} | {
    number: name for name, number in TYPE_NUMBERS.items() if name not in ("tinytext", "mediumtext", "longtext", "text")
}
"""For columns without the text. Where one number stands for text and bytes, bytes lose nothing."""
