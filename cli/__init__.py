"""The ``weir`` command: the codec library without Spark, service or network. All I/O of the formats is here."""
