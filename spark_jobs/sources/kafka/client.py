"""Open clients of librdkafka, lent to whoever reads or asks; their settings, and what their errors mean.

Rules

1. A process keeps clients open for the next batch: Spark uses a Python worker again and again, and opening a client
   costs more than a small read. What is not lent for ``IDLE_SECONDS`` is closed.
2. A client that met an error is closed, not lent again: what it knows of the brokers may be what was wrong.
3. A forked process leaves its parent's clients alone; librdkafka's threads do not survive a fork.
4. No groups: partitions are assigned with their offsets, and nothing is committed at the broker.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.base import PositionLost
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka.uri import KafkaSource

IDLE_SECONDS: Final = 60.0
KEPT: Final = 4
"""Consumers that wait for the next use, of each group of settings."""
UNREACHABLE: Final = "CDC:ErrKafkaUnreachable"
_READING: Final = {
    "group.id": "weir",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    # A request at the end of a log is held back so long, and the next range's first request stands behind it.
    "fetch.wait.max.ms": 1,
    # What is asked ahead is thrown away when a range ends; a full queue is looked at again so soon.
    "queued.max.messages.kbytes": 4096,
    "fetch.queue.backoff.ms": 2,
}


class KafkaPositionLost(PositionLost):
    """The broker has deleted what was to be read next; trying again does not bring it back."""

    code = "CDC:ErrKafkaPositionLost"


class KafkaPositionMoved(EnvironmentFault):
    """The same while it was being read, where reading anew finds a position to go on from, or the right words."""

    code = KafkaPositionLost.code


@contextlib.contextmanager
def moving(moves: bool) -> Iterator[None]:
    """Makes a lost position one that is worth trying anew, where it ``moves``."""
    try:
        yield
    except KafkaPositionLost as lost:
        if moves:
            raise KafkaPositionMoved(lost.message) from None
        raise


class ClientSettings(msgspec.Struct, frozen=True):
    """How to reach the brokers, as a worker needs it; never shown, since a password is in it."""

    brokers: str
    options: tuple[tuple[str, str | bool | int], ...]

    def __repr__(self) -> str:
        return f"ClientSettings({self.brokers})"


class Client:
    """An open consumer; ``reason`` is the last thing that librdkafka said was wrong."""

    def __init__(self, settings: ClientSettings) -> None:
        self.brokers = settings.brokers
        self.reason = ""
        self.used = time.monotonic()
        self.consumer = Consumer({**dict(settings.options), **_READING, "error_cb": self._note})

    def _note(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.reason = error.str()

    def unreachable(self, reason: str) -> EnvironmentFault:
        """The fault for a broker that does not answer."""
        return unreachable(self.brokers, self.reason or reason)


def settings_of(source: KafkaSource) -> ClientSettings:
    """The source's settings for librdkafka."""
    named: dict[str, str | bool | int] = {
        "bootstrap.servers": source.brokers,
        "security.protocol": ("SASL_" if source.sasl_mechanism else "") + ("SSL" if source.tls else "PLAINTEXT"),
        "sasl.mechanism": source.sasl_mechanism,
        "sasl.username": source.sasl_user,
        "sasl.password": source.sasl_password,
        "ssl.ca.location": source.ca,
        "ssl.certificate.location": source.cert,
        "ssl.key.location": source.key,
        "client.id": source.client_id,
        "log_level": 0,
        "socket.connection.setup.timeout.ms": 5000,
    }
    options = {name: value for name, value in named.items() if value != ""}
    if source.tls and source.skip_verify:
        options["enable.ssl.certificate.verification"] = False
    return ClientSettings(source.brokers, tuple(options.items()))


def require_files(source: KafkaSource) -> None:
    """``ConfigError`` for a certificate or key that cannot be read here."""
    for name, path in (("ca", source.ca), ("cert", source.cert), ("key", source.key)):
        if path and not os.access(path, os.R_OK):
            raise ConfigError(f"{WHAT}: {name}={path} is not a file that can be read here", code=CODE)


