"""``python -m bench.markdown``: puts the tables of ``bench/results/*.json`` into ``docs/performance.md``.

Each table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.report import RESULTS, Report

PAGE: Final = Path(__file__).parent.parent / "docs" / "performance.md"


def main() -> None:
    text = PAGE.read_text()
    for path in sorted(RESULTS.glob("*.json")):
        report = msgspec.json.decode(path.read_bytes(), type=Report)
        before, _, rest = text.partition(f"<!-- {report.name} -->")
        _, _, after = rest.partition(f"<!-- /{report.name} -->")
        text = f"{before}<!-- {report.name} -->\n{_markdown(report)}\n<!-- /{report.name} -->{after}"
    PAGE.write_text(text)


def _markdown(report: Report) -> str:
    """Where and when, the table, the ratios."""
    machine, arguments = report.machine, report.arguments
    where = f"{machine['cores']:.0f} cores ({machine['cpu']}), {machine['memory_gib']} GiB"
    asked = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in arguments.items()
    )
    parts = [f"*{report.at[:10]}, {where}; {asked}; load of the machine at the end {machine['load_1m_at_end']:.1f}.*"]
    if report.lines:
        head = ("", "k events/s", "MB/s", "seconds", "CPU seconds", "CPU µs/event")
        rows = [
            (line.name, f"{line.events_per_second / 1000:,.1f}", f"{line.bytes / line.seconds / 1e6:,.0f}",
             f"{line.seconds:.2f}", f"{line.cpu_seconds:.2f}", f"{line.cpu_seconds / line.events * 1e6:.2f}")
            for line in report.lines
        ]  # fmt: skip
        parts.append(_table(head, rows))
    if report.ratios:
        parts.append(_table(("", "ratio"), [(name, f"{ratio:.2f}") for name, ratio in report.ratios.items()]))
    if report.figures:
        columns = list(dict.fromkeys(key for figures in report.figures.values() for key in figures))
        parts.append(
            _table(
                ("", *columns),
                [
                    (name, *(f"{figures[key]:,.10g}" if key in figures else "" for key in columns))
                    for name, figures in report.figures.items()
                ],
            )
        )
    return "\n\n".join(parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    rule = "|" + "|".join("---" if not place else "--:" for place in range(len(head))) + "|"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    main()
