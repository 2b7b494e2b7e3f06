"""``/docs``: the API to read and to try out. Every asset comes from here; the page may ask no other host."""

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from app.docs import examples
from app.docs.config_schema import CHOICES, keys
from app.docs.meanings import MEANINGS

STATIC: Final = Path(__file__).parent / "static"
_POLICY: Final = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def get_docs() -> FileResponse:
    return FileResponse(STATIC / "docs.html", headers={"content-security-policy": _POLICY})


def document(api: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, without the 422 that FastAPI would have answered: here it is a 400."""
    made = get_openapi(title=api.title, version=api.version, summary=api.summary, routes=api.routes)
    for operation in (operation for item in made["paths"].values() for operation in item.values()):
        operation["responses"].pop("422", None)
    made["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "WEIR_ADMIN_TOKEN, where one is set"},
        "password": {"type": "http", "scheme": "basic", "description": "any user, WEIR_ADMIN_TOKEN as the password"},
    }
    made["security"] = [{}, {"token": []}, {"password": []}]
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    _teach(made)
    return made


def _teach(made: dict[str, Any]) -> None:
    """Gives every field and parameter its meaning."""
    schemas = made["components"]["schemas"]
    for key in keys():
        for part in (schemas.get(f"{key.model}{suffix}") for suffix in ("", "-Input", "-Output")):
            if part is not None:
                part["properties"][key.name]["description"] = key.meaning
                if key.path in CHOICES:
                    part["properties"][key.name]["enum"] = list(CHOICES[key.path])
    for model, schema in schemas.items():
        for name, shown in schema.get("properties", {}).items():
            shown.setdefault("description", MEANINGS.get(f"{model}.{name}") or MEANINGS.get(name, ""))
    for operation in (operation for item in made["paths"].values() for operation in item.values()):
        for parameter in operation.get("parameters", ()):
            where = f"{parameter['name']}.{parameter['in']}"
            parameter.setdefault("description", MEANINGS.get(where) or MEANINGS.get(parameter["name"], ""))
    for model in ("CreateRequest", "CreateRequest-Input"):
        if model in schemas:
            schemas[model]["required"] = ["sink_uri"]


def at_home(made: dict[str, Any], home: Path) -> dict[str, Any]:
    """The document with the folders of this installation in its examples."""
    moved: dict[str, Any] = json.loads(json.dumps(made).replace(examples.HOME, quote(str(home))))
    return moved


def mount(api: FastAPI) -> None:
    """Serves the page's assets and the document that it shows."""

    def kept() -> dict[str, Any]:
        api.openapi_schema = api.openapi_schema or document(api)
        context = api.state.context
        return at_home(api.openapi_schema, context.settings.home) if context else api.openapi_schema

    api.openapi = kept  # type: ignore[method-assign]
    api.mount("/docs/static", StaticFiles(directory=STATIC), name="static")
