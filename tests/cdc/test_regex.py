"""Go's regular expressions: what they match, what they refuse, and how long they take."""

import contextlib
import pickle
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.filters.regex import GoRegex, RegexError

MATCHES = [
    ("", "", True),
    ("b", "abc", True),
    ("^b", "abc", False),
    ("^abc$", "abc", True),
    ("^abc$", "abc\n", False),
    (r"\Aabc\z", "abc", True),
    ("(?m)^b$", "a\nb\nc", True),
    ("a.c", "a\nc", False),
    ("(?s)a.c", "a\nc", True),
    ("(?i)STRASSE", "strasse", True),
    ("(?i)k", "\u212a", True),
    ("(?i)[k]", "\u212a", True),
    ("(?i)\u212a", "k", True),
    ("(?i:A)b", "ab", True),
    ("(?i:A)b", "aB", False),
    ("a(?i)b|c", "C", True),
    ("(a(?i)b)c", "aBC", False),
    ("(?i)a(?-i)b", "Ab", True),
    ("(?i)a(?-i)b", "AB", False),
    (r"\d", "٣", False),
    (r"\w", "é", False),
    (r"\W", "é", True),
    (r"[^\d\s]", "1 ", False),
    (r"[\D]", "1", False),
    (r"\bt\b", "a t x", True),
    (r"\bt\b", "at", False),
    (r"a\Bt", "at", True),
    (r"^\pL+$", "éλ", True),
    (r"\p{Lu}", "é", False),
    (r"^\P{Lu}$", "é", True),
    (r"^\p{^Lu}$", "É", False),
    (r"^[\pN_]$", "٣", True),
    ("[[:alpha:]]", "1é", False),
    ("^[[:^alpha:]]+$", "1é", True),
    ("[]a]", "]", True),
    ("[^]a]", "]", False),
    ("[a-]", "-", True),
    ("a{2}", "aa", True),
    ("^a{2,3}$", "aaaa", False),
    ("^a{2,}$", "aaaa", True),
    ("a{,2}", "a{,2}", True),
    ("{a", "{a", True),
    ("^(ab|c)*?$", "abcab", True),
    ("^(a*)*$", "aaa", True),
    ("a||b", "", True),
    (r"^\Qa.b*\E+$", "a.b**", True),
    (r"^\x41\x{1F600}\101\07$", "A\U0001f600A\x07", True),
    (r"^\t\-\_$", "\t-_", True),
    ("(?P<n>a)(?<m>b)", "ab", True),
    (r"^\p{Greek}+$", "λόγος", True),
    ("(?i)ς", "Σ", True),
    ("^.$", "\udc80", True),
    ("^..$", "a\udcff", True),
    ("\ufffd", "\ud800", True),
    ("a.b", "a\0b", True),
]

REFUSED = [
    "(?!a)",
    "(?=a)",
    "(?<=a)",
    "(?<!a)",
    "(?>a)",
    r"(a)\1",
    r"\8",
    r"\Z",
    r"\G",
    r"\é",
    r"\x{110000}",
    r"\xg",
    r"\x{}",
    "a**",
    "a*+",
    "a??+",
    "a{2}{3}",
    "*a",
    "(*)",
    "a|*",
    "(?i)*",
    "{2}",
    "a{1001}",
    "a{3,2}",
    "(a{40}){40}",
    "(a",
    "a)",
    "(?i",
    "(?z)",
    "(?i-)",
    "[a",
    "[]",
    "[b-a]",
    "[[:foo:]]",
    "[a\\",
    r"\p",
    "(?P<>a)",
    "(?P=n)",
    "\\",
]


@pytest.mark.parametrize(("pattern", "text", "found"), MATCHES)
def test_a_pattern_is_found_where_go_finds_it(pattern, text, found):
    assert GoRegex(pattern).search(text) is found


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_go_refuses_is_refused(pattern):
    with pytest.raises(RegexError, match=r"^error parsing regexp: "):
        GoRegex(pattern)


@pytest.mark.parametrize("pattern", ["(" * 100_000, "[" * 100_000, "((a{30}){30}){30}", "(?i)" * 50_000])
def test_a_hostile_pattern_is_answered_at_once(pattern):
    started = time.monotonic()
    with contextlib.suppress(RegexError):
        GoRegex(pattern)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("pattern", [r"\pL{1000}", ".{1000}" * 200])
def test_a_program_that_would_be_too_large_is_refused(pattern):
    with pytest.raises(RegexError, match="expression too large"):
        GoRegex(pattern)


@pytest.mark.parametrize(
    ("pattern", "said", "at"),
    [
        (r"é(a)\1", r"invalid escape sequence: `\1`", 4),
        ("a|*", "missing argument to repetition operator: `*`", 2),
        ("a**", "invalid nested repetition operator: `**`", 1),
        ("ab[c", "missing closing ]: `[c`", 2),
        (r"\Q(?=\E(?=a)", "invalid or unsupported Perl syntax: `(?=`", None),
        ("a\\", "trailing backslash at end of expression: ``", None),
        ("ab\udc80", "invalid UTF-8: ``", 2),
    ],
)
def test_a_refusal_says_what_is_wrong_in_the_words_of_go_and_where(pattern, said, at):
    with pytest.raises(RegexError) as caught:
        GoRegex(pattern)
    assert (str(caught.value), caught.value.at) == (f"error parsing regexp: {said}", at)


def test_case_is_ignored_where_that_is_asked_for():
    assert GoRegex("straSSe", ignore_case=True).search("STRASSE")
    assert not GoRegex("(?-i)straSSe", ignore_case=True).search("STRASSE")


def test_a_pattern_travels_to_a_worker():
    pattern = pickle.loads(pickle.dumps(GoRegex("^A$", ignore_case=True)))
    assert pattern.search("a")
    assert not pattern.search("ab")


def test_nothing_is_printed(capfd):
    with contextlib.suppress(RegexError):
        GoRegex("(")
    with contextlib.suppress(RegexError):
        GoRegex(r"\pL{1000}")
    # more states than RE2's memory holds
    assert not GoRegex("[ab]*a(?:[ab]{300}c|[ab]{301}d)$").search("aababbab" * 20_000)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)*$", "(a*)*b", "^(a?){50}a{50}$"])
def test_a_pattern_that_makes_backtracking_explode_takes_linear_time(pattern):
    started = time.monotonic()
    assert not GoRegex(pattern).search("a" * 20_000 + "c")
    assert time.monotonic() - started < 5


def test_many_different_characters_do_not_fill_the_memory():
    pattern = GoRegex(r"^(.*)x$")
    assert not pattern.search("".join(map(chr, range(0x100, 0x100 + 25_000))))
    assert pattern.search("日本x")


ATOM = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "^", "$"])
PATTERN = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(pattern=PATTERN, text=st.text("abc", max_size=8))
def test_where_both_mean_the_same_python_finds_the_same(pattern, text):
    assert GoRegex(pattern).search(text) is (re.search(pattern, text) is not None)


@settings(max_examples=200, deadline=None)
@given(pattern=st.text(st.sampled_from("ab(){}[]*+?|^$\\.-:?iPdpLQE<>1,é"), max_size=12), text=st.text(max_size=6))
def test_any_pattern_is_answered_or_refused(pattern, text):
    with contextlib.suppress(RegexError):
        GoRegex(pattern).search(text)
