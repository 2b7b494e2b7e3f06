"""Canal-JSON: Canal's FlatMessage and what TiCDC made of it. One message is one JSON object without line ends.

Read in every dialect, written in TiCDC's (today's and before v5.4) and Canal's own. The rules stand in the modules:

    envelope, events, structure, wording, opener      reading
    plan, layout, writers                             writing
    passing                                           from one to the other with the JSON of the rows as it is
"""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL
from spark_jobs.cdc.codecs.canal_json.opener import Opener
from spark_jobs.cdc.codecs.canal_json.options import ENCODE_OPTIONS

CODEC: Final = Codec(
    name=PROTOCOL,
    opener=Opener,
    decoder=Decoder,
    encoder=Encoder,
    encode_options=ENCODE_OPTIONS,
    text=True,
)
