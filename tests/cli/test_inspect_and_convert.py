"""``weir inspect`` and ``weir convert``: in this process, and the real command."""

import contextlib
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from spark_jobs.cdc.codecs.drainer import files as drainer_files
from tests.cli.running import BLOB_SAMPLES, WEIR, weir, weir_command

SAMPLES = [sample["message"] for sample in json.loads(BLOB_SAMPLES.read_text())]
LINES = b"".join(json.dumps(message).encode() + b"\n" for message in SAMPLES)
FROM_BLOB = ("--from", "datahub-blob")


def rows(out: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("run", [weir, weir_command], ids=["in process", "command"])
def test_inspect_shows_an_event_a_line(run):
    status, out, err = run("inspect", *FROM_BLOB, stdin=LINES)
    assert (status, err) == (0, "")
    assert [(row["message"], row["kind"]) for row in rows(out)] == [
        (1, "INSERT"),
        (2, "UPDATE"),
        (3, "UPDATE"),
        (4, "DELETE"),
        (5, "HEARTBEAT"),
        (6, "DDL"),
    ]


@pytest.mark.parametrize("run", [weir, weir_command], ids=["in process", "command"])
def test_convert_joins_halves_on_the_way(run):
    status, out, err = run("convert", *FROM_BLOB, "--to", "csv", stdin=LINES)
    assert (status, err) == (0, "")
    assert out == (
        b'"I","t_shiyu_pk","yunshi_db",1,"joe","comment"\r\n'
        b'"U","t_shiyu_pk","yunshi_db",1,"joe","com1"\r\n'
        b'"D","t_shiyu_pk","yunshi_db",1,"joe","com1"\r\n'
    )


def test_convert_relays_halves_between_formats_that_have_them():
    status, out, _ = weir("convert", *FROM_BLOB, "--to", "datahub-blob", stdin=LINES)
    assert status == 0
    assert rows(out) == SAMPLES


def test_a_half_that_stays_alone_is_a_delete_or_an_insert():
    lone = b"".join(json.dumps(SAMPLES[index]).encode() + b"\n" for index in (2, 1))
    assert weir("convert", *FROM_BLOB, "--to", "csv", stdin=lone).out == (
        b'"I","t_shiyu_pk","yunshi_db",1,"joe","com1"\r\n"D","t_shiyu_pk","yunshi_db",1,"joe","comment"\r\n'
    )


@pytest.mark.parametrize("framing", ["hex", "length", "drainer"])
@pytest.mark.parametrize("protocol", ["canal", "tidb-binlog", "canal-json", "datahub-tuple"])
def test_rows_survive_a_way_there_and_back(protocol, framing):
    there = weir("convert", *FROM_BLOB, "--to", protocol, "--to-framing", framing, stdin=LINES)
    assert there.status == 0
    back = weir("convert", "--from", protocol, "--framing", framing, "--to", "csv", stdin=there.out)
    assert (back.status, back.err) == (0, "")
    assert back.out == weir("convert", *FROM_BLOB, "--to", "csv", stdin=LINES).out


def test_a_binary_protocol_has_lengths_before_its_messages():
    out = weir("convert", *FROM_BLOB, "--to", "tidb-binlog", stdin=LINES).out
    assert int.from_bytes(out[:4], "big") < len(out)
    assert weir("inspect", "--from", "tidb-binlog", stdin=out).status == 0


def test_milliseconds_become_commit_ts_that_grow():
    same = json.dumps(SAMPLES[0]).encode() + b"\n"
    out = weir("convert", *FROM_BLOB, "--to", "csv", "--option", "include-commit-ts=true", stdin=same * 3).out
    first = 1605339932000 << 18
    assert [int(line.split(b",")[3]) for line in out.splitlines()] == [first, first + 1, first + 2]


def test_files_are_read_in_the_order_given(tmp_path):
    for name, index in (("b", 0), ("a", 3)):
        (tmp_path / name).write_text(json.dumps(SAMPLES[index]))
    status, out, _ = weir("inspect", *FROM_BLOB, tmp_path / "b", tmp_path / "a")
    assert status == 0
    assert [(row["file"], row["message"], row["kind"]) for row in rows(out)] == [
        (str(tmp_path / "b"), 1, "INSERT"),
        (str(tmp_path / "a"), 1, "DELETE"),
    ]


def test_options_reach_the_codecs():
    date = json.dumps(SAMPLES[0]).replace('"LONG"', '"DATE"').encode()
    out = weir("inspect", *FROM_BLOB, "--from-option", "time-zone=Asia/Shanghai", stdin=date).out
    assert rows(out)[0]["after"] == {"id": "1970-01-01 08:00:00.001", "name": "joe", "comment": "comment"}


def test_the_csv_header_stands_once_before_the_rows():
    out = weir("convert", *FROM_BLOB, "--to", "csv", "--option", "output-field-header=true", stdin=LINES).out
    lines = out.splitlines()
    assert lines[0] == b"ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,id,name,comment"
    assert len(lines) == 4


def test_csv_rows_with_line_breaks_are_one_message():
    rows_in = b'"I","t","d","a\r\nb"\r\n"I","t","d","c"\r\n'
    assert [row["after"] for row in rows(weir("inspect", "--from", "csv", stdin=rows_in).out)] == [
        {"c1": "a\r\nb"},
        {"c1": "c"},
    ]


def test_an_option_is_read_from_a_file(tmp_path):
    (tmp_path / "zone").write_text("Asia/Shanghai")
    date = json.dumps(SAMPLES[0]).replace('"LONG"', '"DATE"').encode()
    out = weir("inspect", *FROM_BLOB, "--from-option", f"time-zone=@{tmp_path / 'zone'}", stdin=date).out
    assert b"1970-01-01 08:00" in out


BAD = LINES.splitlines(keepends=True)[0] + b'{"payload": 1}\n' + LINES.splitlines(keepends=True)[3]


@pytest.mark.parametrize("run", [weir, weir_command], ids=["in process", "command"])
def test_a_bad_message_ends_with_its_number_place_and_reason(run):
    status, out, err = run("inspect", *FROM_BLOB, stdin=BAD)
    assert status == 1
    assert [row["kind"] for row in rows(out)] == ["INSERT"]
    place = BAD.index(b'{"payload": 1}')
    assert err.startswith(
        f"weir: message 2 at byte {place} of standard input: not a datahub-blob message: Expected `object`"
    )
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [("inspect",), ("convert", "--to", "datahub-blob")], ids=["inspect", "convert"])
def test_bad_messages_can_be_skipped_and_are_counted(command):
    status, out, err = weir(*command, *FROM_BLOB, "--skip-bad", stdin=BAD)
    assert status == 0
    assert len(rows(out)) == 2
    assert "weir: message 2 at byte" in err
    assert err.endswith("weir: skipped 1 bad of 3 messages\n")


