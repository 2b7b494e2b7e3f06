"""Canal's messages to events: what ``canal_protobuf/opener`` opens, with the rows decoded."""

from collections.abc import Callable, Sequence
from typing import Final

from spark_jobs.cdc.codecs.canal_protobuf.envelope import AUTO
from spark_jobs.cdc.codecs.canal_protobuf.opener import CanalOpener
from spark_jobs.cdc.events import Event


class Decoder:
    """Reads the messages of one changefeed; ``unit`` is one of ``UNITS``."""

    def __init__(self, unit: str = AUTO) -> None:
        self.opener: Final = CanalOpener(unit)
        self.decode: Final[Callable[[bytes], Sequence[Event]]] = self.opener.events
        """The events of a message; raises ``DecodeError``."""
