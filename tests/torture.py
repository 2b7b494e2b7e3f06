"""The fault harness for as long as asked: ``python -m tests.torture --minutes 30 --seed 7``.

Real captures, the control plane and owners without Spark are killed and stopped under load: at each named step of a
commit and at random moments. At the end, and at every moment on the way, an independent reader judges what came out.
With a seed the same faults come in the same order; the moments depend on the machine.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from spark_jobs.failpoints import STEPS
from tests.rig.arena import KINDS, Arena, arena
from tests.rig.rig import Rig, rig
from tests.servers import kafka as kafka_server

_CAPTURES = 4
_ROUND = 12
"""Faults of real captures between two rounds of lone owners."""


class Torture:
    """Counts what it has done."""

    def __init__(self, folder: Path, seed: int, minutes: float) -> None:
        self.counts: Counter[str] = Counter()
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._began = time.monotonic()
        self._until = self._began + minutes * 60
        self._steps: list[str] = []

    def has_time(self) -> bool:
        return time.monotonic() < self._until

    def run(self, running: Rig) -> None:
        rounds = 0
        while self.has_time():
            self.lone(rounds)
            for _ in range(_ROUND):
                if self.has_time():
                    self.fault(running)
            rounds += 1

    def fault(self, running: Rig) -> None:
        """One fault of real captures."""
        running.refill(_CAPTURES, registered=3)
        kind = self._chance.choices(("step", "random", "control plane"), (3, 10, 1))[0]
        if kind == "step":
            self._at_step(running)
        elif kind == "random":
            self._count(f"{running.random_kill(self._chance)} killed at a random moment")
        else:
            running.leave_alone()
            self._count("control plane killed until every lease was over")
        if running.problems():
            raise AssertionError("\n".join(running.problems()))

    def _at_step(self, running: Rig) -> None:
        if not self._steps:
            self._steps = self._chance.sample(STEPS, len(STEPS))
        step = self._steps.pop()
        everybody = self._chance.random() < 0.3
        running.fault_at(step, stop_everybody=everybody)
        self._count(f"capture killed at {step}")
        self._count(f"capture stopped{' with its JVM' if everybody else ''} at {step}, woken up late")

    def lone(self, number: int) -> None:
        """A few seconds of owners without Spark."""
        kind = KINDS[number % len(KINDS)]
        with arena(self._folder / f"lone-{number}", *kind, seed=self._seed + number) as scene:
            for _ in range(40):
                self._count(self._lone_fault(scene), quiet=True)
        self._say("owners without Spark: judged, nothing wrong")

    def _lone_fault(self, scene: Arena) -> str:
        what, step = (
            self._chance.choice(("random", "random", "kill", "sleep", "stop", "fight")),
            self._chance.choice(STEPS),
        )
        if what == "kill":
            scene.kill_at(step)
        elif what == "sleep":
            scene.sleep_at(step)
        elif what == "random":
            scene.kill_at_random()
        elif what == "stop":
            scene.sleep_at_random()
        else:
            scene.fight()
        return f"lone owner: {what}" + (f" at {step}" if what in ("kill", "sleep") else "")

    def _count(self, what: str, *, quiet: bool = False) -> None:
        self.counts[what] += 1
        if not quiet:
            self._say(what)

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {what}", flush=True)


def main() -> int:
    """0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="make torture", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--protocol", action="append", default=[], help="a topic of this protocol too (several times)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    chosen = parser.parse_args()
    print(f"torture for {chosen.minutes:g} minutes, --seed {chosen.seed}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-torture-")))
        kafka = stack.enter_context(kafka_server.broker())
        (folder / "rig").mkdir()
        running = stack.enter_context(rig(folder / "rig", captures=_CAPTURES))
        running.add_folder_feed("files", "canal-json", seed=chosen.seed)
        running.add_topic_feed("topics", "csv", kafka, seed=chosen.seed + 1)
        for number, protocol in enumerate(chosen.protocol):
            name, seed = f"topic-{number}-{protocol}", chosen.seed + 2 + number
            running.add_topic_feed(name, "canal-json", kafka, seed=seed, source=protocol)
        torture = Torture(folder, chosen.seed, chosen.minutes)
        fault = ""
        try:
            torture.run(running)
        except AssertionError as error:
            fault = str(error)
        return _judge(running, torture, fault, chosen.seed)


def _judge(running: Rig, torture: Torture, fault: str, seed: int) -> int:
    problems = [fault] if fault else []
    for feed in running.feeds:
        try:
            verdict = feed.judge()
            print(f"{feed.name}: {verdict.events} events, looked at {verdict.rounds} times while it ran")
            problems += verdict.problems
        except AssertionError as error:
            problems.append(str(error))
    for what, count in sorted(torture.counts.items()):
        print(f"{count:6d}  {what}")
    print(f"{torture.counts.total():6d}  faults in all; --seed {seed}")
    for problem in problems:
        print(f"WRONG: {problem}")
    print("nothing was lost, repeated or out of order" if not problems else f"{len(problems)} things were wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
