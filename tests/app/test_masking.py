"""Secrets are shown as ``xxxxx``, and ``xxxxx`` that comes back means "keep"."""

import logging
import sys

import pytest

from app.errors import ApiError
from app.logs import WithoutSecrets
from app.masking import Json, kept_tree, kept_uri, masked_text, masked_tree

TEXTS = {
    "kafka://u:pw@h:1/t?sasl-password=pw&protocol=csv is gone": (
        "kafka://u:xxxxx@h:1/t?sasl-password=xxxxx&protocol=csv is gone"
    ),
    "two: mysql://a:b@h/ and 's3://x/y?secret-access-key=k'": (
        "two: mysql://a:xxxxx@h/ and 's3://x/y?secret-access-key=xxxxx'"
    ),
    "no URI: a/b?password=c": "no URI: a/b?password=c",
    "file:///x?protocol=csv": "file:///x?protocol=csv",
    "behind" + "x" * 50 + "kafka://u:pw@h:1/t": "behind" + "x" * 50 + "kafka://u:xxxxx@h:1/t",
    "behind 5kafka://u:pw@h:1/t": "behind 5kafka://u:xxxxx@h:1/t",
}


@pytest.mark.parametrize(("text", "shown"), TEXTS.items())
def test_the_secrets_of_every_uri_in_a_text_are_masked(text, shown):
    assert masked_text(text) == shown


def test_the_traces_that_libraries_log_are_masked_too():
    try:
        raise RuntimeError("no way to kafka://u:hunter2@h:1/t")
    except RuntimeError:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    text = WithoutSecrets("%(message)s").format(record)
    assert "kafka://u:xxxxx@h:1/t" in text
    assert "hunter2" not in text


def test_a_text_of_one_very_long_word_is_looked_through_once():
    """A search from each letter to the end of the word would take hours."""
    word = "a.b" * 3_000_000
    assert masked_text(word) == word


def test_a_configuration_is_masked_by_the_names_of_its_keys():
    tree: Json = {
        "sasl_password": "p",
        "sasl_oauth_client_secret": "s",
        "basic-password": "p",
        "authentication-token": "t",
        "token-from-file": "/etc/token",
        "claim_check_storage_uri": "s3://b/?secret-access-key=k",
        "sasl_user": "u",
        "list": [{"secret_access_key": "k"}],
        "empty": {"sasl_password": ""},
        "number": 5,
    }
    assert masked_tree(tree) == {
        "sasl_password": "xxxxx",
        "sasl_oauth_client_secret": "xxxxx",
        "basic-password": "xxxxx",
        "authentication-token": "xxxxx",
        "token-from-file": "/etc/token",
        "claim_check_storage_uri": "s3://b/?secret-access-key=xxxxx",
        "sasl_user": "u",
        "list": [{"secret_access_key": "xxxxx"}],
        "empty": {"sasl_password": ""},
        "number": 5,
    }


def test_a_masked_configuration_that_comes_back_is_what_it_was():
    tree: dict[str, Json] = {"a": {"sasl_password": "p", "uri": "s3://b/?secret-access-key=k", "n": 1}, "b": "xxxxx"}
    shown = masked_tree(tree)
    assert isinstance(shown, dict)
    assert kept_tree(shown, tree) == tree
    assert kept_tree({**shown, "a": {"sasl_password": "new"}}, tree) == {**tree, "a": {"sasl_password": "new"}}
    assert kept_tree({"sasl_password": "xxxxx"}, {}) == {"sasl_password": "xxxxx"}


OLD = "kafka://u:p%40ss@h:1/t?protocol=csv&sasl-password=hunter2"
KEPT = {
    "kafka://u:xxxxx@h:1/t?protocol=csv&sasl-password=xxxxx": OLD,
    "kafka://u:xxxxx@h:1/other?sasl-password=new": "kafka://u:p%40ss@h:1/other?sasl-password=new",
    "kafka://h:1/t?sasl-password=xxxxx&x=xxxxx": "kafka://h:1/t?sasl-password=hunter2&x=xxxxx",
    "kafka://h:9/t?protocol=csv": "kafka://h:9/t?protocol=csv",
    "": "",
}


@pytest.mark.parametrize(("new", "kept"), KEPT.items())
def test_a_masked_part_of_a_uri_is_taken_from_the_old_one(new, kept):
    assert kept_uri(new, OLD) == kept


LOST = {
    "no such parameter before": ("kafka://h:1/t?sas-token=xxxxx", "no earlier value"),
    "another host": ("kafka://evil:1/t?sasl-password=xxxxx", "other hosts"),
    "another host with the password": ("kafka://u:xxxxx@evil:1/t", "other hosts"),
}


@pytest.mark.parametrize(("new", "word"), LOST.values(), ids=LOST.keys())
def test_a_secret_is_not_kept_where_it_never_was(new, word):
    with pytest.raises(ApiError, match=word):
        kept_uri(new, OLD)


def test_no_password_to_keep():
    with pytest.raises(ApiError, match="no earlier one"):
        kept_uri("kafka://u:xxxxx@h:1/t", "kafka://h:1/t")
