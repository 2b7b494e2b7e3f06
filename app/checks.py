"""What must be there before anything starts. Each failure is one sentence with the remedy."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Final

from app.masking import masked_text
from app.settings import Settings, SettingsError
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources import parse_source

_PYTHON: Final = (3, 11)
_JAVA: Final = 17
_JAVA_VERSION: Final = re.compile(r'version "(\d+)(?:\.(\d+))?')


def check_python() -> None:
    if sys.version_info < _PYTHON:
        raise SettingsError(f"Python {sys.version.split()[0]} is too old; run Weir with Python 3.11 or newer")


def check_java(settings: Settings) -> None:
    """Java 17 or 21 is needed where captures are launched."""
    if settings.captures == 0:
        return
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        raise SettingsError("Java is missing; install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless)")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60)
    found = _JAVA_VERSION.search(said.stderr + said.stdout)
    if not found:
        raise SettingsError(f"{java} does not say its version; install Java 17 or 21 and let JAVA_HOME point to it")
    major = int(found[2] or 0) if found[1] == "1" else int(found[1])
    if major < _JAVA:
        raise SettingsError(f"Java {major} is too old; install Java 17 or 21 and let JAVA_HOME point to it")


def check_home(settings: Settings) -> None:
    """``WEIR_HOME`` must be a folder that files can be made in."""
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.home):
            pass
    except OSError as error:
        raise SettingsError(
            f"WEIR_HOME: the folder {settings.home} cannot be written ({error.strerror}); give one that this user may"
            f" write"
        ) from None


def check_default_source(settings: Settings) -> None:
    """``WEIR_DEFAULT_SOURCE_URI`` must be a source URI; whether it can be reached shows when it is used."""
    if not settings.default_source_uri:
        return
    try:
        parse_source(settings.default_source_uri, file_roots=settings.permitted_roots)
    except ConfigError as error:
        raise SettingsError(f"WEIR_DEFAULT_SOURCE_URI: {masked_text(error.message)}") from None


def listen(settings: Settings) -> socket.socket:
    """The bound socket of the API."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named: only then does asyncio turn Nagle's algorithm off, which costs 40 ms a reply.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
        bound.listen(512)
    except OSError as error:
        bound.close()
        raise SettingsError(
            f"WEIR_LISTEN: {settings.listen} cannot be used ({error.strerror}); stop what listens there, or set"
            f" WEIR_LISTEN to"
            " another address such as 127.0.0.1:8301"
        ) from None
    return bound
