"""Structured logs on standard error: readable on a terminal, JSON elsewhere. Secrets of URIs are masked."""

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from app.masking import masked_text


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
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_secrets,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
