"""A configuration laid over another one: what PATCH does. Pure.

Objects are merged key by key, lists and everything else are replaced; null takes a key away, so that it is the default
again (RFC 7396). Keys are read as everywhere: without regard to case, unknown ones refused.
"""

from app.masking import Json
from app.replica_config.go import GoModel
from app.replica_config.model import ReplicaConfig


def merged(stored: dict[str, Json], given: dict[str, Json]) -> dict[str, Json]:
    """``stored`` with what ``given``, a valid request's object, says."""
    return _merged(stored, given, ReplicaConfig)


def _merged(stored: Json, given: dict[str, Json], model: type[GoModel]) -> dict[str, Json]:
    known = model.keys()
    after = dict(stored) if isinstance(stored, dict) else {}
    for name, value in given.items():
        key = known.get(name.lower(), name)
        inner = _model_of(model, key)
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict) and inner is not None:
            after[key] = _merged(after.get(key), value, inner)
        else:
            after[key] = value
    return after


def _model_of(model: type[GoModel], key: str) -> type[GoModel] | None:
    """The model of an object below ``key``; None when there is a plain value or a list."""
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            kinds = (field.annotation, *getattr(field.annotation, "__args__", ()))
            origin = getattr(field.annotation, "__origin__", None)
            found = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, GoModel)]
            return found[0] if found and origin is not list else None
    return None
