"""Settings and checks: what is wrong is said in one sentence that names the variable and the remedy."""

import os
import socket
import stat

import pytest

from app import checks
from app.owner.launcher import capture_environment
from app.sealing import seal_of
from app.settings import Settings, SettingsError, read_settings, unknown_variables


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Sets exactly these variables."""
    for name in [name for name in os.environ if name.startswith("WEIR_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def use(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return read_settings()

    return use


def test_the_defaults_are_those_of_the_contract(environment, tmp_path):
    settings = environment()
    assert settings.home == tmp_path / "data"
    assert settings.database_url == f"sqlite:///{tmp_path}/data/weir.db"
    assert settings.checkpoint_root == f"{tmp_path}/data/checkpoints"
    assert (settings.listen, settings.spark_master, settings.captures) == ("127.0.0.1:8300", "local[*]", 1)
    assert (settings.time_zone, settings.wants_demo, settings.permitted_roots) == ("UTC", True, None)


def test_a_dot_env_file_is_read_and_the_environment_wins(environment, tmp_path):
    (tmp_path / ".env").write_text("WEIR_CAPTURES=3\nWEIR_TIME_ZONE=Asia/Shanghai\n")
    settings = environment(WEIR_CAPTURES="2")
    assert (settings.captures, settings.time_zone) == (2, "Asia/Shanghai")


def test_an_empty_variable_is_an_absent_one(environment):
    assert environment(WEIR_CAPTURES="", WEIR_DEMO="").captures == 1


WRONG = {
    "WEIR_LISTEN": ("8300x", "host:port"),
    "WEIR_TIME_ZONE": ("Mars/Base", "time zone"),
    "WEIR_CAPTURES": ("-1", "greater"),
    "WEIR_DATABASE_URL": ("oracle://x", "not supported"),
    "WEIR_SPARK_CONF": ("/no/such/file", "no file"),
    "WEIR_ADMIN_TOKEN": ("x", "at least 16"),
    "WEIR_DEMO": ("maybe", "boolean"),
    "WEIR_TLS_CERT": ("x", "not available yet"),
    "WEIR_TLS_KEY": ("x", "not available yet"),
    "WEIR_TLS_CLIENT_CA": ("x", "not available yet"),
}


@pytest.mark.parametrize("port", ["0", "65536", "²", "1" * 5000, ""])
def test_a_port_that_is_none_is_refused(environment, port):
    with pytest.raises(SettingsError, match="host:port"):
        environment(WEIR_LISTEN=f"127.0.0.1:{port}")


@pytest.mark.parametrize(("name", "value", "word"), [(name, *case) for name, case in WRONG.items()], ids=WRONG.keys())
def test_a_wrong_setting_is_one_sentence_with_its_name(environment, name, value, word):
    with pytest.raises(SettingsError) as caught:
        environment(**{name: value})
    text = str(caught.value)
    assert word in text
    assert "\n" not in text
    assert text.startswith(f"{name}: ")


URLS = {
    "postgresql://u:p%40@h/weir": "postgresql+psycopg://u:p%40@h/weir",
    "mysql://u:p@h/weir": "mysql+pymysql://u:p@h/weir",
    "mariadb://u:p@h/weir": "mysql+pymysql://u:p@h/weir",
    "sqlite:////x/weir.db": "sqlite:////x/weir.db",
}


@pytest.mark.parametrize(("given", "used"), URLS.items())
def test_a_database_url_names_the_driver_that_is_installed(environment, given, used):
    assert environment(WEIR_DATABASE_URL=given).database_url == used


def test_without_sqlite_there_is_no_demo_and_a_key_is_needed(environment):
    settings = environment(WEIR_DATABASE_URL="postgresql://h/weir")
    assert not settings.wants_demo
    with pytest.raises(SettingsError, match="WEIR_SECRET_KEY"):
        seal_of(settings)


TOKEN = "a token that only tests use"


@pytest.mark.parametrize("listen", ["0.0.0.0:81", "[::]:81", "weir.example:81", "192.168.0.1:81"])
def test_an_address_that_others_reach_needs_the_admin_token(environment, listen):
    with pytest.raises(SettingsError) as caught:
        environment(WEIR_LISTEN=listen)
    assert str(caught.value).startswith("WEIR_LISTEN: ")
    assert "set WEIR_ADMIN_TOKEN" in str(caught.value)


@pytest.mark.parametrize("listen", ["8397", ":8397", "[]:8397"])
def test_an_address_without_a_host_is_refused(environment, listen):
    with pytest.raises(SettingsError, match=r"WEIR_LISTEN: .* has no host.* 127\.0\.0\.1:8397"):
        environment(WEIR_LISTEN=listen)


MISSPELT = {
    "WEIR_LISTN": "WEIR_LISTEN",
    "WEIR_CAPTURE": "WEIR_CAPTURES",
    "WEIR_DATABASE": "WEIR_DATABASE_URL",
    "WEIR_ADMINTOKEN": "WEIR_ADMIN_TOKEN",
    "weir_timezone": "WEIR_TIME_ZONE",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_misspelt_variable_is_told_with_the_nearest_name(environment, tmp_path, name, meant):
    with pytest.raises(SettingsError, match=f"{name}: there is no such setting; did you mean {meant}?"):
        environment(**{name: "x"})


def test_a_misspelt_variable_in_dot_env_is_told_too(environment, tmp_path):
    (tmp_path / ".env").write_text("# WEIR_LISTENN=1\nexport WEIR_CAPTURS=3\n")
    with pytest.raises(SettingsError, match=r"WEIR_CAPTURS: .*WEIR_CAPTURES"):
        environment()


def test_what_kubernetes_says_of_a_service_named_weir_does_no_harm(environment):
    environment(WEIR_SERVICE_HOST="10.0.0.1", WEIR_PORT="tcp://10.0.0.1:8300", WEIR_PORT_8300_TCP_ADDR="10.0.0.1")
    assert unknown_variables() == []


def test_a_variable_that_is_near_none_is_listed(environment):
    environment(WEIR_QUUX="1")
    assert unknown_variables() == ["WEIR_QUUX"]


ADDRESSES = {
    "127.0.0.1:8300": ("http://127.0.0.1:8300", True),
    "0.0.0.0:81": ("http://127.0.0.1:81", False),
    "[::]:81": ("http://[::1]:81", False),
    "[::1]:81": ("http://[::1]:81", True),
    "localhost:81": ("http://localhost:81", True),
    "weir.example:81": ("http://weir.example:81", False),
}


@pytest.mark.parametrize(("listen", "url", "open_roots"), [(a, *case) for a, case in ADDRESSES.items()])
def test_only_a_loopback_address_opens_every_folder(environment, tmp_path, listen, url, open_roots):
    settings = environment(WEIR_LISTEN=listen, WEIR_ADMIN_TOKEN=TOKEN)
    assert settings.local_url == url
    assert settings.permitted_roots == (None if open_roots else (f"{tmp_path}/data",))


def test_captures_need_a_token_as_soon_as_the_api_does(environment):
    assert environment().capture_token == ""
    assert len(environment(WEIR_LISTEN="0.0.0.0:81", WEIR_ADMIN_TOKEN=TOKEN).capture_token) > 30
    assert environment(WEIR_CAPTURE_TOKEN="mine").capture_token == "mine"


def test_a_default_source_is_checked_at_the_start(environment):
    checks.check_default_source(environment())
    checks.check_default_source(environment(WEIR_DEFAULT_SOURCE_URI="file:///in?protocol=canal-json"))
    with pytest.raises(SettingsError, match="WEIR_DEFAULT_SOURCE_URI: source_uri: unknown scheme"):
        checks.check_default_source(environment(WEIR_DEFAULT_SOURCE_URI="gopher://x"))


def test_folders_may_be_named(environment):
    assert environment(WEIR_FILE_ROOTS="/a:/b").permitted_roots == ("/a", "/b")


def test_the_embedded_key_is_made_once_for_the_owner_alone(environment):
    settings = environment()
    sealed = seal_of(settings).close("text")
    assert seal_of(settings).open(sealed) == "text"
    assert stat.S_IMODE((settings.home / "secret.key").stat().st_mode) == 0o600


def test_a_short_key_is_refused(environment):
    with pytest.raises(SettingsError, match="16"):
        seal_of(environment(WEIR_SECRET_KEY="short"))


def test_a_capture_gets_the_settings_that_concern_it_and_no_other_secret(environment, tmp_path):
    settings = environment(
        WEIR_SECRET_KEY="k" * 20, WEIR_CAPTURE_TOKEN="t", WEIR_DEFAULT_SOURCE_URI="x", WEIR_FILE_ROOTS="/a:/b"
    )
    given = capture_environment(settings, os.environ)
    assert "k" * 20 not in given.values()
    assert "WEIR_DEFAULT_SOURCE_URI" not in given
    assert (given["WEIR_CAPTURE_TOKEN"], given["WEIR_FILE_ROOTS"]) == ("t", "/a:/b")
    assert (given["WEIR_HOME"], given["WEIR_TIME_ZONE"]) == (f"{tmp_path}/data", "UTC")
    assert given["PATH"] == os.environ["PATH"]


def test_a_taken_port_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=r"Address already in use.*WEIR_LISTEN"):
            checks.listen(Settings(listen=listen))


def test_replies_are_sent_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    with checks.listen(Settings(listen=listen)) as bound:
        assert bound.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY for nothing else"


def fake_java(folder, text):
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)
    return str(folder)


JAVA = {
    'openjdk version "1.8.0_292"': "Java 8 is too old",
    'openjdk version "11.0.2" 2019': "Java 11 is too old",
    "nonsense": "does not say its version",
    'openjdk version "17.0.15" 2025': "",
    'openjdk version "21" 2023': "",
}


@pytest.mark.parametrize(("text", "complaint"), JAVA.items())
def test_java_is_checked_before_anything_starts(environment, monkeypatch, tmp_path, text, complaint):
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path / "jdk", text))
    settings = environment()
    if not complaint:
        checks.check_java(settings)
        return
    with pytest.raises(SettingsError, match=complaint):
        checks.check_java(settings)


def test_java_is_missed_only_where_captures_are_launched(environment, monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="Java is missing"):
        checks.check_java(environment())
    checks.check_java(environment(WEIR_CAPTURES="0"))
