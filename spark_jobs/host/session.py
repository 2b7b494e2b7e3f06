"""The Spark session of a capture: one application for all its changefeeds."""

import contextlib
import glob
import os
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_jobs.cdc.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT: Final = Path(__file__).resolve().parents[2]
JARS: Final = PROJECT / "jars" / "spark"
_JVM_LOOK_SECONDS: Final = 1.0
_CHECKPOINT_FILES: Final = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_LOCAL_FILES: Final = "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem"
"""Hadoop's own classes start a process for each rename on a local disk (readlink) and for each new file (chmod), and
write a checksum beside each, several a batch: with many changefeeds on one capture that was most of its work. Spark's
checkpoint is scratch here, so its stricter renames are not needed."""
_OURS: Final = {
    "spark.app.name": "weir",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "3",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.cleaner.periodicGC.interval": "10min",
    "spark.rpc.askTimeout": "60s",
}
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def start(master: str, conf_file: str, work_folder: str) -> "SparkSession":
    """Starts (or joins) Spark. ``conf_file``: the operator's properties, which win over ours, "" for none.

    ``work_folder``: a local folder for what is made at start (our code as a zip, Spark's warehouse).
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    settings = {
        **_OURS,
        **(_LOCAL if _is_here(master) else {}),
        "spark.sql.warehouse.dir": f"{work_folder}/warehouse",
        **_jars(),
        **_properties(conf_file),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    workers = session.sparkContext.defaultParallelism
    session.conf.set("spark.sql.shuffle.partitions", str(max(workers, 2)))
    if not master.startswith("local"):
        session.sparkContext.addPyFile(_zipped(work_folder))
    return session


def _jars() -> dict[str, str]:
    """Settings for the archives in ``JARS``; none without them. The file system is asked for before ``spark.jars``
    count, so its archive stands on the driver's class path as well."""
    jars = sorted(glob.glob(str(JARS / "*.jar")))
    local_files = [jar for jar in jars if os.path.basename(jar).startswith("hadoop-bare-naked-local-fs-")]
    settings = {"spark.jars": ",".join(jars)} if jars else {}
    if local_files:
        settings |= {"spark.driver.extraClassPath": local_files[0], "spark.hadoop.fs.file.impl": _LOCAL_FILES}
    return settings


def _is_here(master: str) -> bool:
    return master.startswith("local") or "://127.0.0.1" in master or "://localhost" in master


def _properties(path: str) -> dict[str, str]:
    if not path:
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.replace("=", " ", 1).partition(" ")
            if not value.strip():
                raise ConfigError(f"WEIR_SPARK_CONF: {path}, line {number}: {line!r} is not NAME VALUE")
            found[name] = value.strip()
    return found


def _zipped(folder: str) -> str:
    """Our own code for the executors."""
    target = Path(folder) / "weir_code.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((PROJECT / "spark_jobs").rglob("*.py")):
            archive.write(path, path.relative_to(PROJECT))
    return str(target)


def wait_for_end(session: "SparkSession") -> None:
    """Returns when the JVM has ended, for whatever reason."""
    from py4j.protocol import Py4JError

    context = session.sparkContext
    process = getattr(context._gateway, "proc", None)
    if process is not None:
        process.wait()
        return
    with contextlib.suppress(Py4JError, OSError):  # started by spark-submit: the JVM is our parent
        while context._jvm is not None:
            context._jvm.System.nanoTime()
            time.sleep(_JVM_LOOK_SECONDS)


def has_kafka() -> bool:
    """Whether the jars of Spark's Kafka connector are here."""
    return any(JARS.glob("spark-sql-kafka-*.jar"))
