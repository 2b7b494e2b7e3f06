"""The parameters of every source and sink URI, by scheme: for warnings and for the reference
(``docs/parameters.md``). The module that parses a scheme's URIs has them."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from spark_jobs.sinks import SINKS
from spark_jobs.sources import SOURCES
from spark_jobs.uris import Parameter


def _of(parse: Callable[..., Any]) -> Mapping[str, Parameter]:
    found: Mapping[str, Parameter] = getattr(sys.modules[parse.__module__], "PARAMETERS", {})
    return found


OF_SOURCES: Final[dict[str, Mapping[str, Parameter]]] = {scheme: _of(parse) for scheme, parse in SOURCES.items()}
OF_SINKS: Final[dict[str, Mapping[str, Parameter]]] = {scheme: _of(parse) for scheme, parse in SINKS.items()}
