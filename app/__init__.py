"""The control plane: knows what should run. No Spark here, and no bytes of any changefeed.

api.py            the ASGI application: resources, middleware, the one error handler
changefeeds/ captures/ upstreams/ history/ server/     one folder a resource: endpoints, schemas, repository
lifecycle.py      pure: what an event makes of a changefeed
plan.py           pure: which capture should run what
owner/            the loop of the replica that holds the owner lease, and the captures it launches
database.py       the only place that begins and commits a transaction
"""

from typing import Final

VERSION: Final = "0.1.0"

# What `cdc cli` compares with its own minimum (6.2.0) before each command.
TICDC_VERSION: Final = "v8.5.4"
