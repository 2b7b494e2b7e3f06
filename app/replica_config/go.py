"""JSON as Go's decoder reads it: null is absent, keys match without regard to case, numbers are not truth values, half
a surrogate pair is U+FFFD; durations are integer nanoseconds, or text such as ``1h30m``.

One thing is not Go's: a key that nobody knows is refused, with the nearest known one. A filter behind a misspelt key
would otherwise let through what somebody meant to keep back.
"""

import difflib
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final

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


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, "" when none is near. Hyphens, underscores and case make no
    difference."""
    folded = {_folded(item): item for item in known}
    found = difflib.get_close_matches(_folded(name), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


class GoModel(BaseModel):
    """An object of a request. ``also``: other spellings of a key, of TiCDC's other generation."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)
    also: ClassVar[dict[str, str]] = {}

    @classmethod
    def keys(cls) -> dict[str, str]:
        """Every spelling of a key that is read, in lower case, with the key's own name."""
        own = {field.alias or name for name, field in cls.model_fields.items()}
        return {name.lower(): key for name, key in cls.also.items()} | {name.lower(): name for name in own}

    @model_validator(mode="before")
    @classmethod
    def _as_go(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        known = cls.keys()
        found = {name: known.get(str(name).lower()) for name in value}
        for name, key in found.items():
            if key is None and name not in cls.model_fields:
                raise ValueError(_unknown(str(name), sorted(set(known.values()))))
        # The exact spelling wins over others, whatever the order.
        by_exactness = sorted(value, key=lambda name: name == found[name])
        return {found[name] or name: _as_unicode(value[name]) for name in by_exactness if value[name] is not None}


def _unknown(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known are: {', '.join(known)}"
    return f"unknown key {name[:100]!r}; {hint}"
