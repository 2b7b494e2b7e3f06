"""Expressions and names, written in TiDB's style from their tokens.

Rules

1. Names stand in backquotes, functions and keywords in upper case, no blanks around symbols, a blank around words.
   ``<>`` is written ``!=``, ``&&`` AND, ``||`` OR, ``mod`` ``%``.
2. A string carries its charset, ``_UTF8MB4'x'``: the connection's, unless the text says another. Hexadecimal and bit
   literals are ``x'41'`` and ``b'101'``, floating point is Go's ``1e+03``.
3. ``j->'$.a'`` is JSON_EXTRACT, ``j->>'$.a'`` JSON_UNQUOTE of it; CURRENT_TIMESTAMP and its likes get parentheses.
4. Arguments are separated by ``, ``, the values of a list by ``,``.

One pass over the tokens, without recursion: nesting costs nothing. A query (of a view) is written the same way, so its
names and words have TiDB's form but its clauses keep the arrangement of the text.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from spark_jobs.cdc.ddl.keywords import Place, Role, role
from spark_jobs.cdc.ddl.tokens import Kind, Token

DEFAULT_CHARSET: Final = "utf8mb4"


def name(text: str) -> str:
    """A name in backquotes."""
    return f"`{text.replace('`', '``')}`"


def string(text: str) -> str:
    """A string in single quotes. Backslashes are doubled, or the reader would take them for escapes."""
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{quoted}'"


def render(tokens: Sequence[Token], charset: str = "") -> str:
    """The expression or query that these tokens are. ``charset``: the connection's."""
    return _Writer(tokens, (charset or DEFAULT_CHARSET).upper()).text()


_WORD_SYMBOLS: Final = {"&&": "AND", "||": "OR"}
_TYPE: Final = "a type"
"""Stands in ``brackets`` for the parentheses of a type: ``DECIMAL(10,2)``."""
_WORDS_BEHIND: Final = {"AS": "CAST", "IN": "AGAINST", "WITH": "AGAINST"}
"""Words behind which only keywords come, inside the parentheses of that function."""


_BEFORE_PLAIN_STRING: Final = frozenset({"COLLATE", "USING", "SEPARATOR", "ESCAPE"})
"""Words behind which the grammar has no place for a charset."""


