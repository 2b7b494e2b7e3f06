"""Whether a Go regular expression is found in a text, in time linear in the text.

Python's ``re`` backtracks: a rule such as ``(a+)+$`` from a user would stop a changefeed for hours. So the pattern
becomes a small non-deterministic automaton that is followed in all its states at once (as RE2 does), and the sets of
states that occur are remembered. There are no captures; the answer is yes or no.

Bounds: a program has at most ``MAX_PROGRAM`` steps (longer: refused), the memory of state sets is emptied at
``MAX_MOVES`` entries; the time is at most (length of the text) × (length of the program).
"""

from typing import Final

import msgspec

from spark_jobs.cdc.filters.go_regex_chars import Chars
from spark_jobs.cdc.filters.go_regex_syntax import Alternate, Assert, Concat, Node, RegexError, Repeat, parse

__all__ = ["GoRegex", "RegexError"]

MAX_PROGRAM: Final = 20_000
MAX_MOVES: Final = 10_000

_START, _LINE_END, _WORD, _OTHER = "start", "line end", "word", "other"


class _Step(msgspec.Struct):
    """One instruction. A character to take, a test to pass, or neither (go on at each of ``then``)."""

    then: tuple[int, ...] = ()
    chars: Chars | None = None
    test: str = ""


class _State(msgspec.Struct):
    """Instructions that wait for the next character, and what stood before it; a move to None is success."""

    waiting: frozenset[int]
    before: str
    moves: dict[str, "_State | None"]


class GoRegex:
    """A compiled pattern; ``RegexError`` (a ValueError) for one that Go would refuse."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self.pattern = pattern
        self._steps: list[_Step] = [_Step()]
        self._entry = self._emit(parse(pattern, ignore_case=ignore_case), 0)
        self._forget()

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        state: _State | None = self._state(frozenset(), _START)
        for char in text:
            assert state is not None
            if char in state.moves:
                state = state.moves[char]
            else:
                state = self._move(state, char)
            if state is None:
                return True
        assert state is not None
        return self._reach(state, None)[1]

    # the program, built from its end to its beginning; step 0 is success

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= MAX_PROGRAM:
            raise RegexError("expression too large", 0)
        self._steps.append(step)
        return len(self._steps) - 1

    def _emit(self, node: Node, then: int) -> int:
        match node:
            case Chars():
                return self._add(_Step((then,), chars=node))
            case Assert(kind):
                return self._add(_Step((then,), test=kind))
            case Concat(items):
                for item in reversed(items):
                    then = self._emit(item, then)
                return then
            case Alternate(items):
                return self._add(_Step(tuple(self._emit(item, then) for item in items)))
            case Repeat():
                return self._emit_repeat(node, then)

    def _emit_repeat(self, node: Repeat, then: int) -> int:
        if node.high is None:
            loop = self._add(_Step())
            self._steps[loop].then = (self._emit(node.item, loop), then)
            entry = loop
        else:
            entry = then
            for _ in range(node.high - node.low):
                entry = self._add(_Step((self._emit(node.item, entry), then)))
        for _ in range(node.low):
            entry = self._emit(node.item, entry)
        return entry

    # the walk

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._moves = 0

    def _state(self, waiting: frozenset[int], before: str) -> _State:
        key = (waiting, before)
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = _State(waiting, before, {})
        return found

    def _move(self, state: _State, char: str) -> _State | None:
        takers, found = self._reach(state, char)
        if self._moves >= MAX_MOVES:
            self._forget()
        self._moves += 1
        following = frozenset(
            at for taker in takers if taker.chars is not None and taker.chars.has(char) for at in taker.then
        )
        target = None if found else self._state(following, _kind(char))
        state.moves[char] = target
        return target

    def _reach(self, state: _State, following: str | None) -> tuple[list[_Step], bool]:
        """The character steps that can be reached without taking a character, and whether success is among them."""
        todo, seen, takers = [*state.waiting, self._entry], set[int](), list[_Step]()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            step = self._steps[at]
            if step.chars is not None:
                takers.append(step)
            elif not step.test or _holds(step.test, state.before, following):
                todo.extend(step.then)
        return takers, 0 in seen


def _kind(char: str) -> str:
    if char == "\n":
        return _LINE_END
    return _WORD if char.isascii() and (char.isalnum() or char == "_") else _OTHER


def _holds(test: str, before: str, following: str | None) -> bool:
    match test:
        case "^":
            return before == _START
        case "$":
            return following is None
        case "(":
            return before in (_START, _LINE_END)
        case ")":
            return following is None or following == "\n"
    at_edge = (before == _WORD) != (following is not None and _kind(following) == _WORD)
    return at_edge == (test == "b")
