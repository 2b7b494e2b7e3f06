"""JSON as Go's decoder reads it: unknown keys are ignored, null is absent, keys match without regard to case, numbers
are not truth values, half a surrogate pair is U+FFFD; durations are integer nanoseconds, or text such as ``1h30m``."""

import re
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

_BOOLEANS: Final = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_HALF: Final = re.compile("[\ud800-\udfff]")
_MAX_INT64: Final = (1 << 63) - 1
_MAX_UINT64: Final = (1 << 64) - 1


def duration_ns(text: str) -> int:
    """Nanoseconds of a Go duration; ``ValueError`` else."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    parts = list(_PART.finditer(rest)) if len(rest) < 64 else []
    if not parts or "".join(part[0] for part in parts) != rest:
        raise ValueError(f"{text[:64]!r} is not a duration such as 10m or 1h30m")
    total = sign * int(sum(Decimal(part[1]) * _NANOSECONDS[part[2]] for part in parts))
    if abs(total) > _MAX_INT64:
        raise ValueError(f"the duration {text!r} is too long")
    return total


def _read_bool(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLEANS:
        return _BOOLEANS[value]
    raise ValueError("true or false is wanted here")


def _read_duration(value: object) -> object:
    return duration_ns(value) if isinstance(value, str) else value


def _check_duration_text(value: object) -> object:
    if isinstance(value, str) and value:
        duration_ns(value)
    return value


def _as_unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_unicode(item) for item in value]
    return _HALF.sub("\ufffd", value) if isinstance(value, str) else value


Bool = Annotated[bool, BeforeValidator(_read_bool)]
# The bounds stay out of the schema: a browser that reads it rounds them.
Int = Annotated[
    int,
    Field(strict=True, ge=-_MAX_INT64 - 1, le=_MAX_INT64),
    WithJsonSchema({"type": "integer", "format": "int64"}),
]
Uint = Annotated[
    int,
    Field(strict=True, ge=0, le=_MAX_UINT64),
    WithJsonSchema({"type": "integer", "format": "uint64", "minimum": 0}),
]
Nanoseconds = Annotated[
    int,
    Field(strict=True, ge=-_MAX_INT64 - 1, le=_MAX_INT64),
    BeforeValidator(_read_duration),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "format": "int64"}, {"type": "string"}],
            "description": "nanoseconds, or 1h30m",
        }
    ),
]
# JSON has neither NaN nor infinity, though Python's reader takes them (and 1e999).
Float = Annotated[float, Field(allow_inf_nan=False)]
DurationText = Annotated[str, BeforeValidator(_check_duration_text)]


class GoModel(BaseModel):
    """An object of a request, read as Go would."""

    model_config = ConfigDict(extra="ignore", validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _as_go(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = {name: _as_unicode(item) for name, item in value.items() if item is not None}
        known = {field.alias or name for name, field in cls.model_fields.items()}
        folded = {name.lower(): name for name in known}
        exact = {name: item for name, item in given.items() if name in known or name.lower() not in folded}
        return {folded[n.lower()]: item for n, item in given.items() if n not in exact} | exact
