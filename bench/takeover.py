"""How long a changefeed stands still when its capture is killed: to the first commit of another capture."""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Final

from bench.report import Report
from tests.rig.group import VICTIMS
from tests.rig.rig import Feed, Rig, rig
from tests.servers.kafka import broker

CAPTURES: Final = 2


def takeover(options: argparse.Namespace) -> None:
    """From kill -9 of a capture, its JVM, or both, under load, to the next commit by another warm capture."""
    figures: dict[str, dict[str, float]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="weir-bench-") as folder,
        broker() as kafka,
        rig(Path(folder), captures=CAPTURES) as running,
    ):
        running.add_folder_feed("files", "canal-json", seed=31)
        running.add_topic_feed("topics", "canal-json", kafka, seed=32)
        for feed in running.feeds:
            for victim in VICTIMS:
                seconds = [_kill(running, feed, victim) for _ in range(options.rounds)]
                title = f"{feed.name}: {victim} killed"
                figures[title] = {
                    "median s": round(statistics.median(seconds), 2),
                    "max s": round(max(seconds), 2),
                }
                print(f"    {title}: {figures[title]}", flush=True)
        for feed in running.feeds:
            if problems := feed.judge().problems:
                raise RuntimeError(f"the output is wrong: {problems[:3]}")
    arguments: dict[str, int | str] = {"rounds": options.rounds, "captures": CAPTURES}
    Report(name="takeover", arguments=arguments, figures=figures).write()


def _kill(running: Rig, feed: Feed, victim: str) -> float:
    running.refill(CAPTURES)
    host, epoch = running.wait_for_host(feed), feed.epoch()
    host.group.kill(victim)
    seconds = feed.wait_for_commit(epoch)
    running.drop(host)
    return seconds
