"""Bad input: a clear answer, nothing lost, nothing half-done."""

import contextlib
import json
import os
import subprocess
import time

import pytest

from tests.e2e.conftest import SINK
from tests.pipeline.messages import insert, ts
from tests.rig.waiting import wait_for
from tests.servers.ports import free_port

LATER = ts(int(time.time() * 1000) + 3_600_000)


def orders(weir):
    """What is wrong with an order → its body, the code, and words that say what, where, what to do."""
    source = f"file://{weir.folder}?protocol=canal-json"
    sink = f"file://{weir.folder}/never?protocol=canal-json"
    broker = weir.kafka.bootstrap
    good = {"changefeed_id": "good-one", "source_uri": source, "sink_uri": sink}
    nobody = f"127.0.0.1:{free_port()}"
    return {
        "an unknown source scheme": (
            good | {"source_uri": "ftp://host/x"},
            "ErrSourceURIInvalid",
            ("ftp://", "file://", "kafka://"),
        ),
        "an unknown sink scheme": (good | {"sink_uri": "ftp://host/x"}, "ErrSinkURIInvalid", ("ftp://", "file://")),
        "a scheme that comes later": (good | {"sink_uri": "s3://bucket/x"}, "ErrSinkURIInvalid", ("s3://", "later")),
        "an unknown source parameter": (
            good | {"source_uri": source + "&patern=x"},
            "ErrSourceURIInvalid",
            ("'patern'", "did you mean 'pattern'"),
        ),
        "an unknown sink parameter": (
            good | {"sink_uri": sink + "&flush-intervall=1s"},
            "ErrSinkURIInvalid",
            ("'flush-intervall'", "did you mean 'flush-interval'"),
        ),
        "an unknown protocol": (
            good | {"sink_uri": sink.replace("canal-json", "avro")},
            "ErrSinkUnknownProtocol",
            ("'avro'", "csv"),
        ),
        "a missing topic": (
            good | {"source_uri": f"kafka://{broker}/nobody-made-it?protocol=canal-json"},
            "ErrKafkaTopicNotExists",
            ("nobody-made-it", "create it first"),
        ),
        "an unreachable broker": (
            good | {"source_uri": f"kafka://{nobody}/t?protocol=canal-json"},
            "ErrSourceURIInvalid",
            (nobody, "refuses the connection"),
        ),
        "a certificate that is not there": (
            good | {"source_uri": f"kafka://{broker}/t?protocol=canal-json&enable-tls=true&ca=/not/there"},
            "ErrSourceURIInvalid",
            ("/not/there",),
        ),
        "a missing source folder": (
            good | {"source_uri": f"file://{weir.folder}/not-there?protocol=canal-json"},
            "ErrSourceURIInvalid",
            ("not-there", "create it first"),
        ),
        "an unwritable folder": (
            good | {"sink_uri": "file:///proc/weir?protocol=canal-json"},
            "ErrSinkURIInvalid",
            ("/proc/weir", "cannot be written"),
        ),
        "two dots in a path": (
            good | {"sink_uri": f"file://{weir.folder}/a/../b?protocol=csv"},
            "ErrSinkURIInvalid",
            ("'..'",),
        ),
        "encoded dots in a path": (
            good | {"sink_uri": f"file://{weir.folder}/a/%2e%2e/b?protocol=csv"},
            "ErrSinkURIInvalid",
            ("'..'",),
        ),
        "a bad id": (good | {"changefeed_id": "no_good"}, "ErrAPIInvalidParam", ("'no_good'", "hyphens")),
        "a start in the future": (good | {"start_ts": LATER}, "ErrAPIInvalidParam", ("start_ts", "in the future")),
        "a target before the start": (
            good | {"start_ts": ts(2000), "target_ts": ts(1000)},
            "ErrTargetTsBeforeStartTs",
            ("target_ts", "above start_ts"),
        ),
        "a bad filter": (
            good | {"replica_config": {"filter": {"rules": ["["]}}},
            "ErrFilterRuleInvalid",
            ("[",),
        ),
    }


WRONG = [
    "an unknown source scheme",
    "an unknown sink scheme",
    "a scheme that comes later",
    "an unknown source parameter",
    "an unknown sink parameter",
    "an unknown protocol",
    "a missing topic",
    "an unreachable broker",
    "a certificate that is not there",
    "a missing source folder",
    "an unwritable folder",
    "two dots in a path",
    "encoded dots in a path",
    "a bad id",
    "a start in the future",
    "a target before the start",
    "a bad filter",
]


