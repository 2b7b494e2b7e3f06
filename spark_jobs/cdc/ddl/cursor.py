"""A cursor over tokens: the few moves of which the grammar is made. Tokens are read as they are needed."""

from collections.abc import Callable, Iterator
from typing import Final, NoReturn, TypeVar

from spark_jobs.cdc.ddl.tokens import DdlSyntaxError, Kind, Token, tokens

MAX_TOKENS: Final = 300_000
"""Tokens of a text that is still parsed: several times what the largest table with all its partitions needs."""

T = TypeVar("T")
_NAMES = (Kind.WORD, Kind.QUOTED)


class Cursor:
    """Stands before a token. ``accept*`` moves on if the next tokens fit, ``expect*`` raises if they do not."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._source: Iterator[Token] = tokens(text)
        self._read: list[Token] = []
        self._at = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token that is ``ahead`` tokens away; END at the end, however far."""
        while len(self._read) <= self._at + ahead:
            if self._read and self._read[-1].kind is Kind.END:
                return self._read[-1]
            if len(self._read) >= MAX_TOKENS:
                raise DdlSyntaxError(f"there are more than {MAX_TOKENS} words and symbols")
            self._read.append(next(self._source))
        return self._read[self._at + ahead]

    def next(self) -> Token:
        """The next token, passed over."""
        token = self.peek()
        if token.kind is not Kind.END:
            self._at += 1
        return token

    @property
    def last_end(self) -> int:
        """Where the last token that was passed over ends, in the text."""
        return self.last.end if self._at else 0

    def at(self, *words: str) -> bool:
        """Whether these unquoted words or operators come next."""
        return all(self.peek(ahead).word == word for ahead, word in enumerate(words))

    def at_any(self, words: frozenset[str] | tuple[str, ...]) -> bool:
        """Whether the next token is one of these words or operators."""
        return self.peek().word in words

    @property
    def at_end(self) -> bool:
        """Whether the statement ends here."""
        return self.peek().kind is Kind.END or self.peek().word == ";"

    @property
    def finished(self) -> bool:
        """Whether the text ends here."""
        return self.peek().kind is Kind.END

    def accept(self, *words: str) -> bool:
        """Passes over these words if they come next."""
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def accept_any(self, words: frozenset[str] | tuple[str, ...]) -> str:
        """Passes over one of these words and returns it; "" if none comes next."""
        word = self.peek().word
        if not word or word not in words:
            return ""
        self._at += 1
        return word

    def expect(self, *words: str) -> None:
        """Passes over these words."""
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def fail(self, wanted: str) -> NoReturn:
        """Raises ``DdlSyntaxError``: something else than ``wanted`` stands here."""
        token = self.peek()
        found = (
            repr(self.text[token.start : min(token.end, token.start + 40)]) if token.end > token.start else "the end"
        )
        raise DdlSyntaxError(f"expected {wanted}, found {found} at character {token.start}")

    def at_name(self) -> bool:
        """Whether a name may stand here."""
        token = self.peek()
        return token.kind in _NAMES or (token.kind is Kind.STRING and token.double_quoted)

    def name(self) -> str:
        """A name, quoted or not."""
        if not self.at_name():
            self.fail("a name")
        return self.next().text

    def integer(self) -> int:
        """An unsigned whole number of at most 20 digits."""
        token = self.peek()
        if token.kind is not Kind.NUMBER or not token.text.isdecimal() or len(token.text) > 20:
            self.fail("a number")
        return int(self.next().text)

    def signed_integer(self) -> int:
        """A whole number that may have a sign."""
        sign = -1 if self.accept("-") else 1
        self.accept("+")
        return sign * self.integer()

    def string(self) -> str:
        """A string's value."""
        if self.peek().kind is not Kind.STRING:
            self.fail("a string")
        return self.next().text

    def name_or_string(self) -> str:
        """A word that may also stand as a string: charsets, engines."""
        return self.string() if self.peek().kind is Kind.STRING else self.name()

    def listed(self, item: Callable[["Cursor"], T]) -> tuple[T, ...]:
        """One or more items with commas between."""
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        return tuple(items)

    def parenthesised(self, item: Callable[["Cursor"], T]) -> tuple[T, ...]:
        """``( item, item … )``"""
        self.expect("(")
        items = self.listed(item)
        self.expect(")")
        return items

    @property
    def last(self) -> Token:
        """The token that was passed over last."""
        return self._read[self._at - 1]

    def bracketed(self) -> tuple[Token, ...]:
        """The tokens of ``( … )`` with the outer parentheses."""
        start = self._at
        self.group()
        return tuple(self._read[start : self._at])

    def group(self) -> tuple[Token, ...]:
        """The tokens of ``( … )`` without the outer parentheses, these balanced inside."""
        self.expect("(")
        start, depth = self._at, 1
        while depth:
            token = self.next()
            if token.kind is Kind.END:
                self.fail(")")
            depth += (token.word == "(") - (token.word == ")")
        return tuple(self._read[start : self._at - 1])

    def run(self, stops: frozenset[str]) -> tuple[Token, ...]:
        """The tokens up to one of ``stops``, a comma, a closing parenthesis or the end, outside of parentheses."""
        start, depth = self._at, 0
        while not self.at_end:
            word = self.peek().word
            if not depth and (word in (",", ")") or word in stops):
                break
            depth += (word == "(") - (word == ")")
            self.next()
        return tuple(self._read[start : self._at])

    def rest(self) -> tuple[Token, ...]:
        """The tokens up to the end of the statement."""
        start = self._at
        while not self.at_end:
            self.next()
        return tuple(self._read[start : self._at])
