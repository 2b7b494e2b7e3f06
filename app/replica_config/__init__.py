"""``replica_config``: TiCDC's tree, its names, its defaults of today, and what makes it invalid."""

from app.replica_config.model import ReplicaConfig
from app.replica_config.rules import check

__all__ = ["ReplicaConfig", "check"]
