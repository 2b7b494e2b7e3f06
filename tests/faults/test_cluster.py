"""The whole way on a Spark standalone cluster: create, deliver, kill the capture, another takes over."""

import signal

from tests.rig.cluster import standalone, worked
from tests.rig.rig import rig
from tests.rig.waiting import wait_for

_ONE_CORE_EACH = """\
spark.cores.max 1
spark.executor.cores 1
spark.executor.memory 512m
"""


def test_a_killed_capture_on_a_standalone_cluster_is_replaced_and_executors_do_the_work(tmp_path):
    conf = tmp_path / "spark.properties"
    conf.write_text(_ONE_CORE_EACH)
    with (
        standalone(tmp_path, cores=2) as master,
        rig(tmp_path, captures=2, spark_master=master, spark_conf=conf) as running,
    ):
        running.refill(2)
        feed = running.add_folder_feed("files", "canal-json", seed=41, steps_before=12_000)
        capture, epoch = running.wait_for_host(feed), feed.epoch()
        wait_for(lambda: worked(tmp_path), "an executor to do its work")
        capture.group.signal_all(signal.SIGKILL)
        feed.wait_for_commit(epoch)
        running.drop(capture)
        feed.pump.write_at_once(12_000)
        assert feed.judge().problems == []
        assert len(worked(tmp_path)) == 2
