"""A real Kafka broker in KRaft mode, from the archives in ``jars/broker``, its data in a temporary folder.

    with broker() as kafka:
        kafka.create_topic("orders", partitions=3)
        kafka.produce("orders", [b"…"], partition=0)

By hand: ``make kafka`` (``python -m tests.servers.kafka --help``), Ctrl-C ends it.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from tests.servers.ports import free_port
from tests.servers.processes import server

JARS: Final = Path(__file__).resolve().parents[2] / "jars" / "broker"
_START_SECONDS: Final = 60
_CALL_SECONDS: Final = 30
_LOGGING: Final = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""
_SETTINGS: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.cleaner.dedupe.buffer.size": str(8 << 20),
    "log.segment.delete.delay.ms": "1000",
}
_QUIET: Final = {"log_level": 0}  # a broker that is not up yet is waited for, not reported
_PRODUCER: Final = {"enable.idempotence": True, "linger.ms": 5, "topic.metadata.propagation.max.ms": 2000, **_QUIET}
_OPTIONS: Final = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


@dataclass(frozen=True)
class Kafka:
    """A running broker. ``bootstrap``: its ``host:port``."""

    bootstrap: str
    log: Path

    def create_topic(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Returns when every partition has a leader. ``config``: ``retention_ms="1000"`` for ``retention.ms``."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        request = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
        self._admin.create_topics([request])[topic].result(_CALL_SECONDS)
        self._wait(lambda: self.partitions(topic) == partitions, f"topic {topic} to have {partitions} leaders")

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(_CALL_SECONDS)
        self._wait(lambda: self.partitions(topic) == total, f"topic {topic} to have {total} leaders")

    def delete_topic(self, topic: str) -> None:
        """Returns when the broker does not list it any more."""
        self._admin.delete_topics([topic])[topic].result(_CALL_SECONDS)
        self._wait(lambda: self.partitions(topic) == 0, f"topic {topic} to be gone")

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """What retention does: messages below that offset are gone."""
        place = TopicPartition(topic, partition, before_offset)
        for future in self._admin.delete_records([place]).values():
            future.result(_CALL_SECONDS)

    def partitions(self, topic: str) -> int:
        """How many partitions have a leader; 0 without such a topic."""
        found = self._admin.list_topics(timeout=_CALL_SECONDS).topics.get(topic)
        return 0 if found is None else sum(item.leader >= 0 for item in found.partitions.values())

    def produce(
        self,
        topic: str,
        values: Iterable[bytes],
        *,
        partition: int = 0,
        key: bytes | None = None,
        timestamp_ms: int = 0,
    ) -> int:
        """Appends in order, returns when all are stored; how many. ``timestamp_ms`` 0: the time of appending."""
        failed: list[KafkaError] = []
        producer = Producer({"bootstrap.servers": self.bootstrap, **_PRODUCER})
        count = 0
        for value in values:
            while True:
                try:
                    producer.produce(
                        topic,
                        value,
                        key,
                        partition,
                        on_delivery=lambda error, _: failed.append(error) if error else None,
                        timestamp=timestamp_ms,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
            count += 1
        left = producer.flush(_CALL_SECONDS)
        if failed or left:
            raise RuntimeError(f"{topic}: {left} messages were not sent, {len(failed)} were refused: {failed[:1]}")
        return count

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, **_QUIET})

    def wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        """Until the broker answers, and creates topics, which is when its own controller leads."""
        self._wait(self._answers, "the broker to answer", process)

    def _answers(self) -> bool:
        with contextlib.suppress(KafkaException):
            return bool(self._admin.list_topics(timeout=1).brokers)
        return False

    def _wait(self, holds: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None = None) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not holds():
            ended = process is not None and process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"waited in vain for {what}; the broker's log:\n{_tail(self.log)}")
            time.sleep(0.05)


def missing() -> str:
    """Why there can be no broker here, "" when there can."""
    if not any(JARS.glob("kafka_*.jar")):
        return "the archives of the Kafka broker are not in jars/broker (make setup)"
    return "" if shutil.which("java") or os.environ.get("JAVA_HOME") else "Java is not installed"


@contextlib.contextmanager
def broker(folder: Path | None = None, port: int = 0, controller_port: int = 0) -> Iterator[Kafka]:
    """A running broker. Without a folder its data goes at the end; ports of 0 are free ones."""
    with contextlib.ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-kafka-")))
        home.mkdir(parents=True, exist_ok=True)
        port, controller_port = port or free_port(), controller_port or free_port()
        settings = _write_settings(home, port, controller_port)
        if not (home / "data" / "meta.properties").exists():
            _format(home, settings)
        kafka = Kafka(f"127.0.0.1:{port}", home / "broker.log")
        process = stack.enter_context(server(_java(home, "kafka.Kafka", str(settings)), kafka.log))
        kafka.wait_until_up(process)
        yield kafka


def _write_settings(home: Path, port: int, controller_port: int) -> Path:
    listeners = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "log.dirs": f"{home}/data",
    }
    path = home / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in {**_SETTINGS, **listeners}.items()))
    (home / "log4j2.properties").write_text(_LOGGING)
    return path


def _format(home: Path, settings: Path) -> None:
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    options = ("format", "--standalone", "--ignore-formatted", f"--cluster-id={cluster}", f"--config={settings}")
    done = subprocess.run(
        _java(home, "kafka.tools.StorageTool", *options), capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        raise RuntimeError(f"Kafka's storage could not be formatted: {done.stdout}{done.stderr}")


def _java(home: Path, main_class: str, *arguments: str) -> list[str]:
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    logging = f"-Dlog4j2.configurationFile={home}/log4j2.properties"
    return [java, *_OPTIONS, logging, "-cp", f"{JARS}/*", main_class, *arguments]


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:]) if log.exists() else "(none)"


def _why_taken(port: int) -> str:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            return str(error.strerror)
    return ""


def main() -> int:
    """A broker in the foreground."""
    parser = argparse.ArgumentParser(prog="make kafka", description="A Kafka broker for trying things by hand.")
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--controller-port", type=int, default=9093)
    parser.add_argument("--folder", type=Path, default=Path("build/kafka"), help="keeps its topics until removed")
    parser.add_argument("--topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="created if absent")
    chosen = parser.parse_args()
    for port in (chosen.port, chosen.controller_port):
        if taken := _why_taken(port):
            print(
                f"make kafka: port {port} cannot be used ({taken}); choose others with ARGS='--port 19092 …'",
                file=sys.stderr,
            )
            return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with broker(chosen.folder.absolute(), chosen.port, chosen.controller_port) as kafka:
        for name, _, partitions in (topic.partition(":") for topic in chosen.topic):
            if kafka.partitions(name) == 0:
                kafka.create_topic(name, int(partitions or 1))
        print(f"Kafka on {kafka.bootstrap}, its data in {chosen.folder}. Ctrl-C ends it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
