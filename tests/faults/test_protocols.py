"""Topics in protocols without watermarks: captures are killed, and everything comes out once, by the same ledger."""

import random

from tests.rig.group import VICTIMS
from tests.rig.rig import rig
from tests.servers.kafka import Kafka

FEEDS = (("tidb-binlog", "canal-json"), ("canal", "csv"))


def test_kills_lose_and_repeat_nothing_of_topics_in_other_protocols(tmp_path, kafka: Kafka):
    chance = random.Random(3)
    with rig(tmp_path, captures=3) as running:
        running.refill(3, registered=2)
        for number, (source, sink) in enumerate(FEEDS):
            running.add_topic_feed(f"of-{source}", sink, kafka, seed=51 + number, source=source)
        for feed in running.feeds:
            host, epoch = running.wait_for_host(feed), feed.epoch()
            host.group.kill(chance.choice(VICTIMS))
            running.drop(host)
            feed.wait_for_commit(epoch)
            running.refill(3, registered=1)
        for feed in running.feeds:
            assert feed.judge().problems == []
            assert feed.pump.workload.ledger.statements >= 2
