"""The registry of codecs: names to import paths, loaded when they are asked for, others added."""

import subprocess
import sys

import pytest

from spark_jobs import plugins
from spark_jobs.cdc import codecs
from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs import CODECS, codec
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.registry import Registry


@pytest.fixture
def registry(monkeypatch):
    """The registry of this test alone."""
    own: Registry[Codec] = Registry("protocol", codecs._PATHS, codecs._is_codec)
    monkeypatch.setattr(codecs, "CODECS", own)
    monkeypatch.setitem(plugins._GROUPS, "weir.codecs", own)
    return own


def test_every_name_is_that_of_its_codec():
    assert {name: found.name for name, found in CODECS.items()} == {name: name for name in CODECS}
    assert codec("Canal-JSON") is CODECS["canal-json"]
    assert "nonsense" not in CODECS


def test_a_codec_is_imported_when_it_is_asked_for():
    code = (
        "import sys\n"
        "from spark_jobs.cdc.codecs import CODECS\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "assert 'spark_jobs.cdc.codecs.canal_json' not in sys.modules\n"
        "CODECS['canal-json']\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "CODECS['canal']\n"
        "assert 'google.protobuf' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_codec_can_be_added(registry):
    registry.add("sql", "spark_jobs.cdc.codecs.sql:CODEC")
    with pytest.raises(ConfigError, match="'sql' of other:CODEC is spark_jobs"):
        registry.add("sql", "other:CODEC")
    for path, reason in (
        ("spark_jobs.cdc.codecs.sql:NONE", "cannot be loaded"),
        ("no_such_package.x:CODEC", "cannot be loaded"),
        ("spark_jobs.cdc.codecs.sql:CODEC", "is not the protocol"),
    ):
        registry.add(path, path)
        with pytest.raises(ConfigError, match=reason):
            registry[path]


@pytest.mark.usefixtures("registry")
def test_installed_packages_add_theirs(tmp_path, monkeypatch):
    info = tmp_path / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[weir.codecs]\nexample = example_of_a_codec:CODEC\n")
    (tmp_path / "example_of_a_codec.py").write_text(
        "from spark_jobs.cdc.codec import Codec\nCODEC = Codec(name='example', text=True)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):
        plugins.register_installed()
    assert "example_of_a_codec" not in sys.modules
    assert codec("example").text
    assert "example" in codecs.CODECS
