"""``python -m app``: checks, migrations, the API, the owner's loop, the captures; until SIGINT or SIGTERM.

Shutting down: captures drain while the API still answers them, then the owner gives its lease up, then the API ends. A
second signal ends the waiting.
"""

import argparse
import signal
import sys
import threading
import uuid

import structlog
import uvicorn
from sqlalchemy.exc import DBAPIError

from app import TICDC_VERSION, VERSION, checks, demo, logs
from app.api import make_api
from app.context import Context
from app.database import Database, reason_of
from app.owner.launcher import captures_of, stop_all
from app.owner.loop import Owner
from app.owner.processes import Child
from app.sealing import seal_of
from app.settings import Settings, SettingsError, meanings, read_settings, unknown_variables, variables
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.plugins import register_installed

log = structlog.get_logger("weir")


def main() -> int:
    """The exit status."""
    _read_arguments()
    try:
        checks.check_python()
        logs.configure()
        register_installed()
        settings = read_settings()
        for name in unknown_variables():
            log.warning("unknown_setting", variable=name, known=", ".join(variables()))
        checks.check_java(settings)
        checks.check_default_source(settings)
        return _serve(settings)
    except SettingsError as error:
        print(f"weir: {error}", file=sys.stderr)
        return 1
    except ConfigError as error:
        print(f"weir: {error.message}", file=sys.stderr)
        return 1


def _read_arguments() -> None:
    """There are none beside --help and --version: settings are environment variables."""
    width = max(map(len, variables()))
    settings = "\n".join(f"  {name:{width}}  {meaning}" for name, meaning in zip(variables(), meanings(), strict=True))
    parser = argparse.ArgumentParser(
        prog="python -m app",
        description="The control plane: the API, the owner, and the captures that it launches. Ctrl-C ends it.",
        epilog=f"settings are environment variables, also in .env:\n{settings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"Weir {VERSION} (TiCDC API {TICDC_VERSION})")
    parser.parse_args()


def _serve(settings: Settings) -> int:
    checks.check_home(settings)
    listener = checks.listen(settings)
    context = _open(settings)
    children: list[Child] = []
    owner = Owner(context, on_owning=lambda: _launch(context, children))
    config = uvicorn.Config(
        make_api(context), log_config=None, access_log=False, timeout_graceful_shutdown=5, timeout_keep_alive=75
    )
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run, args=([listener],), name="api", daemon=True)
    stop, hurry = _on_signals()
    serving.start()
    owner.start()
    _greet(settings)
    while not stop.wait(0.5) and serving.is_alive():
        pass
    log.info("stopping")
    stop_all(children, hurry)
    owner.stop()
    stop_all(children, hurry)
    server.should_exit = True
    serving.join(timeout=10)
    context.database.close()
    return 0 if stop.is_set() else 1


def _open(settings: Settings) -> Context:
    """The database at the head of its migrations, and the seal proven to be its own."""
    seal = seal_of(settings)
    database = Database(settings.database_url)
    try:
        database.migrate()
        with database.write() as connection:
            seal.prove(connection)
    except (DBAPIError, ModuleNotFoundError) as error:
        reason = reason_of(error)
        raise SettingsError(f"WEIR_DATABASE_URL: the database cannot be used ({reason}); check that it runs") from None
    return Context(settings=settings, database=database, seal=seal, node_id=str(uuid.uuid4()))


def _launch(context: Context, children: list[Child]) -> None:
    """In the owner's thread, once. A child that was asked to stop before it started does not start."""
    children.extend(captures_of(context.settings))
    for child in children:
        child.start()
    if demo.prepare(context):
        generator = demo.generator_of(context.settings)
        children.append(generator)
        generator.start()


def _on_signals() -> tuple[threading.Event, threading.Event]:
    stop, hurry = threading.Event(), threading.Event()

    def ask(number: int, frame: object) -> None:
        (hurry if stop.is_set() else stop).set()

    signal.signal(signal.SIGINT, ask)
    signal.signal(signal.SIGTERM, ask)
    return stop, hurry


def _greet(settings: Settings) -> None:
    print(f"Weir {VERSION} on {settings.local_url}")
    print(f"  changefeeds        {settings.local_url}/")
    print(f"  API documentation  {settings.local_url}/docs")
    print(f"  everything local   {settings.home}")
    if settings.wants_demo:
        print(f"  output of `demo`   {settings.home / 'demo' / 'output'}")
    if not settings.admin_token:
        print("  !! OPEN !! every program on this machine may do everything here; WEIR_ADMIN_TOKEN locks the door")
    print("Ctrl-C ends it.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
