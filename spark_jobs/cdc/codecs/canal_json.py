"""Canal-JSON: Canal's FlatMessage and what TiCDC made of it. One message is one JSON object without line ends.

Read in every dialect, written in TiCDC's (today's and before v5.4) and Canal's own. The rules stand in the modules:
``canal_json_envelope``, ``canal_json_structure`` and ``canal_json_wording`` (reading), ``canal_json_plan`` and
``canal_json_layout`` (writing).
"""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs.canal_json_decoder import Decoder
from spark_jobs.cdc.codecs.canal_json_encoder import Encoder
from spark_jobs.cdc.codecs.canal_json_envelope import PROTOCOL
from spark_jobs.cdc.codecs.canal_json_options import ENCODE_OPTIONS

CODEC: Final = Codec(name=PROTOCOL, decoder=Decoder, encoder=Encoder, encode_options=ENCODE_OPTIONS, text=True)