def test_every_wrong_order_is_tried(weir):
    assert list(orders(weir)) == WRONG


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_order_is_refused_and_leaves_nothing(weir, wrong):
    body, code, words = orders(weir)[wrong]
    reply = weir.api.post("/changefeeds", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (400, f"CDC:{code}"), reply.text
    for word in words:
        assert word in reply.json()["error_msg"]
    assert weir.api.get("/changefeeds/good-one").status_code == 400
    assert not (weir.folder / "never").exists()


def test_a_body_that_is_not_json_is_refused(weir):
    reply = weir.api.post("/changefeeds", content=b'{"changefeed_id": ', headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error_code"]) == (400, "CDC:ErrAPIInvalidParam")


def test_a_duplicate_id_is_refused_and_the_first_goes_on(weir):
    source = weir.source()
    feed = weir.create(source_uri=source.uri)
    body = {"changefeed_id": feed.name, "source_uri": source.uri, "sink_uri": f"file://{weir.folder}/never?{SINK}"}
    reply = weir.api.post("/changefeeds", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (400, "CDC:ErrChangeFeedAlreadyExists")
    assert feed.name in reply.json()["error_msg"]
    source.insert(1)
    feed.wait_for_keys(1)


def test_a_folder_with_data_of_unknown_origin_needs_consent(weir):
    source = weir.source()
    output = weir.folder / "of-unknown-origin"
    (output / "shop").mkdir(parents=True)
    body = {"changefeed_id": "adopter", "source_uri": source.uri, "sink_uri": f"file://{output}?{SINK}"}
    reply = weir.api.post("/changefeeds", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (400, "CDC:ErrSinkFolderNotEmpty")
    assert "unknown origin (shop)" in reply.json()["error_msg"]
    assert "adopt=restart" in reply.json()["error_msg"]


def test_data_of_unknown_origin_that_appears_later_stops_the_changefeed(weir):
    source = weir.source()
    feed = weir.create(SINK + "&date-separator=none", source_uri=source.uri)
    foreign = feed.output / "shop" / "orders" / str(ts(1))
    foreign.mkdir(parents=True)
    (foreign / "CDC000003.json").write_bytes(b"theirs")
    source.insert(1)
    error = feed.wait_for_state("failed")
    assert error["code"] == "CDC:ErrSinkFolderNotEmpty"
    assert f"shop/orders/{ts(1)} holds files up to number 3" in error["message"]
    assert [path.name for path in foreign.iterdir()] == ["CDC000003.json"]


def test_a_bad_message_stops_the_changefeed_until_it_may_be_put_aside(weir):
    topic = weir.topic()
    messages = [insert("orders", 1, ts(1), extension=False), b"{not json", insert("orders", 3, ts(3), extension=False)]
    weir.kafka.produce(topic, messages)
    feed = weir.create(source_uri=weir.topic_uri(topic))
    error = feed.wait_for_state("failed")
    assert error["code"] == "CDC:ErrDecodeFailed"
    assert f"topic {topic}, partition 0, offset 1: not a canal-json message" in error["message"]
    assert "nothing was skipped" in error["message"]
    assert "bad-message=dead-letter" in error["message"]
    assert feed.keys() == []

    answer = feed.update(source_uri=weir.topic_uri(topic, options="&start=earliest&bad-message=dead-letter"))
    assert answer.status_code == 200, answer.text
    feed.resume()
    feed.wait_for_keys(1, 3)
    wait_for(lambda: feed.get("/progress")["dead_letters"] == 1, "the dead letter to be counted")
    (letters,) = (weir.folder / "home" / "checkpoints" / feed.name / "_dead_letter").iterdir()
    letter = json.loads(letters.read_bytes())
    assert (letter["stream"], letter["partition"], letter["offset"]) == (topic, 0, 1)


def test_a_bad_line_in_a_folder_is_named_by_file_and_line(weir):
    source = weir.source()
    path = source.put(insert("orders", 1, ts(1)), b"[]", insert("orders", 3, ts(3)))
    feed = weir.create(source_uri=source.uri)
    error = feed.wait_for_state("failed")
    assert f"file {path}, line 2" in error["message"]
    path.write_bytes(path.read_bytes().replace(b"[]", insert("orders", 2, ts(2))))
    feed.resume()
    feed.wait_for_keys(1, 2, 3)


def test_a_topic_that_disappears_is_a_warning_that_names_it_and_is_tried_again(weir):
    topic = weir.topic()
    weir.kafka.produce(topic, [insert("orders", 1, ts(1), extension=False)])
    feed = weir.create(source_uri=weir.topic_uri(topic))
    feed.wait_for_keys(1)
    weir.kafka.delete_topic(topic)
    wait_for(
        lambda: (feed.get().get("error") or {}).get("code") == "CDC:ErrKafkaTopicNotExists", "the topic to be missed"
    )
    (condition, *_) = feed.get("/status")["conditions"]
    assert topic in condition["message"]
    assert feed.state == "warning"
    assert condition["next_retry"]
    assert feed.keys() == [1]


def test_a_lost_position_stops_the_changefeed_until_it_may_go_on_from_the_earliest(weir):
    topic = weir.topic()
    weir.kafka.produce(topic, [insert("orders", 1, ts(1), extension=False)])
    feed = weir.create(source_uri=weir.topic_uri(topic))
    feed.wait_for_keys(1)
    feed.pause()
    weir.kafka.produce(topic, [insert("orders", key, ts(key), extension=False) for key in (2, 3, 4)])
    weir.kafka.delete_records(topic, 0, 3)
    feed.resume()
    error = feed.wait_for_state("failed")
    assert error["code"] == "CDC:ErrKafkaPositionLost"
    assert f"offset 1 of {topic}/0 is gone" in error["message"]

    answer = feed.update(source_uri=weir.topic_uri(topic, options="&on-lost-position=earliest"))
    assert answer.status_code == 200, answer.text
    feed.resume()
    feed.wait_for_keys(1, 4)
    feed.wait_for_log("position lost: offset 1")


@pytest.fixture
def small_disk(weir):
    """A file system of 2 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    path = weir.folder / "small-disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "weir-test", str(path)], check=True)
    yield path
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_disk_that_is_full_is_a_warning_and_everything_comes_once_there_is_room(weir, small_disk):
    source = weir.source()
    feed = weir.create(source_uri=source.uri, sink_uri=f"file://{small_disk}/out?{SINK}")
    feed.output = small_disk / "out"
    source.insert(1)
    feed.wait_for_keys(1)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (1400 << 10))
    source.insert(*range(2, 4000))
    error = feed.wait_for_state("warning", "failed")
    assert feed.state == "warning"
    assert error["code"] == "CDC:ErrStorageWriteFailed"
    assert "the disk is full" in error["message"]
    assert feed.keys() == [1]
    ballast.unlink()
    feed.wait_for_keys(*range(1, 4000))
    wait_for(lambda: feed.state == "normal", "the warning to end")
