"""Migrations both ways, and what several replicas may do to one database."""

import subprocess
import sys
import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import inspect

from app.changefeeds.record import RunningError
from app.changefeeds.reports import KEPT_LINES, LONGEST_LINE, ReportRepository
from app.changefeeds.repository import ChangefeedRepository
from app.database import Database
from app.errors import Conflict
from app.history.repository import Entry, HistoryRepository
from app.owner.lease import LEASE_MS, LeaseRepository
from app.sealing import Seal
from app.settings import SettingsError
from app.tables import changefeeds, metadata
from spark_jobs.wire import LogLine, TableProgress
from tests.app.conftest import SECRET_KEY
from tests.app.feeds import NOW, a_changefeed


def test_the_migrations_make_exactly_the_tables_of_the_code(database):
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    assert database.at_head()


def test_the_migrations_leave_nothing_behind_on_the_way_down(database):
    database.migrate("base")
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    assert not database.at_head()
    database.migrate()
    assert database.at_head()


def test_migrating_again_changes_nothing(database):
    with database.write() as connection:
        ChangefeedRepository(connection, Seal(SECRET_KEY)).add(a_changefeed(uid=0))
    database.migrate()
    with database.read() as connection:
        assert len(ChangefeedRepository(connection, Seal(SECRET_KEY)).all()) == 1


def test_replicas_that_start_together_migrate_one_after_the_other(database_url):
    program = f"from app.database import Database; Database({database_url!r}).migrate()"
    replicas = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _ in range(3)]
    said = [replica.communicate()[1].decode() for replica in replicas]
    assert [replica.returncode for replica in replicas] == [0, 0, 0], said
    database = Database(database_url)
    assert database.at_head()
    database.close()


@pytest.fixture
def stored(database):
    with database.write() as connection:
        return ChangefeedRepository(connection, Seal(SECRET_KEY)).add(a_changefeed(uid=0))


def test_a_changefeed_comes_back_as_it_was_stored(database):
    error = RunningError(time_ms=NOW, addr="h:1", code="CDC:ErrX", message="naïve “text”")
    feed = a_changefeed(uid=0, error=error, checkpoint_ts=(1 << 63) - 1, source_position='{"a":{"0":1}}')
    with database.write() as connection:
        feeds = ChangefeedRepository(connection, Seal(SECRET_KEY))
        stored = feeds.add(feed)
        assert feeds.by_uid(stored.uid) == stored
        assert feeds.by_name("default", "orders") == stored
        assert feeds.of_capture("c1", lock=True) == [stored]


def test_a_summary_is_the_same_without_what_is_sealed(database, stored):
    with database.read() as connection:
        feeds = ChangefeedRepository(connection, Seal(SECRET_KEY))
        (summary,) = feeds.summaries("default")
        assert summary == replace(feeds.all()[0], source_uri="", sink_uri="", replica_config="")
        assert feeds.summaries("other") == []


def test_a_name_is_compared_letter_by_letter(database, stored):
    with database.read() as connection:
        assert ChangefeedRepository(connection, Seal(SECRET_KEY)).by_name("default", "Orders") is None


def test_a_uid_is_never_used_twice(database, stored):
    with database.write() as connection:
        feeds = ChangefeedRepository(connection, Seal(SECRET_KEY))
        feeds.delete(stored)
        assert feeds.add(a_changefeed(uid=0)).uid > stored.uid


def test_what_was_changed_in_between_is_not_overwritten(database, stored):
    seal = Seal(SECRET_KEY)
    with database.write() as connection:
        ChangefeedRepository(connection, seal).save(stored, a_changefeed(uid=stored.uid, epoch=8))
    with pytest.raises(Conflict), database.write() as connection:
        ChangefeedRepository(connection, seal).save(stored, a_changefeed(uid=stored.uid, epoch=9))
    with database.read() as connection:
        kept = ChangefeedRepository(connection, seal).by_uid(stored.uid)
    assert kept is not None
    assert kept.epoch == 8


def test_uris_and_configuration_are_sealed_at_rest(database, stored):
    with database.read() as connection:
        row = connection.execute(changefeeds.select()).one()
    for column in ("source_uri", "sink_uri", "replica_config"):
        assert getattr(stored, column) not in getattr(row, column)
        assert Seal(SECRET_KEY).open(getattr(row, column)) == getattr(stored, column)


def test_a_second_key_opens_what_the_first_sealed(database, stored):
    with database.read() as connection:
        changed = Seal(f"the new key of the tests,{SECRET_KEY}")
        assert ChangefeedRepository(connection, changed).by_uid(stored.uid) == stored


