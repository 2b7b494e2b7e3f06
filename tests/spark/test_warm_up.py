import threading

from spark_jobs.host.warm_up import warm_up


def test_one_micro_batch_runs_and_no_query_stays(session, tmp_path):
    assert warm_up(session, str(tmp_path), threading.Event())
    assert session.streams.active == []


def test_a_capture_that_ends_meanwhile_does_not_wait_for_it(session, tmp_path):
    over = threading.Event()
    over.set()
    assert not warm_up(session, str(tmp_path), over)
    assert session.streams.active == []
