"""Decimal text of floating point numbers, as the producers of the formats write it.

All of them print the shortest digits that read back as the same number, of 32 or of 64 bits. They differ in when they
turn to an exponent: TiCDC's JSON never does; Java does below 10**-3 and from 10**7 on (``1.0E7``) and always shows one
fraction digit.
"""

import math
import struct
from decimal import Context, Decimal

_FLOAT32 = struct.Struct("<f")
_SMALLEST_NORMAL32 = 2.0**-126
_JAVA_PLAIN_FROM, _JAVA_PLAIN_BELOW = Decimal("1e-3"), Decimal("1e7")


def float32(value: float) -> float:
    """The nearest 32-bit number, widened. Raises ``OverflowError`` when there is none."""
    return _FLOAT32.unpack(_FLOAT32.pack(value))[0]  # type: ignore[no-any-return]


def shortest32(value: float) -> str:
    """The shortest digits that read back as this 32-bit number, in Python's notation (``1e+10`` and ``0.5``)."""
    # six digits always survive 32 bits, nine always suffice; below the normal numbers fewer survive
    for digits in range(6 if abs(value) >= _SMALLEST_NORMAL32 else 1, 9):
        text = f"{value:.{digits}g}"
        if _reads_back(text, value):
            return text
        if abs(math.frexp(value)[0]) == 0.5:  # a power of two is nearer to its lower neighbour: look above as well
            above = str(Context(prec=digits).next_plus(Decimal(text).copy_abs()))
            if _reads_back(above, abs(value)):
                return above if value > 0 else "-" + above
    return f"{value:.9g}"


def _reads_back(text: str, value: float) -> bool:
    try:
        return float32(float(text)) == value
    except OverflowError:
        return False


def plain32(value: float) -> str:
    """Shortest 32-bit digits without exponent: ``3.14``, ``100000000000000000000``, ``1``."""
    if not math.isfinite(value):
        return "0"  # TiCDC's rule, with a warning there; MySQL stores no such number
    text = shortest32(value)
    return format(Decimal(text), "f") if "e" in text or "E" in text else text


def plain64(value: float) -> str:
    """Shortest 64-bit digits without exponent: ``3.14``, ``100000000000000000000``, ``1``."""
    text = repr(value)
    if text[-2:] == ".0":
        return text[:-2]
    if "e" in text or "n" in text:  # an exponent; nan, inf
        return format(Decimal(text), "f") if math.isfinite(value) else "0"
    return text


def java32(value: float) -> str:
    """Java's ``Float.toString``: ``1.0``, ``0.001``, ``9.99E-4``, ``1.0E7``."""
    return _java(value, shortest32(value) if math.isfinite(value) else "")


def java64(value: float) -> str:
    """Java's ``Double.toString``."""
    if 1e-3 <= abs(value) < 1e7:
        return repr(value)  # in this range both print the shortest digits without exponent
    return _java(value, repr(value))


def _java(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    number = Decimal(shortest)
    if number and len(number.normalize().as_tuple().digits) == 1:
        number = Decimal(f"{value:.1e}")  # Java picks among numbers of two digits: 4.9E-324, where one would do
    if number == 0 or _JAVA_PLAIN_FROM <= abs(number) < _JAVA_PLAIN_BELOW:
        text = format(number.normalize(), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{exponent + len(digits) - 1}"