def test_an_event_that_the_target_cannot_carry_is_a_bad_message():
    date = json.dumps(SAMPLES[0]).replace('"LONG"', '"DATE"').replace('"id": 1}', '"id": 253402300799000}').encode()
    status, out, err = weir("convert", *FROM_BLOB, "--to", "datahub-tuple", stdin=date)
    assert (status, out) == (1, b"")
    assert "weir: message 1 at byte 0 of standard input: cannot be written as datahub-tuple: column 'id'" in err


def test_what_is_passed_over_is_said():
    unknown = json.dumps(SAMPLES[0]).replace("INSERT", "MERGE").encode()
    assert weir("inspect", *FROM_BLOB, stdin=unknown) == (
        0,
        b"",
        "weir: passed over 1 messages of the unknown kind 'MERGE'\n",
    )
    junk = drainer_files.frame(bytes.fromhex("0800100a")) + b"junk"
    assert weir("inspect", "--from", "drainer", stdin=junk) == (
        0,
        b"",
        "weir: passed over 4 bytes that belong to no message\n",
    )
    assert "1 events of the kind Heartbeat" in weir("convert", *FROM_BLOB, "--to", "datahub-tuple", stdin=LINES).err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("inspect", "--from", "nope"), "unknown protocol 'nope'; known are: "),
        (("inspect", *FROM_BLOB, "--from-option", "timezone=UTC"), "did you mean 'time-zone'?"),
        (("inspect", *FROM_BLOB, "--from-option", "time-zone"), "KEY=VALUE"),
        (("inspect", *FROM_BLOB, "--from-option", "time-zone=@/nonexistent"), "cannot read /nonexistent"),
        (("inspect", "--from", "canal", "--framing", "lines"), "use hex or length"),
        (("convert", *FROM_BLOB, "--to", "canal", "--to-framing", "lines"), "use hex or length"),
        (("convert", *FROM_BLOB, "--to", "csv", "--option", "delimiter="), "delimiter"),
    ],
)
def test_wrong_usage_is_said_in_one_sentence(words, text):
    status, out, err = weir(*words)
    assert (status, out) == (2, b"")
    assert text in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_said():
    status, _, err = weir("inspect", *FROM_BLOB, "/nonexistent")
    assert (status, err) == (1, "weir: cannot read /nonexistent: No such file or directory\n")


