"""An installed package that adds a codec, a source and a sink to Weir, and imports only what Weir offers for that.

example-pairs      a codec: ``shop.orders 1772150400000 id=7 name=tea`` is an insert
example-list://    a source: the messages stand in the URI itself
example-notes://   a sink: a folder with one file a table, and one for statements
"""
