"""Patterns of a source folder: which paths they mean."""

import fnmatch
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.sources.folder.glob import matcher

CASES = [
    # (pattern, what it means, what it does not mean)
    ("*", ["a", "a.json", ".a", "a\nb", ""], ["a/b"]),
    ("*.json", ["a.json", ".json"], ["ajson", "a.json5", "x/a.json", "a.json\n"]),
    ("a?c", ["abc", "aéc", "a\U0001f600c", "a\udc80c"], ["ac", "a/c", "abbc"]),
    ("**/*", ["a", "x/a", "x/y/a"], []),
    ("**/*.json", ["a.json", "x/a.json", "x/y/a.json"], ["a.js", "x.json/a"]),
    ("**/**/a", ["a", "x/a", "x/y/a"], ["ba"]),
    ("x/**/a", ["x/a", "x/y/a", "x/y/z/a"], ["a", "xa", "y/x/a"]),
    ("x/**", ["x/a", "x/y/a"], ["x", "xa"]),
    ("**", ["a", "x/a"], []),
    ("**.json", ["a.json", "x/a.json"], ["a.js"]),
    ("a**z", ["az", "a/z", "ab/c/yz"], ["a/b"]),
    ("x/*/a", ["x/y/a"], ["x/a", "x/y/z/a"]),
    ("*/*", ["x/a"], ["a", "x/y/a"]),
    ("a.b", ["a.b"], ["axb"]),
    ("[ab].c", ["a.c", "b.c"], ["c.c", "ab.c"]),
    ("[a-c]", ["a", "b", "c"], ["d", "-"]),
    ("[a-c-e]", ["b", "-", "e"], ["d"]),
    ("[!a-c]", ["d", "é", "\n"], ["a", "", "/"]),
    ("[^a]", ["^", "a"], ["b"]),
    ("[]a]", ["]", "a"], ["b", "]a"]),
    ("[!]a]", ["b"], ["]", "a"]),
    ("[-a]", ["-", "a"], ["b"]),
    ("[a-]", ["-", "a"], ["b"]),
    ("[*]", ["*"], ["a", ""]),
    ("[**]/[?]", ["*/?"], ["a/b"]),
    ("[[]", ["["], ["]"]),
    ("[[:alpha:]]", [":]", "a]"], ["b]x", "b"]),
    ("[a&&b||c~~d--e]", ["a", "&", "|", "~", "c", "e"], ["d", "-", "f"]),
    ("[c-a]", [], ["a", "b", "c", "-", ""]),
    ("[!c-a]", ["a", "b"], ["", "/", "ab"]),
    ("[.-0]", [".", "0"], ["/"]),
    ("[", ["["], [""]),
    ("[]", ["[]"], [""]),
    ("[!]", ["[!]"], ["a"]),
    ("a[b", ["a[b"], ["ab"]),
    ("[a/b]", ["[a/b]"], ["a", "/"]),
    ("\\*", ["\\", "\\a"], ["*"]),
    ("[\\]", ["\\"], ["]"]),
    ("[\\d]", ["\\", "d"], ["1"]),
    ("(a|b)+{1}^$", ["(a|b)+{1}^$"], ["a"]),
    ("#a b", ["#a b"], ["ab"]),
    ("日本*é?", ["日本é1", "日本xée"], ["日本é"]),
    ("É", ["É"], ["é"]),
]


@pytest.mark.parametrize(("pattern", "meant", "not_meant"), CASES, ids=[case[0] for case in CASES])
def test_a_pattern_means(pattern, meant, not_meant):
    match = matcher(pattern)
    assert [path for path in meant if not match(path)] == []
    assert [path for path in not_meant if match(path)] == []


@settings(max_examples=1000, deadline=None)
@given(
    pattern=st.text("ab*?[]!-^\\.é&", max_size=10).filter(lambda text: "**" not in text),
    name=st.text("ab[]!-^\\.é&\n", max_size=6),
)
def test_within_one_name_it_means_what_fnmatch_says(pattern, name):
    assert bool(matcher(pattern)(name)) is fnmatch.fnmatchcase(name, pattern)


def by_hand(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return by_hand(pattern[1:], path) or (bool(path) and by_hand(pattern, path[1:]))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and by_hand(pattern[1:], path[1:])


@settings(max_examples=1000, deadline=None)
@given(
    folders=st.lists(st.sampled_from(["**", "*", "a", "a*", "*b*a", "[ab]", "?"]), max_size=4),
    last=st.sampled_from(["*", "a", "*b", "*a*b*", "[!a]*", "?"]),
    path=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5),
)
def test_name_by_name_it_means_what_fnmatch_says(folders, last, path):
    assert bool(matcher("/".join([*folders, last]))("/".join(path))) is by_hand([*folders, last], path)


@settings(max_examples=500, deadline=None)
@given(pattern=st.text(max_size=20), path=st.text(max_size=20))
def test_any_pattern_is_read(pattern, path):
    matcher(pattern)(path)


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b", "**/" * 20 + "b", "**/a*/" * 3 + "b"])
def test_many_stars_take_no_time(pattern):
    started = time.monotonic()
    assert not matcher(pattern)("a" * 255)
    assert not matcher(pattern)("/".join(["a" * 20] * 30) + "/c")
    assert time.monotonic() - started < 5
