"""``kafka://`` as a source: parsing. No I/O; whatever asks the broker is imported by the methods that do.

``topic-pattern`` has one meaning, Python's: Weir lists the topics, matches whole names, passes over Kafka's own
(``__…``), and names the topics to Spark, whose connector would read the pattern as Java does.
"""

import re
from typing import TYPE_CHECKING, Final

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources.common import CODE, COMMON, NOT_IN_QUEUES, REPEATS, WHAT, protocol, zone
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from spark_jobs.sources.base import Enumerator, Split

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_OFFSETS: Final = re.compile(r"offset:[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18})*")
_TSO: Final = re.compile(r"[0-9]{1,19}")
MECHANISMS: Final = ("", "plain", "scram-sha-256", "scram-sha-512")
INTERNAL: Final = "__"
"""Topics whose names begin so are Kafka's own."""

PARAMETERS: Final = table(
    *COMMON,
    REPEATS,
    Parameter("topic-pattern", "text", "", "a regular expression (Python's) of whole topic names, instead of the path"),
    Parameter("start", "text", "latest", "latest, earliest, a TSO, or offset:PARTITION:N[,PARTITION:N…]"),
    Parameter("cluster-id", "text", "", "of TiDB Binlog: without a path the topic is CLUSTER-ID_obinlog"),
    Parameter("watermark", "choice", "auto", "whether rows wait for watermarks", ("auto", "require", "ignore")),
    Parameter("watermark-timeout", "duration", "60s", "how long auto waits for the first one", low=0, high=86400),
    Parameter("on-lost-position", "choice", "fail", "when the broker has deleted what was next", ("fail", "earliest")),
    Parameter("sasl-user", "text", "", "user"),
    Parameter("sasl-password", "text", "", "password"),
    Parameter("sasl-mechanism", "choice", "", "SASL mechanism", MECHANISMS),
    Parameter("enable-tls", "bool", "false", "TLS to the broker"),
    Parameter("ca", "text", "", "file of the certificate authority (PEM)"),
    Parameter("cert", "text", "", "file of the client certificate (PEM)"),
    Parameter("key", "text", "", "file of the client key (PEM)"),
    Parameter("insecure-skip-verify", "bool", "false", "do not check the broker's host name"),
    Parameter("kafka-version", applies=False),
    Parameter("kafka-client-id", "text", "", "client id"),
    Parameter("dial-timeout", applies=False),
    Parameter("read-timeout", applies=False),
    Parameter("write-timeout", applies=False),
)


