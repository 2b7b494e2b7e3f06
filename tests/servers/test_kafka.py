"""The broker that other tests use does what they take from it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.servers.kafka import Kafka


def _read(kafka: Kafka, topic: str, partition: int, count: int) -> list[tuple[int | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    try:
        return [(message.offset(), message.value()) for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


def test_what_is_produced_is_read_in_order(kafka: Kafka) -> None:
    kafka.create_topic("ordered", partitions=2)
    assert kafka.produce("ordered", (str(number).encode() for number in range(1000)), partition=1) == 1000
    assert _read(kafka, "ordered", 1, 1000) == [(number, str(number).encode()) for number in range(1000)]


def test_deleted_records_move_the_beginning(kafka: Kafka) -> None:
    kafka.create_topic("trimmed")
    kafka.produce("trimmed", [b"a", b"b", b"c"])
    kafka.delete_records("trimmed", 0, before_offset=2)
    assert _read(kafka, "trimmed", 0, 1) == [(2, b"c")]


def test_topics_grow_and_go(kafka: Kafka) -> None:
    kafka.create_topic("growing")
    kafka.add_partitions("growing", 3)
    assert kafka.partitions("growing") == 3
    kafka.delete_topic("growing")
    assert kafka.partitions("growing") == 0


def test_a_message_to_no_topic_is_an_error(kafka: Kafka) -> None:
    with pytest.raises(RuntimeError, match="nowhere"):
        kafka.produce("nowhere", [b"x"])


@pytest.mark.parametrize("ending", ["an exception", "kill -9"])
def test_a_server_ends_with_the_run_that_started_it(ending: str, tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
from pathlib import Path
from tests.servers.processes import server
with server(["sleep", "600"], Path({str(tmp_path)!r}) / "log") as process:
    print(process.pid, flush=True)
    {"raise RuntimeError" if ending == "an exception" else "os.kill(os.getpid(), signal.SIGKILL)"}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    state = Path(f"/proc/{int(done.stdout)}/stat")
    deadline = time.monotonic() + 20
    while state.exists() and state.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the process is still there"
        time.sleep(0.02)
