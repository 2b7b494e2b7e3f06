"""Canal's protobuf format: the value of a Kafka record with flatMessage=false, or what a client reads from the server.

    envelope → entry → images        opening and decoding: ``canal_protobuf/opener``,
                                     ``canal_protobuf/quick``, ``canal_protobuf/entry`` (exact)
    rows → entry → packet            encoding: ``canal_protobuf/encode``, ``canal_protobuf/rows``

Each of these modules opens with the rules of its part. No socket, no Kafka: frames and records are a source's business.
"""

from collections.abc import Mapping
from typing import Final

from spark_jobs.cdc.codec import Codec, Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.canal_protobuf.decode import Decoder
from spark_jobs.cdc.codecs.canal_protobuf.encode import Encoder
from spark_jobs.cdc.codecs.canal_protobuf.envelope import AUTO, PROTOCOL, UNITS
from spark_jobs.cdc.codecs.canal_protobuf.opener import CanalOpener

DECODE_OPTIONS: Final = (Option("unit", "choice", AUTO, "what one message is", UNITS),)
ENCODE_OPTIONS: Final = (
    Option("max-batch-size", "int", "1", "entries in one packet"),
    Option("max-message-bytes", "int", str(10 << 20), "a packet takes no further entry beyond this size"),
)


def make_opener(options: Mapping[str, str], /) -> CanalOpener:
    return CanalOpener(Options(PROTOCOL, options, DECODE_OPTIONS).text("unit"))


def make_decoder(options: Mapping[str, str], /) -> Decoder:
    return Decoder(Options(PROTOCOL, options, DECODE_OPTIONS).text("unit"))


def make_encoder(options: Mapping[str, str], /) -> Encoder:
    given = Options(PROTOCOL, options, ENCODE_OPTIONS)
    return Encoder(given.number("max-batch-size"), given.number("max-message-bytes"))


CODEC: Final = Codec(
    name=PROTOCOL,
    opener=make_opener,
    decoder=make_decoder,
    encoder=make_encoder,
    decode_options=DECODE_OPTIONS,
    encode_options=ENCODE_OPTIONS,
)
