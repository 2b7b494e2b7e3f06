"""What a removed changefeed leaves in its sink holds nothing back."""

from tests.app.calls import create
from tests.rig.waiting import wait_for


def test_a_removed_changefeed_is_marked_as_ended_in_its_folder(api, owner, order, tmp_path):
    out = tmp_path / "out"
    changefeed = create(api, order(sink_uri=f"file://{out}?protocol=canal-json", paused=True))
    home = out / "_weir" / changefeed["id"]
    home.mkdir(parents=True)
    assert api.delete(f"/api/v2/changefeeds/{changefeed['id']}").status_code == 200
    wait_for(lambda: list(home.iterdir()), "the mark of its end")
    assert [path.name for path in home.iterdir()] == ["ended"]
