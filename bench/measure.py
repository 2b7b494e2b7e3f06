"""Runs contenders by turns, so that ratios hold on a noisy machine, and counts CPU time beside the clock's."""

import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

WARM_UP_ROUNDS: Final = 2
"""Of each contender; after one, JVMs still compile, and the memory of workers still grows."""


class Round(msgspec.Struct, frozen=True):
    """One run. ``cpu_seconds``: of all processes that worked on it."""

    seconds: float
    cpu_seconds: float


class Contender(msgspec.Struct, frozen=True):
    """``run`` does the whole work; it returns the seconds that count, or None for all of them.

    ``after``: called after each run, outside of the time, with whether it was the last.
    """

    name: str
    run: Callable[[], float | None]
    after: Callable[[bool], None] = lambda last: None


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What a contender achieved; per second is the median of the rounds."""

    name: str
    events: int
    bytes: int
    rounds: list[Round]

    @property
    def seconds(self) -> float:
        return statistics.median(one.seconds for one in self.rounds)

    @property
    def cpu_seconds(self) -> float:
        return statistics.median(one.cpu_seconds for one in self.rounds)

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds


def by_turns(
    contenders: Iterable[Contender], rounds: int, events: int, size: int, *, without: Callable[[], int | None]
) -> list[Line]:
    """Rounds to warm up, then those that count. ``without``: a process whose CPU time is not counted."""
    contenders = list(contenders)
    done: dict[str, list[Round]] = {contender.name: [] for contender in contenders}
    for number in range(1 - WARM_UP_ROUNDS, rounds + 1):
        for contender in contenders:
            os.sync()
            cpu, start = cpu_seconds(without()), time.perf_counter()
            own = contender.run()
            wall = time.perf_counter() - start
            used = cpu_seconds(without()) - cpu
            print(f"    {contender.name}: {own or wall:.2f} s, {used:.2f} s of CPU", flush=True)
            if number > 0:
                done[contender.name].append(Round(own or wall, used))
            contender.after(number == rounds)
    return [Line(name=name, events=events, bytes=size, rounds=runs) for name, runs in done.items()]


def cpu_seconds(without: int | None = None) -> float:
    """CPU time of this process, of those it started and of those they started, ended ones included."""
    times, parents = _processes()
    ticks = sum(times[pid] for pid in below(os.getpid(), parents, without))
    return ticks / os.sysconf("SC_CLK_TCK")


def below(root: int, parents: dict[int, int], without: int | None = None) -> set[int]:
    """A process and all below it."""
    found, added = {root}, {root}
    while added:
        added = {pid for pid, parent in parents.items() if parent in added and pid != without} - found
        found |= added
    return found


def _processes() -> tuple[dict[int, int], dict[int, int]]:
    times: dict[int, int] = {}
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(int(field) for field in fields[11:15])
    return times, parents


def parents_of_all() -> dict[int, int]:
    """Each running process's parent."""
    return _processes()[1]
