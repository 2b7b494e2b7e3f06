"""Settings: environment variables with the prefix ``WEIR_`` (also ``.env``), read here and nowhere else.

A setting that this version cannot honour is refused with a sentence, never ignored.
"""

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
    "admin_token": "users and roles are not available yet: unset it and keep WEIR_LISTEN on loopback",
    "tls_cert": "TLS is not available yet: unset it and put a TLS proxy in front",
    "tls_key": "TLS is not available yet: unset it and put a TLS proxy in front",
    "tls_client_ca": "mutual TLS is not available yet: unset it and put a TLS proxy in front",
}
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

    home: Path = Path("data")
    listen: str = "127.0.0.1:8300"
    database_url: str = ""
    checkpoint_root: str = ""
    spark_master: str = "local[*]"
    captures: int = Field(default=1, ge=0, le=64)
    default_source_uri: str = ""
    demo: bool | None = None
    admin_token: str = ""
    capture_token: str = ""
    secret_key: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    spark_conf: str = ""
    file_roots: str = ""
    time_zone: str = "UTC"

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
        if not self.on_loopback:
            # Whoever registers as a capture is told the secrets of URIs: never open to a network.
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
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"WEIR_{first['loc'][0]}".upper() if first["loc"] else "WEIR_*"
        raise SettingsError(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None


def _split_address(value: str) -> tuple[str, int]:
    host, _, port = value.rpartition(":")
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
