"""Errors of the API. Each knows its code and its HTTP status; ``status_of`` tells it for those of the data plane.

WeirError
├── ApiError                      status
│   ├── ChangefeedNotExists       400, as in TiCDC
│   ├── ChangefeedAlreadyExists   400
│   ├── UpdateRefused             400  the state forbids it
│   ├── InvalidParam              400
│   ├── Unauthorized              401
│   │   └── CredentialMissing     401
│   ├── NotReady                  503  no owner, or a capture that does not let go
│   └── …
└── ConfigError, DataError, EnvironmentFault → 400: the client's, never ours; everything else is 500
"""

from spark_jobs.cdc.errors import ConfigError, DataError, EnvironmentFault, WeirError


class ApiError(WeirError):
    """An error with a status of its own."""

    status: int = 400


class InvalidParam(ApiError):
    """A request that cannot be understood."""

    code = "CDC:ErrAPIInvalidParam"


class InvalidReplicaConfig(ApiError):
    """``replica_config`` contradicts itself or the URIs."""

    code = "CDC:ErrInvalidReplicaConfig"


class ChangefeedNotExists(ApiError):
    code = "CDC:ErrChangeFeedNotExists"

    def __init__(self, name: str) -> None:
        super().__init__(f"changefeed not exists, {name}")


class ChangefeedAlreadyExists(ApiError):
    code = "CDC:ErrChangeFeedAlreadyExists"

    def __init__(self, name: str) -> None:
        super().__init__(f"changefeed already exists, {name}; choose another id or remove it first")


class UpdateRefused(ApiError):
    """The state of the changefeed forbids the call."""

    code = "CDC:ErrChangefeedUpdateRefused"


class TargetBeforeStart(ApiError):
    code = "CDC:ErrTargetTsBeforeStartTs"


class UpstreamNotExists(ApiError):
    code = "CDC:ErrUpstreamNotFound"

    def __init__(self, which: str) -> None:
        super().__init__(f"there is no upstream {which}; list them with GET /api/v2/upstreams")


class CaptureNotExists(ApiError):
    code = "CDC:ErrCaptureNotExist"

    def __init__(self, capture_id: str) -> None:
        super().__init__(f"capture not exists, {capture_id}")


class NoSuchDeadLetter(ApiError):
    code = "CDC:ErrDeadLetterNotExists"

    def __init__(self, letter_id: str) -> None:
        super().__init__(f"there is no dead letter {letter_id[:100]!r}; list them with GET …/dead_letters")


class PathNotFound(ApiError):
    """No call has that path and method."""

    status = 404
    code = "CDC:ErrAPINotFound"


class SchedulerRequestFailed(ApiError):
    """A capture cannot be drained, or a changefeed cannot be moved there."""

    code = "CDC:ErrSchedulerRequestFailed"


class Unhealthy(ApiError):
    """Nothing can run."""

    status = 503
    code = "CDC:ErrClusterIsUnhealthy"


class Unauthorized(ApiError):
    status = 401
    code = "CDC:ErrUnauthorized"


class CredentialMissing(Unauthorized):
    code = "CDC:ErrCredentialNotFound"


class NotReady(ApiError):
    """Not now: no owner, or a capture that has not let go yet."""

    status = 503
    code = "CDC:ErrServerIsNotReady"


class Conflict(ApiError):
    """Somebody else changed the same row in between."""

    status = 503
    code = "CDC:ErrServerIsNotReady"


def status_of(error: WeirError) -> int:
    """The HTTP status of an error. 500 is only ever a fault of Weir."""
    if isinstance(error, ApiError):
        return error.status
    return 400 if isinstance(error, ConfigError | DataError | EnvironmentFault) else 500
