"""Who asks, and whether they may. `cdc cli` always sends Basic authentication, even empty: an anonymous caller.

With ``WEIR_ADMIN_TOKEN`` set, everything but liveness, readiness and the documentation wants it: as a bearer token, or
as the password of Basic authentication with any user. Captures have a token of their own.
"""

import base64
import binascii
import hmac
from typing import Final

from starlette.requests import HTTPConnection

from app.errors import CredentialMissing, Unauthorized
from spark_jobs.wire import INTERNAL_PREFIX

_OPEN: Final = frozenset({"/livez", "/readyz", "/docs", "/openapi.json"})
_OPEN_BELOW: Final = ("/docs/static/", INTERNAL_PREFIX)


def require_admin(path: str, header: str, token: str) -> None:
    """Raises unless the path is open to all, or ``header`` (Authorization) holds the token; "" asks for nothing."""
    if not token or path in _OPEN or path.startswith(_OPEN_BELOW):
        return
    kind, _, value = header.partition(" ")
    if kind.lower() == "bearer":
        given = value.strip()
    else:
        user, _, password = _basic(header).partition(":")
        given = password or user
    if not given:
        raise CredentialMissing("send the token of WEIR_ADMIN_TOKEN: Authorization: Bearer TOKEN, or as a password")
    if not hmac.compare_digest(given.encode(), token.encode()):
        raise Unauthorized("the token is not that of WEIR_ADMIN_TOKEN")


def caller_of(connection: HTTPConnection) -> str:
    """``user@host`` for the history; the name is not proven, there are no users yet."""
    host = connection.client.host if connection.client else "local"
    header = connection.headers.get("authorization", "")
    if header[:7].lower() == "bearer ":
        return f"admin@{host}"
    user, _, password = _basic(header).partition(":")
    shown = "".join(character for character in user if character.isprintable())[:100]
    token = connection.app.state.context.settings.admin_token
    if token and not password:
        shown = "admin"  # the token stood in the user's place
    return f"{shown or 'anonymous'}@{host}"


def _basic(header: str) -> str:
    """``user:password``, "" when there is none."""
    kind, _, value = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
