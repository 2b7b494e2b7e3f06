"""A capture that was launched by a parent ends with it, and takes its JVM along."""

import pytest

from tests.rig.rig import rig
from tests.rig.waiting import wait_for


@pytest.mark.parametrize("when", ["while it delivers", "while it starts"])
def test_a_capture_ends_with_its_parent_and_takes_its_jvm_along(tmp_path, when):
    with rig(tmp_path, captures=0) as running:
        capture = running.start_capture(detached=False)
        if when == "while it delivers":
            running.wait_for_host(running.add_folder_feed("files", "canal-json", seed=2))
        else:
            wait_for(lambda: any("java" in command for command in capture.group.members().values()), "the JVM")
        running.plane.kill()
        capture.group.close_stdin()
        capture.group.wait_until_gone()
