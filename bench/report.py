"""The table on the screen and ``bench/results/<name>.json``."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from bench.measure import Line

RESULTS: Final = Path(__file__).parent / "results"
_PACKAGES: Final = ("pyspark", "pyarrow", "msgspec", "protobuf", "confluent-kafka")


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark's result: throughput ``lines``, their ``ratios``, and other ``figures`` by name."""

    name: str
    arguments: dict[str, int | str]
    lines: list[Line] = []
    ratios: dict[str, float] = {}
    figures: dict[str, dict[str, float]] = {}
    versions: dict[str, str] = {}
    machine: dict[str, str | float] = {}
    at: str = ""

    def write(self) -> None:
        """Adds date, versions and machine; prints and writes."""
        whole = msgspec.structs.replace(
            self,
            versions={**versions(), **self.versions},
            machine=machine(),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        RESULTS.mkdir(exist_ok=True)
        document = msgspec.to_builtins(whole)
        for line, entry in zip(self.lines, document["lines"], strict=True):
            entry["events_per_second"] = round(line.events_per_second)
            entry["median_seconds"], entry["median_cpu_seconds"] = round(line.seconds, 4), round(line.cpu_seconds, 4)
        content = msgspec.json.format(msgspec.json.encode(document), indent=2)
        (RESULTS / f"{self.name}.json").write_bytes(content + b"\n")
        self.show()

    def show(self) -> None:
        print(f"\n{self.name}")
        if self.lines:
            rows = [
                (line.name, f"{line.events_per_second / 1000:,.1f}", f"{line.bytes / line.seconds / 1e6:,.0f}",
                 f"{line.seconds:.2f}", f"{line.cpu_seconds:.2f}", f"{line.cpu_seconds / line.events * 1e6:.2f}")
                for line in self.lines
            ]  # fmt: skip
            print(table(("", "k events/s", "MB/s", "s", "CPU s", "CPU us/event"), rows))
        for name, ratio in self.ratios.items():
            print(f"  {name}: {ratio:.2f}")
        if self.figures:
            columns = list(dict.fromkeys(key for figures in self.figures.values() for key in figures))
            lines = [
                (name, *(f"{figures[key]:,.10g}" if key in figures else "" for key in columns))
                for name, figures in self.figures.items()
            ]
            print(table(("", *columns), lines))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of texts, the first to the left, the others to the right."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    return "\n".join(
        "  " + row[0].ljust(widths[0]) + "".join("  " + row[place].rjust(widths[place]) for place in range(1, len(row)))
        for row in (head, *rows)
    )


def ratios(lines: Sequence[Line], pairs: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Speed of one contender over another's, by a name for the pair; wall clock and CPU."""
    named = {line.name: line for line in lines}
    found: dict[str, float] = {}
    for title, (one, other) in pairs.items():
        if one in named and other in named:
            found[title] = round(named[other].seconds / named[one].seconds, 3)
            found[f"{title}, by CPU time"] = round(named[other].cpu_seconds / named[one].cpu_seconds, 3)
    return found


def versions() -> dict[str, str]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "java": java[0] if java else "", **found}


def machine() -> dict[str, str | float]:
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")]
    return {
        "cores": float(os.cpu_count() or 0),
        "cpu": models[0] if models else platform.machine(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_1m_at_end": os.getloadavg()[0],
        "system": platform.platform(terse=True),
    }
