"""The product under load: one control plane, some captures, some changefeeds with a watch on each."""

import contextlib
import functools
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.rig.captures import CaptureProcess
from tests.rig.group import VICTIMS
from tests.rig.plane import Plane
from tests.rig.upstream import GrowingFolder, Pump, Topics, Upstream
from tests.rig.waiting import wait_for
from tests.rig.watch import Verdict, Watch, Watching, newest_commit, owners
from tests.rig.workload import Workload
from tests.servers.kafka import Kafka

TOPICS = 2
PARTITIONS = 2
_SINK = "flush-interval=200ms&file-size=16384"


class Feed:
    """A changefeed, what goes into it, and the watch on what comes out."""

    def __init__(self, name: str, output: Path, protocol: str, workload: Workload, upstream: Upstream, rate: float):
        self.name = name
        self.output = output
        self.pump = Pump(workload, upstream, steps_per_second=rate)
        self.watch = Watch(output, workload.ledger, protocol)
        self._pumping = contextlib.ExitStack()

    def begin(self) -> None:
        self._pumping.enter_context(self.pump.running())

    def end(self) -> None:
        self._pumping.close()

    def epoch(self) -> int:
        """Under which epoch the newest commit was made; 0 if there is none."""
        return newest_commit(self.output, self.name)

    def wait_for_commit(self, after: int) -> float:
        """Until somebody has committed under a later epoch; returns the seconds that it took."""
        return wait_for(lambda: self.epoch() > after, f"the next owner to commit {self.name}")

    def wait_for_more(self) -> None:
        seen = self.watch.delivered
        wait_for(lambda: self.watch.delivered > seen, f"{self.name} to go on")

    def wrong_owners(self) -> list[str]:
        """What is wrong with who wrote the commit log."""
        return list(owners(self.output, self.name))

    def judge(self) -> Verdict:
        """Stops the load, waits until everything has come out, and says what is wrong."""
        self.pump.stop()
        wait_for(self.watch.is_complete, f"everything of {self.name} to be delivered")
        verdict = self.watch.judge()
        missing = len(self.watch.ledger.changes) - verdict.events
        wrong = [
            *verdict.problems,
            *owners(self.output, self.name),
            *([f"{missing} events are missing"] * bool(missing)),
        ]
        return verdict._replace(problems=[f"{self.name}: {problem}" for problem in wrong])


