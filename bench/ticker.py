"""``python -m bench.ticker BROKER ROWS_PER_SECOND WATERMARK_SECONDS SECONDS TOPIC…``: a live source.

Each topic has one or more partitions and gets so many rows a second, each with the time at which it was handed to the
producer (column ``sent``, nanoseconds), and watermarks after its rows; 0 for none, and then no ``_tidb`` either.
"""

import sys
import time
from typing import Final

from confluent_kafka import Producer

from bench.events import watermark

TABLES: Final = 8
STEP_SECONDS: Final = 0.01
_FIELDS: Final = '"sqlType":{"id":-5,"sent":12,"note":12},"mysqlType":{"id":"bigint","sent":"varchar","note":"varchar"}'
_NOTE: Final = "the parcel was handed to a neighbour on the second floor; deliver after six; ring twice; " * 6


def row(number: int, commit_ts: int, tables: int, *, extension: bool) -> bytes:
    """An insert."""
    ms = commit_ts >> 18
    tidb = f',"_tidb":{{"commitTs":{commit_ts}}}' if extension else ""
    return (
        f'{{"id":0,"database":"live","table":"t{number % tables}","pkNames":["id"],"isDdl":false,"type":"INSERT",'
        f'"es":{ms},"ts":{ms},"sql":"",{_FIELDS},"old":null,'
        f'"data":[{{"id":"{number}","sent":"{time.time_ns()}","note":"{_NOTE}"}}]{tidb}}}'
    ).encode()


def main() -> None:
    broker, rate, every, seconds, *topics = sys.argv[1:]
    run(broker, float(rate), float(every), float(seconds), topics)


def run(broker: str, rate: float, watermark_seconds: float, seconds: float, topics: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 0, "acks": 1})
    partitions = {name: len(producer.list_topics(name, 10).topics[name].partitions) for name in topics}
    tables = 1 if rate < TABLES else TABLES
    began = time.monotonic()
    sent = dict.fromkeys(topics, 0)
    marked = dict.fromkeys(topics, 0)
    last_ts = 0
    while (now := time.monotonic() - began) < seconds:
        for place, topic in enumerate(topics):
            shift = place / len(topics)  # so that they do not all speak in the same instant
            while sent[topic] < (now - shift / rate) * rate:
                last_ts = max(last_ts + 1, int(time.time() * 1000) << 18)
                message = row(sent[topic], last_ts, tables, extension=watermark_seconds > 0)
                producer.produce(topic, message, partition=sent[topic] % partitions[topic])
                sent[topic] += 1
            if watermark_seconds and sent[topic] and marked[topic] < (now - shift / rate) / watermark_seconds:
                for part in range(partitions[topic]):
                    producer.produce(topic, watermark(last_ts), partition=part)
                marked[topic] += 1
        producer.poll(0)
        time.sleep(STEP_SECONDS if rate < TABLES else 0.001)
    for topic in topics if watermark_seconds else ():
        for part in range(partitions[topic]):
            producer.produce(topic, watermark(last_ts), partition=part)
    producer.flush(30)
    print(sum(sent.values()), flush=True)


if __name__ == "__main__":
    main()
