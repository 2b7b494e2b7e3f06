"""The ASGI application: routers, the one error handler, and what makes FastAPI answer as TiCDC's router does.

- Everything that goes wrong is ``error_msg`` and ``error_code`` as JSON, an unknown path or a wrong method too (404).
- A body is JSON whatever its Content-Type says. In turn, a browser may only send what its own page comes from here:
  a foreign ``Origin`` is refused.
"""

from typing import Final

import structlog
from fastapi import Depends, FastAPI, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sqlalchemy.exc import DataError as ValueRefused
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app import VERSION
from app.captures import endpoints as captures
from app.changefeeds import endpoints as changefeeds
from app.changefeeds import log_endpoints as happened
from app.changefeeds import order_endpoints as orders
from app.changefeeds import table_endpoints as tables
from app.console import page as console
from app.context import Context
from app.database import reason_of
from app.docs import pages
from app.errors import InvalidParam, NotReady, PathNotFound, Unauthorized, status_of
from app.identity import require_admin
from app.leftovers import endpoints as leftovers
from app.masking import masked_text
from app.replica_config.go import nearest
from app.server import endpoints as server
from app.server import operator_endpoints as operators
from app.upstreams import endpoints as upstreams
from spark_jobs.cdc.errors import InternalError, WeirError

MAX_BODY_BYTES: Final = 64 << 20
log = structlog.get_logger("weir.api")


def make_api(context: Context) -> FastAPI:
    """The application of one replica."""
    api = FastAPI(
        dependencies=[Depends(check_query)],
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
        happened.router,
        orders.router,
        tables.router,
        captures.public,
        upstreams.router,
        server.router,
        operators.router,
        leftovers.router,
        captures.internal,
        pages.router,
        console.router,
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
    api.add_middleware(Gate)
    return api


# `cdc cli` sends parameters of earlier calls again.
_LEFT_OVER: Final = frozenset({"keyspace", "namespace", "state", "mode", "tableID", "targetNodeID", "wait"})


def check_query(request: Request) -> None:
    """``InvalidParam`` for a misspelt parameter: ``dryrun=true`` must not create anything."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = {field.alias for field in get_flat_params(route.dependant)}
    for name in request.query_params:
        if name not in known | _LEFT_OVER and (near := nearest(name, known)):
            raise InvalidParam(f"unknown parameter {name[:100]!r}; did you mean {near!r}?")


class Gate:
    """Lets through who has the token (``identity.require_admin``)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = scope["app"].state.context if scope["type"] == "http" else None
        if context is not None and context.settings.admin_token:
            header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            try:
                require_admin(scope["path"], header, context.settings.admin_token)
            except Unauthorized as error:
                reply = _error_reply(error)
                reply.headers["www-authenticate"] = 'Basic realm="weir", Bearer'
                await reply(scope, receive, send)
                return
        await self._app(scope, receive, send)


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
    if first["loc"] == ("body",) and first["type"] != "value_error":
        return _error_reply(InvalidParam("the body must be a JSON object"))
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = str(first["msg"]).removeprefix("Value error, ")
    return _error_reply(InvalidParam(f"{where}: {message}" if where else message))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        path = f"{request.method} {request.url.path}"[:200]
        return _error_reply(PathNotFound(f"there is no {path}; {request.base_url}docs lists every call"))
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
