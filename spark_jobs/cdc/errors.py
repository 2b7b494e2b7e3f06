"""Errors with a stable code.

    WeirError                code, message
    ├── DataError            their data cannot be used as it is
    │   ├── DecodeError      bytes that are not what the protocol says
    │   └── EncodeError      an event that the target format cannot carry
    ├── ConfigError          their settings, URIs, rules or requests are wrong
    ├── EnvironmentFault     the world around failed: broker gone, disk full; trying again may help
    └── InternalError        our bug

A code is TiCDC's where TiCDC has one for the same thing. Text form: ``[code]message``.
"""


class WeirError(Exception):
    """Base of every error that a user may see."""

    code: str = "CDC:ErrUnknown"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"[{self.code}]{self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[WeirError], args: tuple[object, ...], state: dict[str, object]) -> WeirError:
    error = kind.__new__(kind)
    Exception.__init__(error, *args)
    error.__dict__.update(state)
    return error


class DataError(WeirError):
    """Their data cannot be used as it is."""


class DecodeError(DataError):
    """Bytes that are not what the protocol says.

    ``protocol``: name of the codec; ``offset``: byte offset inside the message where known; ``reason``: one sentence.
    """

    code = "CDC:ErrDecodeFailed"

    def __init__(self, protocol: str, reason: str, *, offset: int | None = None) -> None:
        where = "" if offset is None else f" at byte {offset}"
        super().__init__(f"not a {protocol} message{where}: {reason}")
        self.protocol = protocol
        self.reason = reason
        self.offset = offset


class EncodeError(DataError):
    """An event that the target format cannot carry; ``reason`` says which part."""

    code = "CDC:ErrEncodeFailed"

    def __init__(self, protocol: str, reason: str) -> None:
        super().__init__(f"cannot be written as {protocol}: {reason}")
        self.protocol = protocol
        self.reason = reason


class ConfigError(WeirError):
    """Their settings, URIs, rules or requests are wrong; the message says what, where and what to do."""

    code = "CDC:ErrAPIInvalidParam"


class EnvironmentFault(WeirError):
    """Something outside failed; trying again may help."""

    code = "CDC:ErrExternalFailure"


class InternalError(WeirError):
    """A fault of Weir itself."""

    code = "CDC:ErrInternal"
