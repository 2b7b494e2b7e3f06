"""``python -m bench [NAME…]``: prints tables, writes ``bench/results/<name>.json``.

Ratios hold between contenders of one run, which go by turns; absolute figures hold for the machine named in the result.
"""

import argparse
import logging
from collections.abc import Callable
from typing import Final

import structlog

from bench import api, codecs, live, stages, takeover, throughput

BENCHMARKS: Final[dict[str, Callable[[argparse.Namespace], None]]] = {
    "codecs": codecs.codecs,
    "stages": stages.stages,
    "files": throughput.files,
    "kafka": throughput.kafka,
    "freshness": live.freshness,
    "footprint": live.footprint,
    "takeover": takeover.takeover,
    "api": api.api,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="Weir's benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS) + " (default: all)")
    parser.add_argument("--events", type=int, default=2_000_000, help="events of the throughput benchmarks")
    parser.add_argument("--codec-events", type=int, default=200_000, help="events of the codec benchmark")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count, after those to warm up")
    parser.add_argument("--seconds", type=float, default=30, help="how long freshness and footprint look")
    parser.add_argument("--typed", action="store_true", help="Flink with typed columns too, not only with texts")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for name in options.names or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name].__doc__}", flush=True)
        BENCHMARKS[name](options)


if __name__ == "__main__":
    main()