class Rig:
    """Nothing of it is left behind after ``end``, whatever happened."""

    def __init__(self, folder: Path, *, spark_master: str = "local[2]", spark_conf: Path | None = None) -> None:
        self.folder = folder
        self.plane = Plane(folder)
        self.captures: list[CaptureProcess] = []
        self.feeds: list[Feed] = []
        self._master, self._conf = spark_master, spark_conf
        self._watching = contextlib.ExitStack()
        self._number = 0

    def end(self) -> None:
        for feed in self.feeds:
            feed.end()
        self._watching.close()
        for capture in self.captures:
            capture.group.end()
        self.plane.end()

    def start_capture(self, *, detached: bool = True) -> CaptureProcess:
        """A new one; it has not registered yet."""
        self._number += 1
        capture = CaptureProcess(
            self.plane,
            f"capture-{self._number}",
            detached=detached,
            spark_master=self._master,
            spark_conf=self._conf,
        )
        self.captures.append(capture)
        return capture

    def refill(self, captures: int, *, registered: int = 0) -> None:
        """So many captures that live, of which at least ``registered`` (0: all) have registered."""
        for capture in [capture for capture in self.captures if capture.group.status is not None]:
            self.drop(capture)
        while len(self.captures) < captures:
            self.start_capture()
        wanted = registered or captures
        wait_for(lambda: self._registered() >= wanted, f"{wanted} captures to register", 120)

    def _registered(self) -> int:
        return sum(capture.is_registered() for capture in self.captures)

    def feed(self, name: str) -> Feed:
        (found,) = [feed for feed in self.feeds if feed.name == name]
        return found

    def problems(self) -> list[str]:
        """What was wrong so far with what came out."""
        return [f"{feed.name}: {problem}" for feed in self.feeds for problem in feed.watch.problems]

    def spread(self) -> list[Feed]:
        """The changefeeds, each on a capture of its own: one of two that share a capture is paused and resumed."""
        hosts = {feed.name: self.wait_for_host(feed) for feed in self.feeds}
        for feed in self.feeds[1:]:
            if hosts[feed.name] is hosts[self.feeds[0].name]:
                self.plane.call("POST", f"/changefeeds/{feed.name}/pause", {})
                wait_for(functools.partial(self._is_free, feed.name), f"{feed.name} to pause")
                self.plane.call("POST", f"/changefeeds/{feed.name}/resume", {})
                self.wait_for_host(feed)
        return list(self.feeds)

    def _is_free(self, name: str) -> bool:
        return not self.plane.changefeed(name).get("capture_id")

    def fault_at(self, step: str, *, stop_everybody: bool = False) -> None:
        """The capture that runs the first changefeed is killed at a step, the one that runs the second is stopped there
        (with ``stop_everybody`` its JVM too); others go on with both; the stopped one wakes up and notices."""
        first, second = self.spread()
        killed, stopped = self.host(first), self.host(second)
        epochs = first.epoch(), second.epoch()
        kill, stop = killed.order(step, "kill"), stopped.order(step, "stop")
        kill.wait()
        stop.wait()
        if stop_everybody:
            stopped.group.signal_all(signal.SIGSTOP)
        self.start_capture()
        first.wait_for_commit(epochs[0])
        second.wait_for_commit(epochs[1])
        self.drop(killed)
        stopped.group.signal_all(signal.SIGCONT)
        wait_for(stopped.has_stopped_itself, "the stopped capture to notice that it was replaced")
        self.feeds.reverse()
        assert [*first.wrong_owners(), *second.wrong_owners()] == []

    def leave_alone(self) -> None:
        """The control plane is killed, and comes back when every capture has stopped by itself."""
        hosts = [self.host(feed) for feed in self.spread()]
        self.plane.kill()
        for feed in self.feeds:
            feed.wait_for_more()
        for host in hosts:
            wait_for(host.has_stopped_itself, f"{host.name} to stop by itself")
        epochs = [feed.epoch() for feed in self.feeds]
        self.plane.start()
        for feed, epoch in zip(self.feeds, epochs, strict=True):
            feed.wait_for_commit(epoch)

    def random_kill(self, chance: random.Random) -> str:
        """One kill at a random moment; returns what was killed, once it is gone and all changefeeds go on."""
        for feed in self.feeds:
            self.wait_for_host(feed)
        victim, feed = chance.choice((*VICTIMS, "control plane")), chance.choice(self.feeds)
        host, epoch = self.host(feed), feed.epoch()
        self._pass(chance.uniform(0, 1.5))
        if victim == "control plane":
            self.plane.kill()
            self._pass(chance.uniform(0, 3))
            self.plane.start()
            return victim
        host.group.kill(victim)
        self.drop(host)
        feed.wait_for_commit(epoch)
        return victim

    def _pass(self, seconds: float) -> None:
        """Lets time pass: a moment is what is random here."""
        threading.Event().wait(seconds)

    def drop(self, capture: CaptureProcess) -> None:
        """It is dead, with everything that it started."""
        capture.group.wait_until_gone()
        capture.group.end()
        self.captures.remove(capture)

    def add_folder_feed(self, name: str, protocol: str, *, seed: int, rate: float = 60, steps_before: int = 0) -> Feed:
        """``steps_before``: so many steps of the workload lie there in one file when the changefeed is created."""
        source = self.folder / f"{name}-source"
        feed = Feed(name, self.folder / f"{name}-output", protocol, Workload(seed), GrowingFolder(source), rate)
        if steps_before:
            feed.pump.write_at_once(steps_before)
        return self._add(feed, f"file://{source}?protocol=canal-json")

    def add_topic_feed(
        self, name: str, protocol: str, kafka: Kafka, *, seed: int, rate: float = 60, source: str = "canal-json"
    ) -> Feed:
        """``source``: what the topics hold; all but canal-json is one ordered stream, in one partition."""
        marked = source == "canal-json"
        names = tuple(f"{name}-{number}" for number in range(TOPICS if marked else 1))
        topics = Topics(kafka, names, PARTITIONS if marked else 1)
        workload = Workload(seed, partitions=topics.total if marked else 0, protocol=source)
        feed = Feed(name, self.folder / f"{name}-output", protocol, workload, topics, rate)
        waits = "&watermark=require" if marked else ""
        uri = f"kafka://{kafka.bootstrap}/{','.join(names)}?protocol={source}&start=earliest{waits}"
        return self._add(feed, uri)

    def _add(self, feed: Feed, source_uri: str) -> Feed:
        csv = feed.watch.protocol == "csv"
        sink_uri = f"file://{feed.output}?protocol={feed.watch.protocol}&{_SINK}"
        sink: dict[str, object] = {"csv": {"include_commit_ts": True}} if csv else {}
        self.feeds.append(feed)
        self.plane.create(feed.name, source_uri, sink_uri + ("" if csv else "&enable-tidb-extension=true"), sink=sink)
        feed.begin()
        self._watching.enter_context(Watching(feed.watch))
        return feed

    def host(self, feed: Feed) -> CaptureProcess:
        """Who runs it now."""
        capture_id = self.plane.changefeed(feed.name).get("capture_id")
        (found,) = [capture for capture in self.captures if capture.group.status is None and capture.id == capture_id]
        return found

    def wait_for_host(self, feed: Feed) -> CaptureProcess:
        """Who runs it, once somebody does and has committed."""
        epoch = self.plane.changefeed(feed.name)["epoch"]
        wait_for(lambda: feed.epoch() >= epoch and self._has_host(feed), f"somebody to deliver {feed.name}")
        return self.host(feed)

    def _has_host(self, feed: Feed) -> bool:
        capture_id = self.plane.changefeed(feed.name).get("capture_id")
        return any(capture.group.status is None and capture.id == capture_id for capture in self.captures)


@contextlib.contextmanager
def rig(
    folder: Path, *, captures: int, spark_master: str = "local[2]", spark_conf: Path | None = None
) -> Iterator[Rig]:
    """A running control plane with that many captures; they may not have registered yet."""
    made = Rig(folder, spark_master=spark_master, spark_conf=spark_conf)
    try:
        made.plane.start()
        for _ in range(captures):
            made.start_capture()
        yield made
    finally:
        made.end()
