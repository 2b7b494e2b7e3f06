"""What an update makes of a changefeed that has delivered something: pure."""

import pytest

from app.changefeeds.record import State
from app.changefeeds.updates import Wish, updated
from app.errors import UpdateRefused
from app.settings import Settings
from spark_jobs.cdc import tso
from tests.app.feeds import NOW, a_changefeed

PAST, FUTURE = tso.compose(NOW - 60_000), tso.compose(NOW + 60_000)
KAFKA = "kafka://one:9092/orders?protocol=canal-json"


@pytest.fixture
def settings(tmp_path):
    return Settings(**{"_env_file": None, "home": tmp_path})  # noqa: PIE804 - mypy does not know _env_file


def update(settings, feed, target_ts=0, **wish):
    given = {"source_uri": "", "sink_uri": "", "target_ts": target_ts or feed.target_ts, "config": {}}
    return updated(feed, Wish(**given | wish), settings, NOW)


def stopped(**changes):
    return a_changefeed(**{"state": State.STOPPED, "capture_id": "", "start_ts": 500, **changes})


def test_a_target_that_was_reached_may_be_raised_and_reading_goes_back_there(settings):
    feed = stopped(target_ts=PAST, checkpoint_ts=PAST, resolved_ts=PAST)
    after = update(settings, feed, FUTURE).after
    assert (after.target_ts, after.rewind_ts, after.rewind_id) == (FUTURE, PAST, 1)
    assert after.checkpoint_ts == PAST


def test_a_target_that_is_over_but_not_reached_cannot_be_raised(settings):
    with pytest.raises(UpdateRefused, match="passed over"):
        update(settings, stopped(target_ts=PAST, checkpoint_ts=PAST - 1), FUTURE)


@pytest.mark.parametrize("target_ts", [FUTURE + 1, FUTURE - 1], ids=["raised", "lowered"])
def test_a_target_that_is_still_ahead_may_move(settings, target_ts):
    after = update(settings, stopped(target_ts=FUTURE), target_ts).after
    assert (after.target_ts, after.rewind_id) == (target_ts, 0)


@pytest.mark.parametrize("target_ts", [PAST, PAST - 1])
def test_a_target_at_or_below_the_checkpoint_is_refused(settings, target_ts):
    with pytest.raises(UpdateRefused, match="must be above the checkpoint"):
        update(settings, stopped(checkpoint_ts=PAST), target_ts)


def test_a_target_that_was_reached_may_be_taken_away_and_reading_goes_back_there(settings):
    feed = stopped(target_ts=PAST, checkpoint_ts=PAST, resolved_ts=PAST)
    made = updated(feed, Wish(source_uri="", sink_uri="", target_ts=0, config={}), settings, NOW)
    assert (made.after.target_ts, made.after.rewind_ts, made.after.rewind_id) == (0, PAST, 1)


def test_a_first_target_moves_nothing(settings):
    assert update(settings, stopped(), FUTURE).after.rewind_id == 0


def test_a_new_folder_begins_anew_and_says_so(settings):
    made = update(settings, stopped(), sink_uri="file:///elsewhere?protocol=canal-json")
    assert made.moved_to is not None
    assert (made.after.checkpoint_ts, made.after.resolved_ts) == (500, 500)


def test_the_same_folder_goes_on_and_keeps_its_protocol(settings):
    assert update(settings, stopped(), sink_uri="file:///out?protocol=csv&flush-interval=1s").moved_to is None
    with pytest.raises(UpdateRefused, match=r"holds csv; give a folder of its own to canal-json"):
        update(settings, stopped(), sink_uri="file:///out?protocol=canal-json")


def test_the_same_source_may_be_read_in_another_way(settings):
    other_way = "kafka://two:9092/orders?protocol=canal-json&bad-message=dead-letter&on-lost-position=earliest"
    made = update(settings, stopped(source_uri=KAFKA), source_uri=other_way)
    assert made.after.source_uri == other_way
    assert made.source is not None


def test_a_source_that_is_not_mentioned_is_not_looked_at(settings):
    assert update(settings, stopped(source_uri=KAFKA), source_uri=KAFKA).source is None


@pytest.mark.parametrize(
    "uri",
    [
        KAFKA.replace("/orders", "/other"),
        KAFKA.replace("orders?", "?topic-pattern=orders&"),
        "file:///in?protocol=canal-json",
    ],
    ids=["another topic", "a pattern", "a folder"],
)
def test_another_source_is_refused(settings, uri):
    with pytest.raises(UpdateRefused, match="another source"):
        update(settings, stopped(source_uri=KAFKA), source_uri=uri)
