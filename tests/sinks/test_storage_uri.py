"""Storage sink URIs, and what a folder must be like."""

import os
import pickle

import pytest

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sinks import parse_sink
from tests.pipeline.messages import insert, ts
from tests.sinks.storage_scene import Scene


def sink(path, options="", protocol="canal-json"):
    return parse_sink(f"file://{path}?protocol={protocol}{options}")


@pytest.mark.parametrize(
    ("given", "means"),
    [("", ""), ("&adopt=", ""), ("&adopt=continue", "continue"), ("&adopt=RESTART", "restart")],
)
def test_adopt_is_a_choice(tmp_path, given, means):
    assert sink(tmp_path, given).adopt == means


@pytest.mark.parametrize("value", ["true", "false", "1", "yes"])
def test_adopt_as_a_yes_or_no_is_refused_with_both_names(tmp_path, value):
    with pytest.raises(ConfigError, match=rf"'{value}' is neither continue .* nor restart"):
        sink(tmp_path, f"&adopt={value}")


def test_a_folder_with_data_is_refused_unless_it_is_adopted(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ConfigError, match=r"data of unknown origin \(a\).*adopt=continue.*adopt=restart") as refused:
        sink(tmp_path).check()
    assert refused.value.code == "CDC:ErrSinkFolderNotEmpty"
    sink(tmp_path, "&adopt=restart").check()


def test_a_folder_with_the_output_of_a_changefeed_is_refused_with_its_name(tmp_path):
    scene = Scene(tmp_path, feed="mine")
    scene.deliver(insert("orders", 1, ts(1)))
    with pytest.raises(ConfigError, match=r"the output of a changefeed \(mine\)"):
        sink(scene.root).check("other")
    sink(scene.root, "&adopt=continue").check("mine")


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_a_home_on_another_file_system_is_refused(tmp_path):
    (tmp_path / "_weir").symlink_to("/dev/shm")
    if os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("needs a second file system")
    with pytest.raises(ConfigError, match="on another file system"):
        sink(tmp_path, "&adopt=restart").check("feed")


def test_the_home_is_beside_the_data_and_a_spec_can_be_pickled(tmp_path):
    spec = sink(tmp_path)
    assert spec.home("feed", "/elsewhere") == f"{tmp_path}/_weir/feed"
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_only_csv_is_written_with_what_ddl_alone_tells(tmp_path):
    assert sink(tmp_path, protocol="csv").needs_definitions
    assert not sink(tmp_path).needs_definitions
