"""Reads a codec's options by its own table of ``Option``: names, kinds, defaults."""

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.errors import ConfigError

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class Options:
    """The options of one codec, every one checked and with its default filled in; ``ConfigError`` for a wrong one."""

    def __init__(self, protocol: str, given: Mapping[str, str], known: Sequence[Option]) -> None:
        self._values = {option.name: option.default for option in known}
        for name, value in given.items():
            if name not in self._values:
                raise ConfigError(f"{protocol} has no option {name!r}{_hint(name, list(self._values))}")
            self._values[name] = value
        for option in known:
            _check(protocol, option, self._values[option.name])

    def text(self, name: str) -> str:
        return self._values[name]

    def flag(self, name: str) -> bool:
        return _BOOLEANS[self._values[name].lower()]

    def number(self, name: str) -> int:
        return int(self._values[name])

    def zone(self, name: str) -> tzinfo:
        return time_zone(self._values[name])


def time_zone(name: str) -> tzinfo:
    """The zone of that IANA name; ``ConfigError`` if there is none."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f"unknown time zone {name!r}; use a name such as UTC or Asia/Shanghai") from None


def _check(protocol: str, option: Option, value: str) -> None:
    where = f"option {option.name} of {protocol}"
    if option.kind == "bool" and value.lower() not in _BOOLEANS:
        raise ConfigError(f"{where} is true or false, not {value!r}")
    if option.kind == "int" and not (value.isascii() and value.isdigit() and len(value) <= 40):
        raise ConfigError(f"{where} is a whole number, not {value!r}")
    if option.kind == "choice" and value not in option.choices:
        raise ConfigError(f"{where} is one of {', '.join(option.choices)}, not {value!r}")


def _hint(name: str, known: list[str]) -> str:
    if not known:
        return "; it has none"
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are: {', '.join(sorted(known))}"
