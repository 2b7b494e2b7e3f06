"""Structured logs on standard error: readable on a terminal, JSON elsewhere. Secrets of URIs are masked."""

import logging
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from app.masking import masked_text

LEVELS: Final = ("debug", "info", "warn", "error")
_NUMBERS: Final = {"debug": 10, "info": 20, "warn": 30, "warning": 30, "error": 40, "fatal": 50, "critical": 50}
_least = _NUMBERS["info"]


def set_level(name: str) -> bool:
    """What is below that level is not logged any more; False when there is no such level."""
    global _least
    number = _NUMBERS.get(name.lower())
    if number is None:
        return False
    _least = number
    return True


def _loud_enough(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    if _NUMBERS.get(name, 20) < _least:
        raise structlog.DropEvent
    return event


def _without_secrets(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    return {key: masked_text(value) if isinstance(value, str) else value for key, value in event.items()}


class WithoutSecrets(logging.Formatter):
    """What libraries log, traces too: uvicorn repeats the text of an exception that nobody handled."""

    def format(self, record: logging.LogRecord) -> str:
        return masked_text(super().format(record))


def configure() -> None:
    """Called once, by ``python -m app``."""
    libraries = logging.StreamHandler(sys.stderr)
    libraries.setFormatter(WithoutSecrets("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[libraries])
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            _loud_enough,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_secrets,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