class KafkaSource(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed ``kafka://`` source. Either ``topics`` or ``topic_pattern``."""

    uri: str
    brokers: str
    topics: tuple[str, ...]
    topic_pattern: str
    protocol: str
    start: str
    watermark: str
    watermark_timeout_seconds: float
    on_lost_position: str
    time_zone: str
    bad_message: str
    repeats: str
    max_rows: int
    max_bytes: int
    sasl_user: str
    sasl_password: str
    sasl_mechanism: str
    tls: bool
    ca: str
    cert: str
    key: str
    skip_verify: bool
    client_id: str
    scheme: str = "kafka"

    @property
    def identity_key(self) -> tuple[str, ...]:
        """What makes it this source; everything else, brokers too, is a way of reading it."""
        return self.scheme, self.protocol, self.topic_pattern, *sorted(self.topics)

    @property
    def start_ts(self) -> int:
        """The TSO that ``start`` names; 0 when it is no TSO."""
        return int(self.start) if _TSO.fullmatch(self.start) else 0

    @property
    def start_offsets(self) -> dict[int, int]:
        """The offsets that ``start`` names, by partition; none when it names none."""
        if not self.start.startswith("offset:"):
            return {}
        pairs = (pair.split(":") for pair in self.start.removeprefix("offset:").split(","))
        return {int(partition): int(offset) for partition, offset in pairs}

    def would_read(self, folder: str) -> bool:
        """A topic is in no folder."""
        return False

    def masked(self) -> str:
        """The URI without secrets."""
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        """Nothing of it is a folder."""

    def check(self) -> None:
        """Asks the broker for the topics (I/O, a few seconds at most); ``ConfigError`` if there is none or no topic."""
        from spark_jobs.sources.kafka import start

        start.check(self)

    def resolve_start(self, start_ts: int = 0) -> str:
        """The offsets to begin at, as JSON text ``{topic: {partition: offset}}``, as of now. ``ConfigError`` for a
        start that the broker does not have."""
        from spark_jobs.sources.kafka import start

        return start.resolve(self, start_ts)

    def matches(self, topic: str) -> bool:
        """Whether a topic of that name belongs to the source."""
        if self.topics:
            return topic in self.topics
        return not topic.startswith(INTERNAL) and re.fullmatch(self.topic_pattern, topic) is not None

    def sample(self) -> "Iterator[Split]":
        """The last messages of each partition."""
        from spark_jobs.sources.kafka.sample import sample

        return sample(self)

    def enumerator(self, session: "SparkSession | None") -> "Enumerator":
        """What plans and paces it; ``session`` is needed to ``run`` only."""
        from spark_jobs.sources.kafka.enumerator import KafkaEnumerator

        return KafkaEnumerator(self, session)


def parse(uri: Uri) -> KafkaSource:
    """A ``kafka://`` source URI as a spec."""
    brokers = _brokers(uri)
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    name = protocol(settings.text("protocol"), NOT_IN_QUEUES)
    path = uri.path.strip("/") or _binlog_topic(name, settings)
    topics, pattern = _topics(path, settings.text("topic-pattern"))
    tls = settings.flag("enable-tls")
    _require_whole_sasl(settings)
    if not tls and any(settings.text(name) for name in ("ca", "cert", "key")):
        raise ConfigError(f"{WHAT}: ca, cert and key need enable-tls=true", code=CODE)
    return KafkaSource(
        uri=uri.text,
        brokers=brokers,
        topics=topics,
        topic_pattern=pattern,
        protocol=name,
        start=_start(settings.text("start")),
        watermark=settings.text("watermark"),
        watermark_timeout_seconds=settings.seconds("watermark-timeout"),
        on_lost_position=settings.text("on-lost-position"),
        time_zone=zone(settings.text("time-zone")),
        bad_message=settings.text("bad-message"),
        repeats=settings.text("repeats"),
        max_rows=settings.number("max-rows-per-batch"),
        max_bytes=settings.number("max-bytes-per-batch"),
        sasl_user=settings.text("sasl-user"),
        sasl_password=settings.text("sasl-password"),
        sasl_mechanism=settings.text("sasl-mechanism").upper(),
        tls=tls,
        ca=settings.text("ca"),
        cert=settings.text("cert"),
        key=settings.text("key"),
        skip_verify=settings.flag("insecure-skip-verify"),
        client_id=settings.text("kafka-client-id"),
    )


def _brokers(uri: Uri) -> str:
    if uri.user or uri.password:
        sentence = "kafka:// takes no user:password@; give sasl-user, sasl-password and sasl-mechanism as parameters"
        raise ConfigError(f"{WHAT}: {sentence}", code=CODE)
    names = [host for host in uri.hosts.split(",") if host]
    for host in names:
        found = _HOST.fullmatch(host)
        if not found or not 0 < int(found[2]) < 65536:
            # Not repeated: it is the beginning of a password when that contains a / or a ?.
            sentence = "what stands before the path is not HOST:PORT[,HOST:PORT…]; percent-encode special characters"
            raise ConfigError(f"{WHAT}: {sentence}", code=CODE)
    if not names:
        raise ConfigError(f"{WHAT}: no broker; write kafka://HOST:PORT/TOPIC", code=CODE)
    return ",".join(names)


def _binlog_topic(protocol_name: str, settings: Settings) -> str:
    """Drainer's topic, where ``cluster-id`` stands for it; else ""."""
    cluster = settings.text("cluster-id")
    wanted = protocol_name == "tidb-binlog" and cluster and not settings.text("topic-pattern")
    return f"{cluster}_obinlog" if wanted else ""


def _topics(text: str, pattern: str) -> tuple[tuple[str, ...], str]:
    if bool(text) == bool(pattern):
        raise ConfigError(f"{WHAT}: name the topics in the path, or give topic-pattern (one of both)", code=CODE)
    if pattern:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"{WHAT}: topic-pattern is not a regular expression: {error}", code=CODE) from None
        return (), pattern
    topics = tuple(text.split(","))
    for topic in topics:
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            shown = "the path" if "@" in topic else repr(topic)  # the rest of a password with a / in it
            raise ConfigError(f"{WHAT}: {shown} is not a topic name (letters, digits, . _ -)", code=CODE)
    if len(set(topics)) != len(topics):
        raise ConfigError(f"{WHAT}: a topic is named twice", code=CODE)
    return topics, ""


def _start(text: str) -> str:
    if text in ("latest", "earliest") or _OFFSETS.fullmatch(text):
        return text
    if _TSO.fullmatch(text) and 0 < int(text) <= tso.MAX_TSO:
        return text
    raise ConfigError(
        f"{WHAT}: start={text!r} is none of latest, earliest, a TSO, offset:PARTITION:N[,PARTITION:N…]", code=CODE
    )


def _require_whole_sasl(settings: Settings) -> None:
    given = [bool(settings.text(name)) for name in ("sasl-user", "sasl-password", "sasl-mechanism")]
    if any(given) and not all(given):
        raise ConfigError(f"{WHAT}: sasl-user, sasl-password and sasl-mechanism belong together", code=CODE)
