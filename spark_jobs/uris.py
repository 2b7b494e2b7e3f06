"""URIs of sources and sinks: splitting, typed parameters, masking. No I/O.

A parameter that nobody knows is an error with the nearest known name; a parameter whose value is out of its range is an
error or, where TiCDC clamps, clamped. Secrets are percent-encoded in a URI and masked wherever it is shown.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

import msgspec

from spark_jobs.cdc.errors import ConfigError

MASK: Final = "xxxxx"
_SECRET: Final = re.compile(r"(password|secret|token|account-key|access-key$|credential)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*$")
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BOOLEANS: Final = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


Setting: TypeAlias = str | int | float | bool


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter: ``kind`` is ``bool``, ``int``, ``text``, ``duration`` (seconds inside) or ``choice``.

    ``low``/``high`` bound numbers and durations; with ``clamp`` a value outside is moved to the bound, as TiCDC does.
    ``applies`` False: known to TiCDC, of no use here; accepted and reported.
    """

    name: str
    kind: str = "text"
    default: str = ""
    meaning: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    clamp: bool = False
    applies: bool = True


class Uri(msgspec.Struct, frozen=True):
    """A URI in parts, percent-decoded. ``hosts`` stands between ``//`` (and ``user:password@``) and the path."""

    text: str
    scheme: str
    user: str
    password: str
    hosts: str
    path: str
    query: dict[str, str]


def split(text: str, *, what: str, code: str) -> Uri:
    """Takes a URI apart. ``what`` ("source_uri", "sink_uri") and ``code`` go into errors."""
    if not text:
        raise ConfigError(f"{what} is empty; give one such as file:///path?protocol=canal-json", code=code)
    if any(ord(character) < 0x20 for character in text):
        raise ConfigError(f"{what} contains a control character; percent-encode it", code=code)
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ConfigError(f"{what} cannot be parsed: {error}; percent-encode special characters", code=code) from None
    if not parts.scheme or not _SCHEME.match(parts.scheme):
        raise ConfigError(f"{what} has no scheme; it must begin with one such as file:// or kafka://", code=code)
    if parts.fragment or "#" in text:
        raise ConfigError(f"{what} contains '#'; write it as %23", code=code)
    userinfo, _, hosts = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    try:
        return Uri(
            text=text,
            scheme=parts.scheme.lower(),
            user=unquote(user, errors="strict"),
            password=unquote(password, errors="strict"),
            hosts=hosts,
            path=unquote(parts.path, errors="strict"),
            query=_query(parts.query, what, code),
        )
    except UnicodeDecodeError:
        raise ConfigError(f"{what}: what is percent-encoded in it is not UTF-8", code=code) from None


def _query(text: str, what: str, code: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True, errors="strict"):
        if name in found:
            raise ConfigError(f"{what} gives the parameter {name!r} twice", code=code)
        found[name] = value
    return found


def masked(text: str) -> str:
    """The URI with its password and every secret parameter replaced by ``xxxxx``."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return MASK
    userinfo, at, hosts = parts.netloc.rpartition("@")
    if at and ":" in userinfo:
        userinfo = f"{userinfo.partition(':')[0]}:{MASK}"
    pairs = [
        f"{name}={MASK if value and _SECRET.search(unquote(name)) else value}" if equals else name
        for name, equals, value in (pair.partition("=") for pair in parts.query.split("&"))
    ]
    return urlunsplit((parts.scheme, userinfo + at + hosts, parts.path, "&".join(pairs), parts.fragment))


def is_secret(name: str) -> bool:
    """Whether a parameter or configuration key of that name holds a secret."""
    return bool(_SECRET.search(name.replace("_", "-")))


def duration_seconds(text: str) -> float:
    """Seconds of a Go duration (``1m30s``, ``100ms``); a bare 0 is allowed. ``ValueError`` else."""
    if text in ("0", "+0"):
        return 0.0
    position, total = 0, 0.0
    for part in _DURATION_PART.finditer(text):
        if part.start() != position:
            break
        total += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    if not text or position != len(text):
        raise ValueError(f"{text!r} is not a duration such as 5s, 100ms or 1m30s")
    return total


class Settings:
    """The typed values of a URI's parameters, defaults filled in."""

    def __init__(self, uri: Uri, parameters: Mapping[str, Parameter], *, what: str, code: str) -> None:
        self._what, self._code = what, code
        self.given = frozenset(uri.query)
        self.not_applicable = sorted(name for name in uri.query if name in parameters and not parameters[name].applies)
        unknown = [name for name in uri.query if name not in parameters]
        if unknown:
            raise ConfigError(_unknown(unknown[0], parameters, what), code=code)
        self._values = {
            name: self._read(parameter, uri.query.get(name, parameter.default))
            for name, parameter in parameters.items()
            if parameter.applies
        }

    def _read(self, parameter: Parameter, text: str) -> Setting:
        try:
            return _READERS[parameter.kind](parameter, text)
        except ValueError as error:
            raise ConfigError(f"{self._what}: parameter {parameter.name}: {error}", code=self._code) from None

    def text(self, name: str) -> str:
        return str(self._values[name])

    def number(self, name: str) -> int:
        return int(self._values[name])

    def seconds(self, name: str) -> float:
        return float(self._values[name])

    def flag(self, name: str) -> bool:
        return bool(self._values[name])


