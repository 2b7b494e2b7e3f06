r"""Go's regular expressions (RE2 syntax), read into a tree.

What Go takes and Python's ``re`` does not, or reads differently, is taken Go's way:

* ``\d \w \s \b`` and ``[[:alpha:]]`` are ASCII; ``$`` is the very end of the text, not before a last line end; ``\z``
  is the end, ``\Z`` is an error; ``\pL``, ``\p{Lu}``, ``\p{^L}`` are general categories; ``\Q…\E`` is literal text.
* Flags ``i m s U`` may stand anywhere: ``(?i)``, ``(?s-i:…)``; they hold until the group ends.
* Refused, as Go refuses it: back references, look-ahead and look-behind, possessive and doubled repetition (``a**``),
  counts above 1000 (nested counts are multiplied), escapes that mean nothing.

Script classes such as ``\p{Han}`` are refused here although Go knows them: the standard library has no such table.
"""

from collections.abc import Iterator
from typing import Final, NoReturn, TypeAlias

import msgspec

from spark_jobs.cdc.filters.go_regex_chars import CATEGORIES, LAST, PERL, POSIX, Chars, Ranges, complement

MAX_COUNT: Final = 1000
MAX_DEPTH: Final = 100


class RegexError(ValueError):
    """A pattern that Go would not compile; ``reason`` is Go's own wording, ``at`` the character offset."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"error parsing regexp: {reason}")
        self.at = at


class Assert(msgspec.Struct, frozen=True):
    """An empty-width test: ``^`` and ``$`` of the text, ``(`` and ``)`` of a line, ``b`` and ``B`` of a word."""

    kind: str


class Concat(msgspec.Struct, frozen=True):
    items: tuple["Node", ...]


class Alternate(msgspec.Struct, frozen=True):
    items: tuple["Node", ...]


class Repeat(msgspec.Struct, frozen=True):
    """``high`` None: without end. Greedy or lazy makes no difference to whether a text matches."""

    item: "Node"
    low: int
    high: int | None


Node: TypeAlias = Chars | Assert | Concat | Alternate | Repeat


def parse(pattern: str, *, ignore_case: bool = False) -> Node:
    """The tree of a pattern; ``RegexError`` where Go would refuse it."""
    return _Parser(pattern, frozenset("i") if ignore_case else frozenset()).whole()


_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_SIMPLE_COUNTS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ASSERTS: Final = {"A": "^", "z": "$", "b": "b", "B": "B"}


class _Parser:
    def __init__(self, text: str, flags: frozenset[str]) -> None:
        self.text = text
        self.at = 0
        self.flags = flags
        self.depth = 0
        self.names: set[str] = set()

    def whole(self) -> Node:
        tree = self.alternation()
        if self.at < len(self.text):
            self.fail(f"unexpected ): `{self.text}`")
        return tree

    def fail(self, reason: str) -> NoReturn:
        raise RegexError(reason, self.at)

    def peek(self, width: int = 1) -> str:
        return self.text[self.at : self.at + width]

    def take(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def alternation(self) -> Node:
        branches = [self.concatenation()]
        while self.take("|"):
            branches.append(self.concatenation())
        return branches[0] if len(branches) == 1 else Alternate(tuple(branches))

    def concatenation(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.peek() not in ("|", ")"):
            if self.peek() in _SIMPLE_COUNTS:
                self.fail(f"missing argument to repetition operator: `{self.peek()}`")
            items.extend(self.atoms())
        return Concat(tuple(items))

    def atoms(self) -> Iterator[Node]:
        """The next atom with its repetition; literal text of ``\\Q`` gives several, a flag group none."""
        if self.take("\\Q"):
            quoted = self.literal_text()
            yield from (self.char(char) for char in quoted[:-1])
            if quoted:
                yield self.repeated(self.char(quoted[-1]))
            return
        if self.is_flag_setting():
            if self.peek() in _SIMPLE_COUNTS:
                self.fail(f"missing argument to repetition operator: `{self.peek()}`")
            return
        counted_brace = self.peek() == "{" and self.count_ahead() is not None
        if counted_brace:
            self.fail("missing argument to repetition operator: `{`")
        yield self.repeated(self.atom())

    def literal_text(self) -> str:
        end = self.text.find("\\E", self.at)
        stop = len(self.text) if end < 0 else end
        quoted = self.text[self.at : stop]
        self.at = stop if end < 0 else end + 2
        return quoted

    def char(self, char: str) -> Chars:
        return Chars(((ord(char), ord(char)),), fold="i" in self.flags)

    def atom(self) -> Node:
        char = self.peek()
        self.at += 1
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        if char == ".":
            return Chars((), negated=True) if "s" in self.flags else Chars(((10, 10),), negated=True)
        if char in "^$":
            return Assert(char if "m" not in self.flags else {"^": "(", "$": ")"}[char])
        return self.char(char)

    # repetition

    def repeated(self, item: Node) -> Node:
        counts = self.take_count()
        if counts is None:
            return item
        self.take("?")
        if self.peek() in _SIMPLE_COUNTS or self.count_ahead() is not None:
            self.fail(f"invalid nested repetition operator: `{self.text[self.at - 1 : self.at + 1]}`")
        node = Repeat(item, *counts)
        if _product(node) > MAX_COUNT:
            self.fail(f"invalid repeat count: `{{{counts[0]},{'' if counts[1] is None else counts[1]}}}`")
        return node

    def take_count(self) -> tuple[int, int | None] | None:
        simple = _SIMPLE_COUNTS.get(self.peek())
        if simple is not None:
            self.at += 1
            return simple
        ahead = self.count_ahead()
        if ahead is None:
            return None
        low, high, self.at = ahead
        if low > MAX_COUNT or (high is not None and (high > MAX_COUNT or high < low)):
            self.fail(f"invalid repeat count: `{{{low},{'' if high is None else high}}}`")
        return low, high

    def count_ahead(self) -> tuple[int, int | None, int] | None:
        """``{n}``, ``{n,}`` or ``{n,m}`` at this place; anything else makes ``{`` an ordinary character."""
        end = self.text.find("}", self.at)
        if self.peek() != "{" or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            return None
        return int(low), (int(high) if high else None) if comma else int(low), end + 1

    # groups and flags

    def group(self) -> Node:
        outer = self.flags
        self.group_head()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("expression nests too deeply")
        inner = self.alternation()
        self.depth -= 1
        if not self.take(")"):
            self.fail(f"missing closing ): `{self.text}`")
        self.flags = outer
        return inner

    def group_head(self) -> None:
        if not self.take("?"):
            return
        if self.take("P<") or (self.peek() == "<" and self.peek(2) not in ("<=", "<!") and self.take("<")):
            self.group_name()
            return
        flags, end = self.flags_ahead()
        if flags is None or self.text[end : end + 1] != ":":
            self.fail(f"invalid or unsupported Perl syntax: `(?{self.peek()}`")
        self.flags, self.at = flags, end + 1

    def group_name(self) -> None:
        name, closed, _ = self.text[self.at :].partition(">")
        if not closed or not name or any(ord(char) > 0x7F or not (char.isalnum() or char == "_") for char in name):
            self.fail(f"invalid named capture: `(?P<{name}`")
        if name in self.names:
            self.fail(f"duplicate capture group name: `{name}`")
        self.names.add(name)
        self.at += len(name) + 1

    def is_flag_setting(self) -> bool:
        """Takes ``(?i)`` and its kind, which change the rest of the group they stand in."""
        if self.peek(2) != "(?":
            return False
        self.at += 2
        flags, end = self.flags_ahead()
        if flags is None or self.text[end : end + 1] != ")":
            self.at -= 2
            return False
        self.flags, self.at = flags, end + 1
        return True

    def flags_ahead(self) -> tuple[frozenset[str] | None, int]:
        at, flags, negative, seen = self.at, set(self.flags), False, False
        while at < len(self.text) and self.text[at] in "imsU-":
            char = self.text[at]
            if char == "-" and negative:
                return None, at
            negative, seen = negative or char == "-", char != "-"
            if char != "-":
                (flags.discard if negative else flags.add)(char)
            at += 1
        return (None if negative and not seen else frozenset(flags)), at

    # escapes and classes

    def escape(self) -> Node:
        fold = "i" in self.flags
        letter = self.peek()
        if letter in _ASSERTS and letter:
            self.at += 1
            return Assert(_ASSERTS[letter])
        named = self.named_class()
        if named is not None:
            return Chars(*named, fold=fold)
        return self.char(self.escaped_char())

    def named_class(self) -> tuple[Ranges, tuple[tuple[str, bool], ...]] | None:
        r"""``\d`` or ``\pL`` behind the backslash that was just taken."""
        letter = self.peek()
        perl = PERL.get(letter.lower())
        if perl is not None and letter:
            self.at += 1
            return (perl if letter.islower() else complement(perl)), ()
        if letter not in ("p", "P"):
            return None
        self.at += 1
        name = self.category_name()
        return (), ((name.removeprefix("^"), (letter == "P") != name.startswith("^")),)

    def category_name(self) -> str:
        if self.take("{"):
            name, closed, _ = self.text[self.at :].partition("}")
            self.at += len(name) + len(closed)
        else:
            name = self.peek()
            self.at += 1
        if name.removeprefix("^") not in CATEGORIES:
            self.fail(f"invalid character class range: `\\p{{{name}}}`")
        return name

    def escaped_char(self) -> str:
        letter = self.peek()
        if not letter:
            self.fail("trailing backslash at end of expression: ``")
        self.at += 1
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "x":
            return self.hex_char()
        if letter == "0" or (letter in "1234567" and self.peek() in _OCTAL and self.peek()):
            return self.octal_char(letter)
        if letter.isascii() and not letter.isalnum():
            return letter
        return self.fail(f"invalid escape sequence: `\\{letter}`")

    def octal_char(self, digits: str) -> str:
        while len(digits) < 3 and self.peek() in _OCTAL and self.peek():
            digits += self.peek()
            self.at += 1
        return chr(int(digits, 8))

    def hex_char(self) -> str:
        if self.take("{"):
            digits, closed, _ = self.text[self.at :].partition("}")
            self.at += len(digits) + 1
        else:
            digits, closed = self.peek(2), "yes" if len(self.peek(2)) == 2 else ""
            self.at += 2
        if not closed or not digits or not set(digits) <= _HEX or len(digits) > 8 or int(digits, 16) > LAST:
            self.fail(f"invalid escape sequence: `\\x{digits}`")
        return chr(int(digits, 16))

    def char_class(self) -> Chars:
        opened = self.at - 1
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or self.peek() != "]":
            if self.at >= len(self.text):
                self.fail(f"missing closing ]: `{self.text[opened:]}`")
            first = False
            more = self.class_item()
            ranges.extend(more[0])
            categories.extend(more[1])
        self.at += 1
        return Chars(tuple(ranges), tuple(categories), negated=negated, fold="i" in self.flags)

    def class_item(self) -> tuple[Ranges, tuple[tuple[str, bool], ...]]:
        if self.peek(2) == "[:" and ":]" in self.text[self.at + 2 :]:
            return self.posix_class(), ()
        if self.peek() == "\\":
            self.at += 1
            named = self.named_class()
            if named is not None:
                return named
            self.at -= 1
        start = self.at
        low = self.class_char()
        if self.peek() != "-" or self.peek(2) in ("-]", "-"):
            return ((ord(low), ord(low)),), ()
        self.at += 1
        high = self.class_char()
        if high < low:
            self.fail(f"invalid character class range: `{self.text[start : self.at]}`")
        return ((ord(low), ord(high)),), ()

    def class_char(self) -> str:
        if self.take("\\"):
            return self.escaped_char()
        char = self.peek()
        if not char:
            self.fail(f"missing closing ]: `{self.text}`")
        self.at += 1
        return char

    def posix_class(self) -> Ranges:
        end = self.text.index(":]", self.at + 2)
        name = self.text[self.at + 2 : end]
        found = POSIX.get(name.removeprefix("^"))
        if found is None:
            self.fail(f"invalid character class range: `[:{name}:]`")
        self.at = end + 2
        return complement(found) if name.startswith("^") else found


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _product(node: Node) -> int:
    """How often the innermost item may repeat, unbounded counts by their lower end, as Go reckons it."""
    if isinstance(node, Repeat):
        own = node.low if node.high is None else node.high
        return max(own, 1) * _product(node.item)
    if isinstance(node, Concat | Alternate):
        return max((_product(item) for item in node.items), default=1)
    return 1
