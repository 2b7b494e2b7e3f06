"""``replica_config``: TiCDC's defaults, Go's way to read JSON, and what is invalid."""

import pytest
from pydantic import ValidationError

from app.errors import ApiError
from app.replica_config import ReplicaConfig, check
from app.replica_config.go import duration_ns
from spark_jobs.cdc.errors import ConfigError

# The scalars of the fact sheet's appendix A.
DEFAULTS = {
    "memory_quota": 1073741824,
    "sync_point_interval": 600000000000,
    "sync_point_retention": 86400000000000,
    "changefeed_error_stuck_duration": 1800000000000,
    "active_active_progress_interval": 1800000000000,
    "active_active_sync_stats_interval": 60000000000,
    "scheduler.region_count_refresh_interval": 300000000000,
    "scheduler.region_threshold": 10000,
    "consistent.max_log_size": 64,
    "consistent.flush_interval": 2000,
    "consistent.meta_flush_interval": 200,
    "mounter.worker_num": 16,
    "sink.encoder_concurrency": 32,
    "sink.advance_timeout_in_sec": 150,
    "sink.terminator": "\r\n",
    "sink.date_separator": "day",
    "sink.file_index_width": 6,
    "sink.csv.null": "\\N",
    "synced_status.synced_check_interval": 300,
    "synced_status.checkpoint_interval": 15,
    "filter.rules": ["*.*"],
    "case_sensitive": False,
    "check_gc_safe_point": True,
}


def dumped(config):
    return config.model_dump(mode="json", by_alias=True, exclude_none=True)


def at(tree, path):
    for part in path.split("."):
        tree = tree[part]
    return tree


@pytest.mark.parametrize(("path", "value"), DEFAULTS.items(), ids=DEFAULTS.keys())
def test_the_default_is_todays_ticdc(path, value):
    assert at(dumped(ReplicaConfig()), path) == value


READ = {
    "a duration of text": ({"sync_point_interval": "1h30m"}, "sync_point_interval", 5_400_000_000_000),
    "a duration of nanoseconds": ({"sync_point_interval": 5}, "sync_point_interval", 5),
    "a truth value of text": ({"case_sensitive": "T"}, "case_sensitive", True),
    "null is absent": ({"sink": {"csv": None, "terminator": None}}, "sink.terminator", "\r\n"),
    "an object over the defaults": ({"sink": {"csv": {"quote": "'"}}}, "sink.csv.delimiter", ","),
    "a list in their place": ({"filter": {"rules": ["a.b"]}}, "filter.rules", ["a.b"]),
    "any case of a key": ({"SINK": {"Csv": {"QUOTE": "'"}}}, "sink.csv.quote", "'"),
    "hyphens where TiCDC has them": (
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "target-schema": "x"}]}},
        "sink.dispatchers",
        [{"matcher": ["*.*"], "target-schema": "x"}],
    ),
    "hyphens of pulsar": (
        {"sink": {"pulsar_config": {"compression-type": "lz4", "oauth2": {"oauth2-scope": "s"}}}},
        "sink.pulsar_config",
        {"compression-type": "lz4", "oauth2": {"oauth2-scope": "s"}},
    ),
    "a 64-bit start-ts": (
        {"filter": {"ignore_txn_start_ts": [(1 << 64) - 1]}},
        "filter.ignore_txn_start_ts",
        [18446744073709551615],
    ),
    "a key of the older generation": ({"sink": {"advance_timeout": 7}}, "sink.advance_timeout_in_sec", 7),
    "its key with hyphens": (
        {"sink": {"send-all-bootstrap-at-start": True}},
        "sink.send_all_bootstrap_at_start",
        True,
    ),
    "the exact spelling, whatever the order": (
        {"MEMORY_QUOTA": 5, "memory_quota": 7, "Memory_Quota": 6},
        "memory_quota",
        7,
    ),
}


@pytest.mark.parametrize(("body", "path", "value"), READ.values(), ids=READ.keys())
def test_a_body_is_read_as_go_reads_it(body, path, value):
    assert at(dumped(ReplicaConfig.model_validate(body)), path) == value


NOT_READ = {
    "a truth value of 1": {"case_sensitive": 1},
    "a truth value of yes": {"case_sensitive": "yes"},
    "a number of text": {"memory_quota": "5"},
    "a negative quota": {"memory_quota": -1},
    "a number of 1.5": {"mounter": {"worker_num": 1.5}},
    "a number of true": {"mounter": {"worker_num": True}},
    "65 bits": {"memory_quota": 1 << 64},
    "a duration of nonsense": {"sync_point_interval": "1 hour"},
    "a duration in the sink": {"sink": {"cloud_storage_config": {"flush_interval": "5"}}},
    "an object for a list": {"filter": {"rules": {}}},
    "text for an object": {"sink": "x"},
    "a plain integer that takes no text": {"scheduler": {"region_count_refresh_interval": "5m"}},
}


