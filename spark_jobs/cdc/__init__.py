"""The product's heart: events, codecs, filters, table schemas. Bytes in, values out.

No Spark, no network, no database, no clock, no environment; standard library, msgspec, protobuf and sqlglot only.
"""