class _Writer:
    """``operand``: the last piece was one; ``blank``: a word before the next piece wants a blank between.
    ``brackets``: the function of every open parenthesis, ``typed``: whether words of a type stand in it now."""

    def __init__(self, tokens: Sequence[Token], charset: str) -> None:
        self.tokens = tokens
        self.charset = charset
        self.pieces: list[str] = []
        self.brackets: list[str] = []
        self.typed: list[bool] = []
        self.called = ""
        self.operand = False
        self.blank = False

    def text(self) -> str:
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            at = _KINDS.get(token.kind, _Writer._literal)(self, at, token)
        return "".join(self.pieces)

    def _word_at(self, at: int) -> str:
        return self.tokens[at].word if 0 <= at < len(self.tokens) else ""

    @property
    def _in_type(self) -> bool:
        return bool(self.typed) and self.typed[-1]

    def _put(self, text: str, *, spaced: bool) -> None:
        if spaced and self.pieces and not self.pieces[-1].endswith((" ", "(")):
            self.pieces.append(" ")
        self.pieces.append(text)

    def _operand(self, text: str) -> None:
        self._put(text, spaced=self.operand or self.blank)
        self.operand, self.blank = True, False

    def _keyword(self, text: str, *, value: bool = False) -> None:
        self._put(text, spaced=True)
        self.operand, self.blank = value, True

    def _symbol_text(self, text: str) -> None:
        self._put(text, spaced=self.blank)
        self.operand, self.blank = False, False

    def _literal(self, at: int, token: Token) -> int:
        self._operand(_LITERALS[token.kind](token) if token.kind in _LITERALS else token.text)
        return at + 1

    def _word(self, at: int, token: Token) -> int:
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        place = Place(
            before=self._word_at(at - 1),
            after=after.word if after else "",
            after_kind=after.kind if after else Kind.END,
            function=self.brackets[-1] if self.brackets else "",
            behind_operand=self.operand,
            in_type=self._in_type,
        )
        return at + _ROLES[role(token.word, place)](self, token, after)

    def _name_word(self, token: Token, after: Token | None) -> int:
        self._operand(name(token.text))
        return 1

    def _keyword_word(self, token: Token, after: Token | None) -> int:
        self._keyword(token.word)
        if self.brackets and self.brackets[-1] == _WORDS_BEHIND.get(token.word):
            self.typed[-1] = True
        return 1

    def _value_word(self, token: Token, after: Token | None) -> int:
        self._keyword(token.word, value=True)
        self.called = _TYPE if self._in_type else ""
        return 1

    def _call_word(self, token: Token, after: Token | None) -> int:
        self._operand(token.word)
        self.called = token.word
        return 1

    def _bare_call_word(self, token: Token, after: Token | None) -> int:
        self._operand(f"{token.word}()")
        return 1

    def _percent_word(self, token: Token, after: Token | None) -> int:
        self._symbol_text("%")
        return 1

    def _charset_word(self, token: Token, after: Token | None) -> int:
        self._operand(token.text)
        return 1

    def _quoted_charset_word(self, token: Token, after: Token | None) -> int:
        self._operand(string(token.text))
        return 1

    def _introducer_word(self, token: Token, after: Token | None) -> int:
        if after is None or after.kind is not Kind.STRING:
            self._operand(f"{token.word} ")
            self.operand = False
            return 1
        self._operand(f"{token.word}{string(after.text)}")
        return 2

    def _national_word(self, token: Token, after: Token | None) -> int:
        self._operand(f"_UTF8{string(after.text if after else '')}")
        return 2

    def _time_word(self, token: Token, after: Token | None) -> int:
        self._operand(f"{token.word} {string(after.text if after else '')}")
        return 2

    def _string(self, at: int, token: Token) -> int:
        end = at + 1
        while end < len(self.tokens) and self.tokens[end].kind is Kind.STRING:
            end += 1
        text = "".join(part.text for part in self.tokens[at:end])
        if self.operand or self._word_at(at - 1) == "AS":
            self._operand(name(text))  # an alias
        elif self._word_at(at - 1) in _BEFORE_PLAIN_STRING:
            self._operand(string(text))
        else:
            self._operand(f"_{self.charset}{string(text)}")
        return end

    def _symbol(self, at: int, token: Token) -> int:
        symbol = token.word
        if symbol in ("->", "->>") and self._extract(at, symbol):
            return at + 2
        if symbol in _SYMBOLS:
            _SYMBOLS[symbol](self)
        elif symbol in _WORD_SYMBOLS:
            self._keyword(_WORD_SYMBOLS[symbol])
        else:
            self._symbol_text("!=" if symbol == "<>" else symbol)
        return at + 1

    def _open(self) -> None:
        function, self.called = self.called, ""
        self._put("(", spaced=self.blank and not function)
        self.brackets.append(function)
        self.typed.append(function == _TYPE)
        self.operand, self.blank = False, False

    def _close(self) -> None:
        if self.brackets:
            self.brackets.pop()
            self.typed.pop()
        self._put(")", spaced=False)
        self.operand, self.blank = True, False

    def _comma(self) -> None:
        function = self.brackets[-1] if self.brackets else ""
        self._put("," if function in ("", _TYPE) else ", ", spaced=False)
        self.operand, self.blank = False, False
        if function == "CONVERT":
            self.typed[-1] = True

    def _dot(self) -> None:
        self._put(".", spaced=False)
        self.operand, self.blank = False, False

    def _star(self) -> None:
        if self.operand:
            self._symbol_text("*")
        else:
            self._operand("*")

    def _extract(self, at: int, arrow: str) -> bool:
        path = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        start = len(self.pieces) - 1
        if path is None or path.kind is not Kind.STRING or start < 0 or not self.pieces[start].startswith("`"):
            return False
        while start >= 2 and self.pieces[start - 1] == ".":
            start -= 2
        text = f"JSON_EXTRACT({''.join(self.pieces[start:])}, _{self.charset}{string(path.text)})"
        self.pieces[start:] = [f"JSON_UNQUOTE({text})" if arrow == "->>" else text]
        self.operand, self.blank = True, False
        return True


_KINDS: Final[dict[Kind, Callable[[_Writer, int, Token], int]]] = {
    Kind.WORD: _Writer._word,
    Kind.STRING: _Writer._string,
    Kind.OPERATOR: _Writer._symbol,
}
_SYMBOLS: Final[dict[str, Callable[[_Writer], None]]] = {
    "(": _Writer._open,
    ")": _Writer._close,
    ",": _Writer._comma,
    ".": _Writer._dot,
    "*": _Writer._star,
}
_ROLES: Final[dict[Role, Callable[[_Writer, Token, Token | None], int]]] = {
    Role.NAME: _Writer._name_word,
    Role.KEYWORD: _Writer._keyword_word,
    Role.VALUE: _Writer._value_word,
    Role.CALL: _Writer._call_word,
    Role.BARE_CALL: _Writer._bare_call_word,
    Role.PERCENT: _Writer._percent_word,
    Role.CHARSET: _Writer._charset_word,
    Role.QUOTED_CHARSET: _Writer._quoted_charset_word,
    Role.INTRODUCER: _Writer._introducer_word,
    Role.NATIONAL: _Writer._national_word,
    Role.TIME_LITERAL: _Writer._time_word,
}


def _number(token: Token) -> str:
    return go_float(token.text) if "e" in token.text.lower() else token.text


def go_float(text: str) -> str:
    """A floating point literal as Go's ``%e`` with the fewest digits: ``1e+03``."""
    value = Decimal(repr(float(text)))
    if not value.is_finite() or not value:
        return "0e+00" if value.is_finite() else text
    digits = "".join(map(str, value.normalize().as_tuple().digits))
    power = value.adjusted()
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _hex(token: Token) -> str:
    digits = token.text.lower()
    return f"x'{'0' * (len(digits) % 2)}{digits}'"


def _bit(token: Token) -> str:
    return f"b'{token.text.lstrip('0') or ('0' if token.text else '')}'"


def _quoted(token: Token) -> str:
    return name(token.text)


_LITERALS: Final[dict[Kind, Callable[[Token], str]]] = {
    Kind.NUMBER: _number,
    Kind.HEX: _hex,
    Kind.BIT: _bit,
    Kind.QUOTED: _quoted,
}
