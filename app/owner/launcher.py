"""The captures that the owner launches itself (``WEIR_CAPTURES``), and the demo's generator."""

import os
import sys
import threading
from collections.abc import Mapping
from typing import Final

from app.owner.processes import Child
from app.settings import Settings

# What a capture has no need to know.
_KEPT_BACK: Final = frozenset(
    {"WEIR_SECRET_KEY", "WEIR_DATABASE_URL", "WEIR_ADMIN_TOKEN", "WEIR_DEFAULT_SOURCE_URI", "WEIR_TLS_KEY"}
)


def capture_environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of a capture: ours, the settings that concern it, and this very Python for its workers."""
    kept = {name: value for name, value in inherited.items() if name.upper() not in _KEPT_BACK}
    given = {
        "WEIR_HOME": str(settings.home),
        "WEIR_SPARK_MASTER": settings.spark_master,
        "WEIR_SPARK_CONF": settings.spark_conf,
        "WEIR_CHECKPOINT_ROOT": settings.checkpoint_root,
        "WEIR_CAPTURE_TOKEN": settings.capture_token,
        "WEIR_TIME_ZONE": settings.time_zone,
        "WEIR_FILE_ROOTS": os.pathsep.join(settings.permitted_roots or ()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
    }
    return kept | {name: value for name, value in given.items() if value}


def captures_of(settings: Settings) -> list[Child]:
    """One child a capture, not yet started."""
    return [
        Child(
            f"capture-{number}",
            [sys.executable, "-m", "spark_jobs.capture", "--server", settings.local_url],
            log_path=settings.home / "logs" / f"capture-{number}.log",
            environment=capture_environment(settings, os.environ),
        )
        for number in range(1, settings.captures + 1)
    ]


def generator_of(settings: Settings) -> Child:
    """The demo's generator, not yet started."""
    return Child(
        "demo-generator",
        [sys.executable, "-m", "app.demo_generator", str(settings.home / "demo")],
        log_path=settings.home / "logs" / "demo-generator.log",
        environment={name: value for name, value in os.environ.items() if name.upper() not in _KEPT_BACK},
        drain_seconds=5.0,
    )


def stop_all(children: list[Child], hurry: threading.Event) -> None:
    """Asks all of them first, so that they drain side by side."""
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop(hurry=hurry)
