"""DataHub Blob records: one UTF-8 JSON object each, as DataWorks writes them (fact sheet §3–§6).

Rules

1. A row event names its columns with their StreamX types in ``schema.dataColumn`` (an array); ``payload.before`` and
   ``payload.after`` hold the values (``dataColumn`` again, an object). ``streamx.py`` has the types.
2. An UPDATE is written as two messages, ``UPDATE_BEFOR`` (without its second E) and ``UPDATE_AFTER``, that share a
   ``sequenceId``. Also read: ``UPDATE_BEFORE``, and ``UPDATE`` with both images in one message. A half is read as an
   UPDATE with ``half`` set; ``spark_jobs/cdc/rows/halves.py`` joins halves.
3. DDL has no columns and no images, but ``ddl.text``. ``ddlMeta`` is Java serialisation of private classes: passed on
   as it is, written as null, never opened.
4. A heartbeat has an empty ``schema`` and no ``sequenceId``. A watermark is written as a heartbeat of its time, or
   not at all (``watermark=drop``).
5. ``sequenceId`` is written as a string and read as string or number; ``version`` is ``0.0.1`` and not checked.
6. ``op`` is case-sensitive. A message with an unknown one is skipped and counted in ``skipped``, unless it
   carries ``ddl.text``: a statement is never lost because of its name.
7. Not carried: commit-ts (only ``eventTime``, milliseconds), MySQL's types beyond the six, log positions, GTIDs,
   transaction ids, physical partitions. A column that the event does not carry is missing in the image.
"""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs.datahub.blob_decoder import DECODE_OPTIONS, Decoder, Opener
from spark_jobs.cdc.codecs.datahub.blob_encoder import ENCODE_OPTIONS, Encoder
from spark_jobs.cdc.codecs.datahub.blob_message import NAME

CODEC: Final = Codec(
    name=NAME,
    opener=Opener,
    decoder=Decoder,
    encoder=Encoder,
    decode_options=DECODE_OPTIONS,
    encode_options=ENCODE_OPTIONS,
    text=True,
)
