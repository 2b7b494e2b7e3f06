"""What a removed changefeed leaves in its sink holds nothing back."""

from tests.app.calls import create
from tests.rig.waiting import wait_for


def test_a_removed_changefeed_is_marked_as_ended_in_its_folder_by_the_request_that_removes_it(api, order, tmp_path):
    home = home_of(paused(api, order, tmp_path), tmp_path)
    assert api.delete(f"/api/v2/changefeeds/{home.name}").status_code == 200
    assert (home / "ended").exists()


def test_it_is_marked_by_whoever_of_the_request_and_the_owner_deletes_it_first(api, owner, order, tmp_path):
    home = home_of(paused(api, order, tmp_path), tmp_path)
    assert api.delete(f"/api/v2/changefeeds/{home.name}").status_code == 200
    wait_for((home / "ended").exists, "the mark of its end")


def paused(api, order, tmp_path):
    return create(api, order(sink_uri=f"file://{tmp_path}/out?protocol=canal-json", paused=True))


def home_of(changefeed, tmp_path):
    home = tmp_path / "out" / "_weir" / changefeed["id"]
    home.mkdir(parents=True)
    return home
