"""Every error code: its HTTP status (0: of a changefeed, not of a call), what it means, and what to do. The error
reference is made from it; a test holds that no code in the program is missing here.
"""

from typing import Final

import msgspec


class Code(msgspec.Struct, frozen=True):
    """``remedy``: what the reader does next."""

    status: int
    meaning: str
    remedy: str


CODES: Final[dict[str, Code]] = {
    # Requests
    "ErrAPIInvalidParam": Code(
        400, "The body, a parameter or a value cannot be understood.", "The message says which."
    ),
    "ErrAPINotFound": Code(404, "No call has that path and method.", "See /docs; TiCDC's v1 is not served."),
    "ErrInvalidChangefeedID": Code(
        400, "Inside ErrAPIInvalidParam: the id is none.", "Letters, digits, single hyphens; at most 128 characters."
    ),
    "ErrCredentialNotFound": Code(401, "The call wants the admin token.", "Send `Authorization: Bearer TOKEN`."),
    "ErrUnauthorized": Code(401, "The token is wrong, or a foreign web page asks.", "Use that of WEIR_ADMIN_TOKEN."),
    "ErrServerIsNotReady": Code(
        503, "Not now: no owner, the database is busy, or a capture has not let go.", "Ask again; see /readyz."
    ),
    "ErrClusterIsUnhealthy": Code(503, "/health: nothing can run.", "Start a capture, or end the draining."),
    "ErrInternal": Code(500, "A fault of Weir.", "Its log, or the capture's, has the trace; please report it."),
    "ErrUnknown": Code(0, "A capture gave no reason.", "Look into its log."),
    # Changefeeds
    "ErrChangeFeedNotExists": Code(400, "There is no such changefeed.", "Look at the keyspace; list them all."),
    "ErrChangeFeedAlreadyExists": Code(400, "The id is taken.", "Choose another, or remove that changefeed first."),
    "ErrChangefeedUpdateRefused": Code(
        400, "The state forbids it, nothing would change, or the change cannot be made.", "The message says which."
    ),
    "ErrChangeFeedDeletionUnfinished": Code(
        503, "Its capture has not let go of it in time.", "Ask again: it is removed as soon as the capture has."
    ),
    "ErrTargetTsBeforeStartTs": Code(400, "target_ts is not above start_ts.", "Give a later target."),
    "ErrInvalidReplicaConfig": Code(
        400,
        "replica_config contradicts itself or the URIs, or asks for what is not there yet.",
        "Change the key named.",
    ),
    "ErrFilterRuleInvalid": Code(400, "A filter rule cannot be parsed.", "Quote names with hyphens: `` `my-db`.* ``."),
    "ErrInvalidIgnoreEventType": Code(400, "An event filter names an unknown kind.", "See the list in TiCDC's manual."),
    "ErrInvalidFilterExpression": Code(
        400, "The expression of an event filter cannot be read.", "Correct it; it is SQL over column names."
    ),
    "ErrExpressionColumnNotFound": Code(
        0, "The expression of an event filter names a column that the table has not.", "Correct it and resume."
    ),
    "ErrColumnSelectorFailed": Code(
        0, "A column selector leaves out key columns.", "Let it keep the primary key or a whole unique index."
    ),
    "ErrDispatcherFailed": Code(
        0, "A dispatcher names an index or a column that the table has not.", "Correct it and resume."
    ),
    # Sources
    "ErrSourceURIInvalid": Code(400, "The source URI is wrong, or the source cannot be read.", "The message says why."),
    "ErrKafkaUnreachable": Code(0, "No broker answers.", "Look at address, port, TLS and credentials."),
    "ErrKafkaTopicNotExists": Code(
        400, "The topic is missing; a running changefeed waits for it.", "Create the topic, or correct the URI."
    ),
    "ErrKafkaPositionLost": Code(
        0,
        "What was to be read next has been deleted, or the topic was made anew.",
        "Set on-lost-position=earliest in the source URI and resume; what lies between is lost.",
    ),
    "ErrKafkaInvalidConfig": Code(400, "Kafka refuses the settings.", "The message says which."),
    "ErrSourceFolderUnreadable": Code(
        0, "The source folder cannot be listed.", "Mount it, or give rights; it goes on."
    ),
    "ErrSourceFileUnreadable": Code(0, "A file of the source cannot be read.", "Give rights, or put it back."),
    "ErrSourceFileChanged": Code(
        0, "A file changed after it was read in part.", "Files must be complete when they appear: write, then rename."
    ),
    "ErrDecodeFailed": Code(
        0,
        "A message cannot be decoded; the message of the error has its position.",
        "Repair the source, skip it (POST …/skips), or set bad-message=dead-letter in the source URI.",
    ),
    "ErrSourceChanged": Code(
        0, "The source was made anew while it was read.", "It is looked at again; see on-lost-position."
    ),
    "ErrSourceFileDamaged": Code(0, "A packed source file is damaged or cut off.", "Put it back whole."),
    "ErrSourcePositionLost": Code(
        0, "What was to be read next is not there any more.", "Create the changefeed anew, or give the source back."
    ),
    "ErrHoldQuotaExceeded": Code(
        0, "More rows wait for watermarks than may be held.", "Look why a partition gets no watermarks."
    ),
    # Sinks
    "ErrTableRouteConflict": Code(
        0, "Two tables of the source would have one name in the sink.", "Give them names of their own."
    ),
    "ErrInvalidTableRoutingRule": Code(400, "A target's name cannot be made.", "The message says how to write it."),
    "ErrSinkURIInvalid": Code(400, "The sink URI is wrong, or the sink cannot be written.", "The message says why."),
    "ErrSinkUnknownProtocol": Code(400, "The protocol is missing or unknown.", "Choose one that the message lists."),
    "ErrSinkFolderNotEmpty": Code(
        400, "The folder holds data of somebody else, or of an earlier changefeed.", "Choose another, or adopt it."
    ),
    "ErrStorageSinkInvalidConfig": Code(400, "A setting of the storage sink is wrong.", "The message says which."),
    "ErrStorageWriteFailed": Code(0, "A file cannot be written.", "Make room or give rights; it goes on by itself."),
    "ErrEncodeFailed": Code(0, "A value has no form in the sink's protocol.", "The message names table and column."),
    "ErrCommitLogDamaged": Code(
        0, "The commit log below `_weir/` is not as it was written.", "Restore the folder, or begin in a new one."
    ),
    "ErrCommitLogGone": Code(
        0, "The commit log was removed while the changefeed ran.", "Put the folder back, or create it anew."
    ),
    # Running
    "ErrNoCapture": Code(
        400, "Nobody runs it, or nobody can carry out the order.", "Start a capture; see GET /api/v2/captures."
    ),
    "ErrChangefeedNotStarted": Code(
        0, "A capture was given it and has not started it.", "Look into that capture's log."
    ),
    "ErrChangefeedStuck": Code(0, "Nothing moves in the stage that is named.", "Look at what it waits for."),
    "ErrWaitingForWatermark": Code(
        0,
        "Rows wait for a watermark that does not come.",
        "See that every partition gets watermarks (watermark=ignore).",
    ),
    "ErrDeadLettersGrowing": Code(0, "Messages that cannot be decoded keep coming.", "See GET …/dead_letters."),
    "ErrFenced": Code(
        0, "Another owner has the commit log.", "Nothing, once; again and again: is it run elsewhere too?"
    ),
    "ErrQueryFailed": Code(0, "Spark ended the query.", "The capture's log has the trace; it is tried again."),
    "ErrExternalFailure": Code(0, "Something outside failed.", "The message says what; it is tried again."),
    "ErrInjected": Code(0, "A test let it fail.", "Unset WEIR_FAILPOINT."),
    # Captures, upstreams, what lies beside
    "ErrCaptureNotExist": Code(400, "There is no such capture.", "List them with GET /api/v2/captures."),
    "ErrSchedulerRequestFailed": Code(
        400, "It cannot be drained, moved or split.", "The message says why; start another capture first."
    ),
    "ErrUpstreamNotFound": Code(400, "There is no such upstream.", "List them with GET /api/v2/upstreams."),
    "ErrUpstreamInUse": Code(400, "Changefeeds were made from the upstream.", "Remove them first."),
    "ErrDeadLetterNotExists": Code(400, "There is no such dead letter.", "List them with GET …/dead_letters."),
    "ErrDeadLettersUnreachable": Code(
        400, "The folder of dead letters cannot be read from here.", "Mount WEIR_CHECKPOINT_ROOT where the API runs."
    ),
    "ErrLeftoverNotExists": Code(400, "There is no such leftover.", "List them with GET /api/v2/leftovers."),
}
