"""Who asks. `cdc cli` always sends Basic authentication, even empty: that is an anonymous caller."""

import base64
import binascii

from starlette.requests import HTTPConnection


def caller_of(connection: HTTPConnection) -> str:
    """``user@host`` for the history; the name is not proven, there are no users yet."""
    host = connection.client.host if connection.client else "local"
    return f"{_basic_user(connection.headers.get('authorization', '')) or 'anonymous'}@{host}"


def _basic_user(header: str) -> str:
    kind, _, value = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        user = base64.b64decode(value, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return "".join(character for character in user if character.isprintable())[:100]