@pytest.mark.parametrize("body", NOT_READ.values(), ids=NOT_READ.keys())
def test_what_go_would_refuse_is_refused(body):
    with pytest.raises(ValidationError):
        ReplicaConfig.model_validate(body)


def test_what_was_shown_is_read_back_as_the_same():
    config = ReplicaConfig.model_validate(
        {"sink": {"pulsar_config": {"basic-password": "p"}, "kafka_config": {"codec_config": {"max_batch_size": 3}}}}
    )
    assert ReplicaConfig.model_validate(dumped(config)) == config


INVALID = {
    "performance_mode": ({"performance_mode": "fast"}, "ErrInvalidReplicaConfig"),
    "stuck duration": ({"changefeed_error_stuck_duration": "29m59s"}, "ErrInvalidReplicaConfig"),
    "sync point into files": ({"enable_sync_point": True}, "ErrInvalidReplicaConfig"),
    "batch count": ({"event_collector_batch_count": 8193}, "ErrInvalidReplicaConfig"),
    "handle key with force": (
        {"force_replicate": True, "sink": {"delete_only_output_handle_key_columns": True}},
        "ErrInvalidReplicaConfig",
    ),
    "integrity": ({"integrity": {"integrity_check_level": "yes"}}, "ErrInvalidReplicaConfig"),
    "redo": ({"consistent": {"level": "eventual", "storage": "s3://b"}}, "ErrInvalidReplicaConfig"),
    "redo level": ({"consistent": {"level": "x"}}, "ErrInvalidReplicaConfig"),
}


@pytest.mark.parametrize(("body", "code"), INVALID.values(), ids=INVALID.keys())
def test_a_configuration_that_cannot_be_honoured_is_refused(body, code):
    with pytest.raises(ApiError) as caught:
        check(ReplicaConfig.model_validate(body), "file")
    assert (caught.value.code, caught.value.status) == (f"CDC:{code}", 400)


def test_sync_points_are_for_databases():
    check(ReplicaConfig.model_validate({"enable_sync_point": True}), "mysql")
    with pytest.raises(ApiError, match="30s"):
        check(ReplicaConfig.model_validate({"enable_sync_point": True, "sync_point_interval": "29s"}), "mysql")


REPLACED = {
    "a width too small": ({"sink": {"file_index_width": 5}}, "sink.file_index_width", 20),
    "a width too large": ({"sink": {"file_index_width": 21}}, "sink.file_index_width", 20),
    "a width within": ({"sink": {"file_index_width": 20}}, "sink.file_index_width", 20),
    "no quota": ({"memory_quota": 0}, "memory_quota", 1 << 30),
    "no rules": ({"filter": {"rules": []}}, "filter.rules", ["*.*"]),
    "no timeout": ({"sink": {"advance_timeout_in_sec": 0}}, "sink.advance_timeout_in_sec", 150),
}


@pytest.mark.parametrize(("body", "path", "value"), REPLACED.values(), ids=REPLACED.keys())
def test_ticdc_silently_replaces(body, path, value):
    assert at(dumped(check(ReplicaConfig.model_validate(body), "file")), path) == value


DURATIONS = {
    "0": 0,
    "-0": 0,
    "1ns": 1,
    "1.5us": 1500,
    "2µs": 2000,
    "1h1m1s1ms": 3_661_001_000_000,
    "-1.5h": -5_400_000_000_000,
    "+5s": 5_000_000_000,
    ".5s": 500_000_000,
    "5.s": 5_000_000_000,
    "2562047h": 9_223_369_200_000_000_000,
}


@pytest.mark.parametrize(("text", "nanoseconds"), DURATIONS.items())
def test_a_go_duration(text, nanoseconds):
    assert duration_ns(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "1d", "--5s", "5s5", "٣s", "1e3s", "2562048h", "1s" * 100])
def test_no_go_duration(text):
    with pytest.raises(ValueError, match="duration"):
        duration_ns(text)


def test_a_filter_rule_is_checked_by_the_filter_itself():
    from app.replica_config.rules import check_selection

    with pytest.raises(ConfigError) as caught:
        check_selection(ReplicaConfig.model_validate({"filter": {"rules": ["my-db.*"]}}))
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"
