"""The ASGI application: routers, the one error handler, and what makes FastAPI answer as TiCDC's router does.

- An unknown path or a wrong method is 404 in plain text; everything else that goes wrong is ``error_msg`` and
  ``error_code`` as JSON.
- A body is JSON whatever its Content-Type says. In turn, a browser may only send what its own page comes from here:
  a foreign ``Origin`` is refused.
"""

from typing import Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from sqlalchemy.exc import DataError as ValueRefused
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app import VERSION
from app.captures import endpoints as captures
from app.changefeeds import endpoints as changefeeds
from app.context import Context
from app.database import reason_of
from app.docs import pages
from app.errors import InvalidParam, NotReady, Unauthorized, status_of
from app.masking import masked_text
from app.server import endpoints as server
from app.upstreams import endpoints as upstreams
from spark_jobs.cdc.errors import InternalError, WeirError

MAX_BODY_BYTES: Final = 64 << 20
log = structlog.get_logger("weir.api")


def make_api(context: Context) -> FastAPI:
    """The application of one replica."""
    api = FastAPI(
        title="Weir",
        version=VERSION,
        summary="Changefeeds of MySQL-family databases on Spark: TiCDC's Open API v2 and a few calls of its own.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        generate_unique_id_function=lambda route: route.name,
    )
    api.state.context = context
    for router in (
        changefeeds.router,
        captures.public,
        upstreams.router,
        server.router,
        captures.internal,
        pages.router,
    ):
        api.include_router(router)
    pages.mount(api)
    api.add_exception_handler(WeirError, _weir_error)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _http_error)
    api.add_exception_handler(DBAPIError, _database_error)
    api.add_exception_handler(NoConnectionFree, _database_error)
    api.add_exception_handler(Exception, _bug)
    api.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY_BYTES)
    api.add_middleware(JsonBodies)
    return api


class JsonBodies:
    """Takes every body for JSON; refuses one that is too long by its own account, and what a foreign web page sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        headers = {name: value for name, value in scope["headers"] if name != b"content-type"}
        refusal = _refusal(headers)
        if refusal is not None:
            await _error_reply(refusal)(scope, receive, send)
            return
        typed = [*(pair for pair in scope["headers"] if pair[0] != b"content-type"), _JSON]
        await self._app({**scope, "headers": typed}, receive, send)


_JSON: Final = (b"content-type", b"application/json")


def _refusal(headers: dict[bytes, bytes]) -> WeirError | None:
    origin, host = headers.get(b"origin", b"").decode("latin-1"), headers.get(b"host", b"").decode("latin-1")
    if origin and origin.partition("://")[2] != host:
        return Unauthorized(f"a web page of {origin[:200]} may not send orders here")
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        return InvalidParam(f"the body is larger than {MAX_BODY_BYTES} bytes")
    return None


def _error_reply(error: WeirError) -> Response:
    content = {"error_msg": masked_text(str(error)), "error_code": error.code}
    return JSONResponse(content, status_code=status_of(error))


async def _weir_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, WeirError)
    return _error_reply(error)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        reason = f"{first['ctx']['error']}, at character {first['loc'][1]}"
        return _error_reply(InvalidParam(f"the body is not JSON: {reason}"))
    if first["loc"] == ("body",):
        return _error_reply(InvalidParam("the body must be a JSON object"))
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = str(first["msg"]).removeprefix("Value error, ")
    return _error_reply(InvalidParam(f"{where}: {message}"))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        return PlainTextResponse("404 page not found", status_code=404)
    if error.status_code == 413:
        return _error_reply(InvalidParam(f"the body is larger than {MAX_BODY_BYTES} bytes"))
    return _error_reply(InvalidParam("the body cannot be read: not UTF-8, nested too deeply, or a number is too long"))


async def _database_error(request: Request, error: Exception) -> Response:
    log.warning("database_error", path=request.url.path, error=type(error).__name__, reason=reason_of(error))
    if isinstance(error, ValueRefused):
        return _error_reply(InvalidParam(f"the database cannot hold a value of this request: {reason_of(error)}"))
    return _error_reply(NotReady("the database does not answer, or is busy; try again"))


async def _bug(request: Request, error: Exception) -> Response:
    log.error("bug", path=request.url.path, exc_info=error)
    return _error_reply(InternalError("this is a fault of Weir; its log says more"))
