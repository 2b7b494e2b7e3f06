"""The parts of ``docs/formats.md`` that follow from the code: options of codecs, and what ``carries`` says of them.

They stand between ``<!-- NAME -->`` and ``<!-- end -->``; ``python -m tests.cdc.formats_document`` writes them anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codecs import CODECS
from tests.cdc.carrier_views import Carrier
from tests.cdc.carries import CARRIERS

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats.md"
_BLOCK = re.compile(r"<!-- (summary|options|losses)(?: ([a-z-]+))? -->\n.*?<!-- end -->", re.DOTALL)


def rendered(text: str) -> str:
    """The document with its parts as the code has them now."""
    return _BLOCK.sub(lambda found: f"<!-- {_title(found)} -->\n{_part(found)}\n<!-- end -->", text)


def _title(found: re.Match[str]) -> str:
    return " ".join(filter(None, found.groups()))


def _part(found: re.Match[str]) -> str:
    kind, name = found.groups()
    if kind == "summary":
        return "\n".join(_summary())
    return "\n".join(_options(name) if kind == "options" else _losses(name))


def _summary() -> Iterator[str]:
    yield "| protocol | read | written | one message a line |"
    yield "|---|---|---|---|"
    for name, codec in sorted(CODECS.items()):
        marks = (bool(codec.decoder), bool(codec.encoder), codec.text)
        yield f"| `{name}` | " + " | ".join("yes" if mark else "–" for mark in marks) + " |"


def _options(name: str) -> Iterator[str]:
    codec = CODECS[name]
    read, written = ({option.name for option in options} for options in (codec.decode_options, codec.encode_options))
    known = {option.name: option for option in (*codec.encode_options, *codec.decode_options)}
    if not known:
        yield "None."
        return
    yield "| option | for | default | meaning |"
    yield "|---|---|---|---|"
    for option in known.values():
        use = " and ".join(["reading"] * (option.name in read) + ["writing"] * (option.name in written))
        yield f"| `{option.name}` | {use} | {_default(option)} | {option.meaning}{_choices(option)} |"


def _default(option: Option) -> str:
    shown = option.default.replace("\r", "\\r").replace("\n", "\\n")
    return f"`{shown}`" if shown else "–"


def _choices(option: Option) -> str:
    return f" ({', '.join(f'`{choice}`' for choice in option.choices)})" if option.choices else ""


def _losses(name: str) -> Iterator[str]:
    for carrier in (carrier for carrier in CARRIERS if carrier.codec == name):
        yield from _carrier(carrier)


def _carrier(carrier: Carrier) -> Iterator[str]:
    options = ", ".join(f"`{key}={value}`" for key, value in carrier.options.items())
    yield f"* **With {options}**" if options else "* **With its defaults**"
    yield from (f"  * lost: {loss.what}" for loss in carrier.losses)
    yield from (f"  * refused: {refusal.what}" for refusal in carrier.refusals)


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
