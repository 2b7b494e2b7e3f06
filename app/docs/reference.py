"""The references under ``docs/``, made from the program: ``python -m app.docs.reference`` writes them anew; a test
holds that they are up to date.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from app.changefeeds.parameters import OF_SINKS, OF_SOURCES
from app.docs.codes import CODES
from app.docs.config_schema import keys
from app.settings import Settings, meanings, variables
from spark_jobs.uris import Parameter, shown_seconds

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs"
_MADE: Final = "<!-- Made by `python -m app.docs.reference`; a test holds that it is up to date. -->"


def errors() -> str:
    """``docs/errors.md``."""
    rows = [
        (f"`CDC:{name}`", str(code.status) if code.status else "–", code.meaning, code.remedy)
        for name, code in sorted(CODES.items())
    ]
    return _document(
        "Errors",
        'Every error is `{"error_msg": "[CDC:Err…]text", "error_code": "CDC:Err…"}`. A status of – means that no call'
        " is answered with it: it stands in a changefeed's state, status, conditions and history.",
        [("Codes", "", _table(("code", "status", "meaning", "what to do"), rows))],
    )


def parameters() -> str:
    """``docs/parameters.md``."""
    sections = [(f"Source `{scheme}://`", "", _parameters(known)) for scheme, known in sorted(OF_SOURCES.items())]
    sections += [(f"Sink `{scheme}://`", "", _parameters(known)) for scheme, known in sorted(OF_SINKS.items())]
    defaults = (field.default for field in Settings.model_fields.values())
    settings = [
        (f"`{name}`", meaning.removesuffix(f" [{default}]"), _code(str(default)) if default not in ("", None) else "–")
        for name, meaning, default in zip(variables(), meanings(), defaults, strict=True)
    ]
    config = [
        (f"`{key.path}`", key.meaning, _code(_default(key.field.get_default(call_default_factory=True))))
        for key in keys()
    ]
    return _document(
        "Parameters",
        "What is refused, clamped or without effect is told: an unknown name is an error with the nearest known one,"
        " and"
        " everything else stands in `warnings` of the reply.",
        [
            (
                "Settings",
                "Environment variables, also in `.env`.",
                _table(("variable", "meaning", "default"), settings),
            ),
            *sections,
            ("replica_config", "TiCDC's tree, with its defaults.", _table(("key", "what it does", "default"), config)),
        ],
    )


FILES: Final = {"errors.md": errors, "parameters.md": parameters}


def _document(title: str, intro: str, sections: Iterable[tuple[str, str, str]]) -> str:
    parts = [f"# {title}", _MADE, intro]
    for name, text, table in sections:
        parts += [f"## {name}", *([text] if text else []), table]
    return "\n\n".join(parts) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _parameters(known: Mapping[str, Parameter]) -> str:
    rows = [(f"`{item.name}`", _meaning(item), _code(item.default)) for item in known.values()]
    return _table(("parameter", "meaning", "default"), rows)


def _meaning(item: Parameter) -> str:
    if not item.applies:
        return "no effect: of TiCDC" + (f" ({item.meaning})" if item.meaning else "")
    said = item.meaning
    if item.choices:
        said += f" ({', '.join(choice or 'empty' for choice in item.choices)})"
    if item.low is not None or item.high is not None:
        said += f" ({_bound(item, item.low)}..{_bound(item, item.high)}{', clamped' if item.clamp else ''})"
    return said


def _bound(item: Parameter, value: float | None) -> str:
    if value is None:
        return ""
    return shown_seconds(value) if item.kind == "duration" else f"{value:.0f}"


def _code(text: str) -> str:
    return f"`{text}`" if text else "–"


def _default(value: object) -> str:
    if value is None or isinstance(value, BaseModel):
        return ""
    return json.dumps(value, ensure_ascii=False)


def main() -> int:
    """Writes the files."""
    for name, make in FILES.items():
        (FOLDER / name).write_text(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