def test_another_key_is_noticed_at_the_start(database):
    with database.write() as connection:
        Seal(SECRET_KEY).prove(connection)
    with database.write() as connection:
        Seal(SECRET_KEY).prove(connection)
    with pytest.raises(SettingsError, match="another key"), database.write() as connection:
        Seal("quite another key for the tests").prove(connection)


def test_only_the_last_log_lines_are_kept(database, stored):
    with database.write() as connection:
        reports = ReportRepository(connection)
        for first in range(0, KEPT_LINES + 40, 20):
            reports.add_lines(stored.uid, [LogLine(text=f"line {number}") for number in range(first, first + 20)])
        lines = [line.line.text for line in reports.lines(stored.uid, KEPT_LINES * 2)]
    assert (len(lines), lines[0], lines[-1]) == (KEPT_LINES, "line 40", f"line {KEPT_LINES + 39}")


def test_the_progress_of_tables_is_replaced_as_a_whole(database, stored):
    def table(name):
        return TableProgress(schema="s", table=name, version=1, rows=2, bytes=3, last_commit_ts=4)

    with database.write() as connection:
        feeds = ChangefeedRepository(connection, Seal(SECRET_KEY))
        assert feeds.tables(stored.uid) == []
        feeds.save_tables(stored.uid, [table("a"), table("b")])
        feeds.save_tables(stored.uid, [table("c")])
        assert feeds.tables(stored.uid) == [table("c")]


def test_a_log_line_may_hold_any_character_and_has_a_length(database, stored):
    with database.write() as connection:
        reports = ReportRepository(connection)
        reports.add_lines(stored.uid, [LogLine(text="a\0b → 😀"), LogLine(text="x" * (LONGEST_LINE + 1))])
        assert [line.line.text for line in reports.lines(stored.uid, 2)] == ["a\\0b → 😀", "x" * LONGEST_LINE]


def test_every_text_may_hold_any_character(database, stored):
    entry = Entry(time_ms=NOW, who="ädä 😀", what="x", from_state="", to_state="", detail="a → 😀")
    with database.write() as connection:
        HistoryRepository(connection).add(stored, entry)
        assert HistoryRepository(connection).of("default", "orders", 1) == [entry]


def test_definitions_are_written_one_after_the_other(database):
    inside, most = [], []

    def write(number):
        with database.write_definitions():
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_history_keeps_its_order_and_its_last_lines(database, stored):
    with database.write() as connection:
        history = HistoryRepository(connection)
        assert history.is_empty()
        for number in range(5):
            history.add(stored, Entry(time_ms=number, who="w" * 300, what="x", from_state="", to_state=""))
        assert [entry.time_ms for entry in history.of("default", "orders", 3)] == [2, 3, 4]


def acquire(database, holder, now_ms):
    with database.write() as connection:
        return LeaseRepository(connection).acquire(holder, "127.0.0.1:8300", now_ms)


def test_the_owner_lease_has_one_holder_until_it_ends(database):
    assert acquire(database, "a", NOW)
    assert not acquire(database, "b", NOW + LEASE_MS - 1)
    assert acquire(database, "a", NOW + 1000)
    assert not acquire(database, "b", NOW + LEASE_MS + 999)
    assert acquire(database, "b", NOW + LEASE_MS + 1000)
    assert not acquire(database, "a", NOW + LEASE_MS + 1001)
    with database.read() as connection:
        lease = LeaseRepository(connection).current()
    assert lease is not None
    assert (lease.holder, lease.term, lease.since_ms) == ("b", 2, NOW + LEASE_MS + 1000)


def test_a_lease_of_a_clock_that_was_set_back_is_free(database):
    assert acquire(database, "a", NOW + 3_600_000)
    with database.read() as connection:
        lease = LeaseRepository(connection).current()
    assert lease is not None
    assert lease.is_held(NOW + 3_600_000)
    assert not lease.is_held(NOW)
    assert acquire(database, "b", NOW)


def test_a_lease_that_was_given_up_is_free_at_once(database):
    assert acquire(database, "a", NOW)
    with database.write() as connection:
        LeaseRepository(connection).resign("a")
    assert acquire(database, "b", NOW + 1)


def test_of_many_that_reach_for_the_lease_one_gets_it(database):
    got = []
    barrier = threading.Barrier(8)

    def reach(holder):
        barrier.wait()
        if acquire(database, holder, NOW):
            got.append(holder)

    threads = [threading.Thread(target=reach, args=(f"replica-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
