"""Canal-JSON: Canal's FlatMessage and what TiCDC made of it. One message is one JSON object without line ends.

Read in every dialect, written in TiCDC's (today's and before v5.4) and Canal's own. The rules stand in the modules:
``canal_json/envelope``, ``canal_json/structure`` and ``canal_json/wording`` (reading), ``canal_json/plan`` and
``canal_json/layout`` (writing).
"""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL
from spark_jobs.cdc.codecs.canal_json.options import ENCODE_OPTIONS

CODEC: Final = Codec(name=PROTOCOL, decoder=Decoder, encoder=Encoder, encode_options=ENCODE_OPTIONS, text=True)
