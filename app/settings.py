"""Settings: environment variables with the prefix ``WEIR_`` (also ``.env``), read here and nowhere else.

A setting that this version cannot honour is refused with a sentence, never ignored.
"""

import difflib
import ipaddress
import os
import re
import secrets
from functools import cached_property
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

_NOT_YET: Final = {
    "tls_cert": "TLS is not available yet: unset it and put a TLS proxy in front",
    "tls_key": "TLS is not available yet: unset it and put a TLS proxy in front",
    "tls_client_ca": "mutual TLS is not available yet: unset it and put a TLS proxy in front",
}
_SHORTEST_TOKEN: Final = 16
# Read elsewhere: by tests that let a process die at a certain step.
_OTHERS: Final = ("WEIR_FAILPOINT", "WEIR_PLAIN", "WEIR_RIG_GROUP")
_ASSIGNED: Final = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=", re.MULTILINE)
# What Kubernetes tells every container about a service of the name weir.
_OF_KUBERNETES: Final = re.compile(r"WEIR_(SERVICE|PORT)(_|$)")
_DRIVERS: Final = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mysql+pymysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "mariadb+pymysql": "mysql+pymysql",
}


class SettingsError(Exception):
    """A setting is wrong; the text is one sentence with the remedy."""


class Settings(BaseSettings):
    """The table of the contract, §1. Paths are absolute once read."""

    model_config = SettingsConfigDict(env_prefix="WEIR_", env_file=".env", extra="ignore", env_ignore_empty=True)

    home: Path = Field(default=Path("data"), description="everything local: database, checkpoints, logs, demo output")
    listen: str = Field(default="127.0.0.1:8300", description="address of the API, host:port")
    database_url: str = Field(
        default="", description="SQLite (default: weir.db in WEIR_HOME), PostgreSQL or MySQL/MariaDB, by SQLAlchemy URL"
    )
    checkpoint_root: str = Field(
        default="", description="folder of checkpoints and dead letters (default: checkpoints in WEIR_HOME)"
    )
    spark_master: str = Field(default="local[*]", description="local[n], spark://…, yarn, k8s://…")
    captures: int = Field(
        default=1, ge=0, le=64, description="captures that the owner launches; 0: start them yourself"
    )
    default_source_uri: str = Field(default="", description="source of a changefeed that names none")
    demo: bool | None = Field(
        default=None, description="the sample changefeed on an empty database (default: with SQLite)"
    )
    admin_token: str = Field(default="", description="what every call wants, as a bearer token or a password")
    capture_token: str = Field(
        default="", description="what captures have to send (default with WEIR_ADMIN_TOKEN: made)"
    )
    secret_key: str = Field(default="", description="seals secrets in the database; needed unless it is SQLite")
    tls_cert: str = Field(default="", description="TLS of the API; not available yet")
    tls_key: str = Field(default="", description="TLS of the API; not available yet")
    tls_client_ca: str = Field(default="", description="mutual TLS of the API; not available yet")
    spark_conf: str = Field(default="", description="a properties file handed to Spark")
    file_roots: str = Field(
        default="",
        description="folders that file:// may use, separated by : (default on loopback: any, else WEIR_HOME)",
    )
    time_zone: str = Field(default="UTC", description="zone of date folders, and of zone-less timestamps of a source")
    keep_removed_days: int = Field(
        default=30, ge=0, le=36_500, description="after so many days the leftovers of removed changefeeds go; 0: never"
    )

    @field_validator(*_NOT_YET)
    @classmethod
    def _refuse_what_comes_later(cls, value: str, info: object) -> str:
        if value:
            raise ValueError(_NOT_YET[info.field_name])  # type: ignore[attr-defined]
        return value

    @field_validator("listen")
    @classmethod
    def _check_listen(cls, value: str) -> str:
        _split_address(value)
        return value

    @field_validator("admin_token")
    @classmethod
    def _check_token(cls, value: str) -> str:
        if value and (len(value) < _SHORTEST_TOKEN or not value.isascii() or not value.isprintable() or ":" in value):
            raise ValueError(
                f"give at least {_SHORTEST_TOKEN} letters and digits, such as `openssl rand -hex 24` prints"
            )
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database(cls, value: str) -> str:
        return _database_url(value) if value else value

    @field_validator("time_zone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{value!r} is not an IANA time zone such as UTC or Europe/Berlin") from None
        return value

    @field_validator("spark_conf")
    @classmethod
    def _check_spark_conf(cls, value: str) -> str:
        if value and not Path(value).is_file():
            raise ValueError(f"there is no file {value}")
        return value

    @model_validator(mode="after")
    def _fill(self) -> "Settings":
        self.home = Path(self.home).expanduser().absolute()
        self.database_url = _database_url(self.database_url or f"sqlite:///{self.home}/weir.db")
        self.checkpoint_root = self.checkpoint_root or str(self.home / "checkpoints")
        if not self.on_loopback and not self.admin_token:
            raise ValueError(
                f"WEIR_LISTEN: {self.listen} can be reached from other machines, and whoever reaches it may do"
                f" everything;"
                " set WEIR_ADMIN_TOKEN to a long random text (`openssl rand -hex 24`), or listen on 127.0.0.1"
            )
        if self.admin_token:
            # Whoever registers as a capture is told the secrets of URIs: as closed as everything else.
            self.capture_token = self.capture_token or secrets.token_urlsafe(32)
        return self

    @property
    def host(self) -> str:
        return _split_address(self.listen)[0]

    @property
    def port(self) -> int:
        return _split_address(self.listen)[1]

    @property
    def local_url(self) -> str:
        """Where processes on this machine reach the API."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches the API."""
        return _is_loopback(self.host)

    @property
    def embedded(self) -> bool:
        """Whether everything is local: the database is SQLite."""
        return self.database_url.startswith("sqlite:")

    @property
    def wants_demo(self) -> bool:
        return self.embedded if self.demo is None else self.demo

    @cached_property
    def permitted_roots(self) -> tuple[str, ...] | None:
        """Folders that ``file://`` may use; None permits any. Several are separated by ``:`` as in PATH."""
        if self.file_roots:
            return tuple(root for root in self.file_roots.split(os.pathsep) if root)
        return None if self.on_loopback else (str(self.home),)


