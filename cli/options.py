"""``KEY=VALUE`` on the command line."""

from collections.abc import Iterable
from pathlib import Path

from spark_jobs.cdc.errors import ConfigError


def key_values(given: Iterable[str]) -> dict[str, str]:
    """The pairs by key; the last one of a key holds. ``@FILE`` is the content of a file, ``@@`` a value's own ``@``."""
    pairs: dict[str, str] = {}
    for text in given:
        key, found, value = text.partition("=")
        if not found or not key:
            raise ConfigError(f"an option is KEY=VALUE, not {text!r}")
        pairs[key] = _value(key, value)
    return pairs


def _value(key: str, value: str) -> str:
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):
        return value[1:]
    try:
        return Path(value[1:]).read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {value[1:]}, the value of {key}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{value[1:]}, the value of {key}, is not UTF-8") from None