def unreachable(brokers: str, reason: str) -> EnvironmentFault:
    """The fault for brokers that do not answer."""
    return EnvironmentFault(f"the Kafka broker at {brokers} does not answer: {reason}", code=UNREACHABLE)


def refused(brokers: str, reason: str) -> EnvironmentFault:
    """The fault for brokers that answer, but not what was asked for."""
    return EnvironmentFault(f"the Kafka broker at {brokers} says: {reason}", code=UNREACHABLE)


def words(error: BaseException) -> str:
    """What librdkafka says in an exception."""
    first = error.args[0] if error.args else error
    return first.str() if isinstance(first, KafkaError) else str(error)


_lock = threading.Lock()
_waiting: dict[tuple[int, ClientSettings], list[Client]] = {}
_admins: dict[tuple[int, ClientSettings], "_Admin"] = {}
_sweeper: list[threading.Timer] = []


@contextlib.contextmanager
def lent(settings: ClientSettings) -> Iterator[Client]:
    """An open consumer without assignment, for one thread. An error, or an early end, closes it."""
    client = _take(settings)
    try:
        yield client
        client.consumer.unassign()
    except BaseException as error:
        client.consumer.close()
        if isinstance(error, KafkaException):
            raise client.unreachable(words(error)) from None
        raise
    _give_back(settings, client)


def _take(settings: ClientSettings) -> Client:
    with _lock:
        waiting = _waiting.get((os.getpid(), settings))
        if waiting:
            return waiting.pop()
    try:
        return Client(settings)
    except KafkaException as error:
        raise _settings_refused(error) from None


def _settings_refused(error: KafkaException) -> ConfigError:
    return ConfigError(f"{WHAT}: the Kafka client refuses the settings: {words(error)}", code=CODE)


def _give_back(settings: ClientSettings, client: Client) -> None:
    client.used, client.reason = time.monotonic(), ""
    with _lock:
        waiting = _waiting.setdefault((os.getpid(), settings), [])
        if len(waiting) < KEPT:
            waiting.append(client)
            _sweep_later()
            return
    client.consumer.close()


class _Admin:
    """An admin client that everybody in the process may use at once. ``down``: no broker can be reached, and ``reason``
    says why, since the last answer."""

    def __init__(self, settings: ClientSettings) -> None:
        self.down = False
        self.reason = ""
        self.used = time.monotonic()
        config: dict[str, Any] = {**dict(settings.options), "error_cb": self._note}
        self.client = AdminClient(config)

    def _note(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.down = True
        else:
            self.reason = error.str()

    def answered(self) -> None:
        """A broker can be reached."""
        self.down, self.reason = False, ""


def admin(settings: ClientSettings) -> _Admin:
    """The process's admin client for these settings."""
    with _lock:
        key = os.getpid(), settings
        if key not in _admins:
            try:
                _admins[key] = _Admin(settings)
            except KafkaException as error:
                raise _settings_refused(error) from None
            _sweep_later()
        _admins[key].used = time.monotonic()
        return _admins[key]


def _sweep_later() -> None:
    """With the lock held: looks again when what is idle now has been so for long enough."""
    if not _sweeper:
        timer = threading.Timer(IDLE_SECONDS, sweep)
        timer.daemon = True
        _sweeper.append(timer)
        timer.start()


def sweep(idle_seconds: float = IDLE_SECONDS) -> None:
    """Closes what nobody has used for that long."""
    old, idle = time.monotonic() - idle_seconds, []
    with _lock:
        _sweeper.clear()
        mine = os.getpid()
        for key, waiting in _waiting.items():
            if key[0] == mine:
                idle += [client for client in waiting if client.used <= old]
                waiting[:] = [client for client in waiting if client.used > old]
        for admin_key in [key for key, item in _admins.items() if key[0] == mine and item.used <= old]:
            del _admins[admin_key]
        for key in [key for key, waiting in _waiting.items() if not waiting]:
            del _waiting[key]
        if any(key[0] == mine for key in (*_waiting, *_admins)):
            _sweep_later()
    for client in idle:
        client.consumer.close()