def read_settings() -> Settings:
    """The settings of this process; ``SettingsError`` names the variable and the remedy."""
    _refuse_misspelt()
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        said = first["msg"].removeprefix("Value error, ")
        # What several settings say together names its variable itself.
        raise SettingsError(f"WEIR_{first['loc'][0]}: ".upper() + said if first["loc"] else said) from None


def variables() -> list[str]:
    """The name of every variable, in the order of the settings."""
    return [f"WEIR_{name}".upper() for name in Settings.model_fields]


def meanings() -> list[str]:
    """What each of them means, in the same order, with its default."""
    fields = Settings.model_fields.values()
    shown = (field.default for field in fields)
    return [
        f"{field.description} [{default}]" if default not in ("", None) else str(field.description)
        for field, default in zip(fields, shown, strict=True)
    ]


def unknown_variables() -> list[str]:
    """Variables of the environment, or of ``.env``, that look like ours and are none."""
    path = Path(".env")
    given = [*os.environ, *(_ASSIGNED.findall(path.read_text(errors="replace")) if path.is_file() else ())]
    known = {*variables(), *_OTHERS}
    ours = dict.fromkeys(name for name in given if name.upper().startswith("WEIR_"))
    return [name for name in ours if name.upper() not in known and not _OF_KUBERNETES.match(name)]


def _refuse_misspelt() -> None:
    known = {name.removeprefix("WEIR_"): name for name in variables()}
    for name in unknown_variables():
        near = difflib.get_close_matches(name.upper().removeprefix("WEIR_"), known, n=1, cutoff=0.65)
        if near:
            raise SettingsError(f"{name}: there is no such setting; did you mean {known[near[0]]}?")


def _split_address(value: str) -> tuple[str, int]:
    host, _, port = value.rpartition(":")
    if not host.strip("[]") and re.fullmatch("[0-9]{1,5}", port):
        raise ValueError(f"{value!r} has no host, which would mean every network; write 127.0.0.1:{port}")
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise ValueError(f"{value!r} is not host:port such as 127.0.0.1:8300")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _database_url(text: str) -> str:
    try:
        url = make_url(text)
    except ArgumentError:
        raise ValueError("not a database URL such as postgresql://user:password@host/weir") from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ValueError(f"{url.drivername} is not supported; use sqlite, postgresql or mysql")
    return url.set(drivername=driver).render_as_string(hide_password=False)