@pytest.mark.parametrize("words", [["--help"], ["inspect", "--help"], ["convert", "--help"], ["tso", "--help"]])
def test_help_shows_an_example_and_the_protocols(words):
    status, out, _ = weir_command(*words)
    assert status == 0
    assert b"usage: weir" in out
    if words != ["--help"]:
        assert b"examples:" in out
    if words[0] in ("inspect", "convert"):
        assert b"datahub-blob" in out


def test_formats_lists_protocols_and_options():
    assert b"datahub-blob    text    read and written\n" in weir("formats").out
    assert b"--option decimal=string|double" in weir("formats", "datahub-blob").out
    assert b"--from-option time-zone=" in weir("formats", "datahub-blob").out


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path):
    (tmp_path / "many").write_bytes(LINES * 20_000)
    with subprocess.Popen(
        [*WEIR, "inspect", *FROM_BLOB, str(tmp_path / "many")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


def test_a_full_disk_is_said():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*WEIR, "inspect", *FROM_BLOB], input=LINES, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"weir: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_fault(closed, tmp_path):
    path = tmp_path / "messages.json"
    path.write_bytes(LINES)
    shell = f'"$0" inspect --from datahub-blob "$1" {closed}'
    done = subprocess.run(["sh", "-c", shell, WEIR[0], path], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_events_appear_while_the_input_is_still_open_on_a_terminal():
    ours, theirs = pty.openpty()
    with subprocess.Popen([*WEIR, "inspect", *FROM_BLOB], stdin=subprocess.PIPE, stdout=theirs) as process:
        os.close(theirs)
        assert process.stdin
        process.stdin.write(LINES.splitlines(keepends=True)[0])
        process.stdin.flush()
        assert b'"kind":"INSERT"' in os.read(ours, 4096)
        process.stdin.close()
        assert process.wait(timeout=30) == 0
    os.close(ours)


def test_progress_is_shown_on_a_terminal_only(tmp_path):
    (tmp_path / "many").write_bytes(LINES * 40_000)
    ours, theirs = pty.openpty()
    command = [*WEIR, "convert", *FROM_BLOB, "--to", "csv", str(tmp_path / "many")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        # the terminal has to be read, or the command waits for it
        with contextlib.suppress(OSError):
            while part := os.read(ours, 4096):
                shown += part
        assert b" messages, " in shown
        assert shown.endswith(b"\r\x1b[K")
        assert process.wait(timeout=30) == 0
    os.close(ours)
    assert weir_command(*command[1:]).err == ""


def peak_kib(command: list[str], stdin: Path) -> int:
    """Peak memory of a command that reads a file."""
    script = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    with stdin.open("rb") as stream:
        done = subprocess.run(
            [str(Path(WEIR[0]).with_name("python")), "-c", script, *command],
            stdin=stream,
            capture_output=True,
            check=True,
            timeout=120,
        )
    return int(done.stdout)


@pytest.mark.parametrize(
    "words", [("inspect",), ("convert", "--to", "tidb-binlog"), ("convert", "--to", "csv")], ids=lambda words: words[-1]
)
def test_memory_stays_the_same_however_long_the_input_is(words, tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(LINES * 100)
    large.write_bytes(LINES * 30_000)
    assert large.stat().st_size > 60 << 20
    command = [*WEIR, *words, *FROM_BLOB]
    assert peak_kib(command, large) - peak_kib(command, small) < 8 << 10
