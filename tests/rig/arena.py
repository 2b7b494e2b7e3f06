"""A changefeed under load with lone owners: killed, put to sleep, replaced, and woken up too late."""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rig.group import is_stopped
from tests.rig.lone import CHANGEFEED, FENCED, LoneOwner, Place
from tests.rig.upstream import GrowingFolder, PlainQueue, Pump
from tests.rig.waiting import wait_for
from tests.rig.watch import Watch, Watching, newest_epoch, owners
from tests.rig.workload import Workload

KINDS = ((0, "canal-json"), (0, "csv"), (3, "canal-json"), (3, "csv"))
"""Partitions (0: a folder) and the protocol of the output."""


class Arena:
    """Each method is one owner's end. What has to hold throughout is asserted by ``finish``."""

    def __init__(self, path: Path, partitions: int, protocol: str, seed: int) -> None:
        self.path = path
        self.place = Place(path / "source", path / "output", partitions, protocol)
        self.place.output.mkdir(parents=True)
        self.workload = Workload(seed, partitions=partitions)
        source = self.place.source
        upstream = PlainQueue(source, partitions) if partitions else GrowingFolder(source)
        self.pump = Pump(self.workload, upstream, steps_per_second=250)
        self.watch = Watch(self.place.output, self.workload.ledger, protocol)
        self._random = random.Random(seed)
        self._living: list[LoneOwner] = []
        self._epoch = 0

    def begin(self, failpoint: str = "") -> LoneOwner:
        """The next owner; it may live together with others."""
        self._epoch += 1
        owner = LoneOwner(self.place, self._epoch, failpoint)
        self._living.append(owner)
        return owner

    def _begin_and_let_live(self) -> LoneOwner:
        """For a while: mostly from its claim on, sometimes from its start."""
        owner = self.begin()
        if self._random.random() < 0.8:
            wait_for(lambda: self._claimed() == owner.epoch, "an owner to claim")
        owner.lives_for(self._random.uniform(0, 0.1))
        return owner

    def _claimed(self) -> int:
        return newest_epoch(self.place.output, CHANGEFEED)

    def kill_at_random(self) -> None:
        owner = self._begin_and_let_live()
        owner.kill()
        assert owner.status == -signal.SIGKILL

    def sleep_at_random(self) -> None:
        sleeper = self._begin_and_let_live()
        sleeper.send(signal.SIGSTOP)
        self._replace(sleeper)

    def kill_at(self, step: str) -> None:
        mark = self.path / f"killed-{self._epoch}"
        owner = self.begin(f"{step}@{self._random.randint(1, 5)}:kill:{mark}")
        wait_for(lambda: owner.status is not None, f"the kill at {step}")
        assert (owner.status, mark.read_text()) == (-signal.SIGKILL, str(owner.pid))

    def sleep_at(self, step: str) -> None:
        mark = self.path / f"asleep-{self._epoch}"
        sleeper = self.begin(f"{step}@{self._random.randint(1, 5)}:stop:{mark}")
        wait_for(lambda: mark.exists() and is_stopped(sleeper.pid), f"the sleep at {step}")
        self._replace(sleeper)

    def fight(self, rivals: int = 3) -> None:
        """Several at once; at most one is left."""
        fighters = [self.begin() for _ in range(rivals)]
        wait_for(lambda: sum(one.status is None for one in fighters) <= 1, "all but one to give up")
        assert {one.status for one in fighters} <= {None, FENCED}
        for one in fighters:
            one.kill()

    def _replace(self, sleeper: LoneOwner) -> None:
        """The next owner claims and delivers; then the sleeper wakes up, and must give up by itself."""
        heir = self.begin()
        wait_for(lambda: self._claimed() == heir.epoch, "the next owner to claim")
        seen = self.watch.delivered
        wait_for(lambda: self.watch.delivered > seen, "the next owner to deliver")
        sleeper.send(signal.SIGCONT)
        wait_for(lambda: sleeper.status is not None, "the replaced owner to end")
        assert sleeper.status == FENCED
        heir.kill()

    def finish(self) -> int:
        """Lets everything come out, and judges; how many events came."""
        self.pump.stop()
        last = self.begin()
        wait_for(self.watch.is_complete, "everything to be delivered")
        last.kill()
        verdict = self.watch.judge()
        assert verdict.problems == []
        assert verdict.events == len(self.workload.ledger.changes)
        assert list(owners(self.place.output, CHANGEFEED)) == []
        assert self.watch.moves > 0
        return verdict.events

    def end(self) -> None:
        for owner in self._living:
            owner.kill()


@contextmanager
def arena(path: Path, partitions: int, protocol: str, seed: int) -> Iterator[Arena]:
    """Under load; judged at the end."""
    made = Arena(path, partitions, protocol, seed)
    try:
        with made.pump.running(), Watching(made.watch):
            yield made
            made.finish()
    finally:
        made.end()