class Remark(msgspec.Struct, frozen=True):
    """What a parameter that was given does not do as it was given."""

    name: str
    message: str


def remarks(text: str, parameters: Mapping[str, Parameter]) -> list[Remark]:
    """What of a valid URI's parameters is clamped or has no use here. A parameter that is not known is left out."""
    found: list[Remark] = []
    for name, value in parse_qsl(urlsplit(text).query, keep_blank_values=True):
        parameter = parameters.get(name)
        if parameter is None:
            continue
        if not parameter.applies:
            why = f": {parameter.meaning}" if parameter.meaning else ""
            found.append(Remark(name, f"has no effect here{why}"))
        elif parameter.clamp and (bound := _bound_beyond(parameter, value)) is not None:
            limit, side = bound
            shown = shown_seconds(limit) if parameter.kind == "duration" else f"{limit:.0f}"
            found.append(Remark(name, f"{value} is {side} {shown}; {shown} is used"))
    return found


def _bound_beyond(parameter: Parameter, text: str) -> tuple[float, str] | None:
    try:
        value = duration_seconds(text) if parameter.kind == "duration" else int(text)
    except ValueError:
        return None
    if parameter.low is not None and value < parameter.low:
        return parameter.low, "below the smallest value,"
    if parameter.high is not None and value > parameter.high:
        return parameter.high, "above the largest value,"
    return None


def shown_seconds(seconds: float) -> str:
    """A duration in the largest unit that shows it whole: ``100ms``, ``5s``, ``10m``."""
    for unit in ("h", "m", "s", "ms", "us"):
        count = seconds / _SECONDS[unit]
        if count >= 1 and abs(count - round(count)) < 1e-6:
            return f"{round(count)}{unit}"
    return f"{seconds:g}s"


def _read_bool(parameter: Parameter, text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError(f"{text!r} is not true or false")
    return _BOOLEANS[text]


def _read_int(parameter: Parameter, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None
    return int(_bounded(parameter, value, text))


def _read_duration(parameter: Parameter, text: str) -> float:
    return _bounded(parameter, duration_seconds(text), text)


def _bounded(parameter: Parameter, value: float, text: str) -> float:
    low, high = parameter.low, parameter.high
    if low is not None and value < low:
        if not parameter.clamp:
            raise ValueError(f"{text} is below the smallest value, {low:g}")
        return low
    if high is not None and value > high:
        if not parameter.clamp:
            raise ValueError(f"{text} is above the largest value, {high:g}")
        return high
    return value


def _read_choice(parameter: Parameter, text: str) -> str:
    if text.lower() not in parameter.choices and text != parameter.default:
        raise ValueError(f"{text!r} is none of {', '.join(parameter.choices)}")
    return text.lower()


_READERS: Final[dict[str, Callable[[Parameter, str], Setting]]] = {
    "bool": _read_bool,
    "int": _read_int,
    "duration": _read_duration,
    "choice": _read_choice,
    "text": lambda parameter, text: text,
}


def _unknown(name: str, parameters: Mapping[str, Parameter], what: str) -> str:
    near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(sorted(parameters))
    return f"{what}: unknown parameter {name!r}; {hint}known are: {known}"


def table(*parameters: Parameter) -> dict[str, Parameter]:
    """Parameters by name."""
    return {parameter.name: parameter for parameter in parameters}


def escaped(text: str) -> str:
    """A value as it must stand in a URI's query."""
    return quote(text, safe="")
