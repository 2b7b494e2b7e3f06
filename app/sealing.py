"""Secrets at rest: URIs and configurations are sealed (Fernet: AES-128-CBC with HMAC-SHA256) before they are stored.

``WEIR_SECRET_KEY`` may hold several keys separated by commas: the first seals, all of them open, so a key can be
changed. A key is Fernet's own form or any text of at least 16 characters. Embedded and without one, a key is made once
and kept in ``{WEIR_HOME}/secret.key`` (mode 0600).
"""

import base64
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from sqlalchemy import Connection, insert, select

from app.settings import Settings, SettingsError
from app.tables import facts

_SHORTEST: Final = 16
_REMEMBERED: Final = 8192
_PROOF: Final = "secret_key_proof"


class Seal:
    """Seals text and opens it again."""

    def __init__(self, keys: str) -> None:
        self._fernet = MultiFernet([Fernet(_fernet_key(key.strip())) for key in keys.split(",")])
        self.open = lru_cache(_REMEMBERED)(self._open)
        """The text again; what was opened before is remembered, because every look at a changefeed opens three."""

    def close(self, text: str) -> str:
        return self._fernet.encrypt(text.encode()).decode()

    def _open(self, sealed: str) -> str:
        return self._fernet.decrypt(sealed.encode()).decode()

    def prove(self, connection: Connection) -> None:
        """``SettingsError`` when the database was sealed with another key; leaves a proof in a new one."""
        proof = connection.scalar(select(facts.c.value).where(facts.c.name == _PROOF).with_for_update())
        if proof is None:
            connection.execute(insert(facts).values(name=_PROOF, value=self.close(_PROOF)))
            return
        try:
            self.open(proof)
        except InvalidToken:
            raise SettingsError(
                "WEIR_SECRET_KEY: the database was sealed with another key; give that one, after a comma if it changed"
            ) from None


def seal_of(settings: Settings) -> Seal:
    """The seal that the settings ask for."""
    if settings.secret_key:
        return Seal(settings.secret_key)
    if not settings.embedded:
        raise SettingsError("WEIR_SECRET_KEY: set it to a long random text when WEIR_DATABASE_URL is not SQLite")
    return Seal(_kept_key(settings.home / "secret.key"))


def _fernet_key(text: str) -> bytes:
    try:
        if len(base64.urlsafe_b64decode(text)) == 32:
            return text.encode()
    except ValueError:
        pass
    if len(text) < _SHORTEST:
        raise SettingsError(f"WEIR_SECRET_KEY: too short; give at least {_SHORTEST} random characters")
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())


def _kept_key(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    key = Fernet.generate_key().decode()
    with os.fdopen(handle, "w") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    return key
