"""One micro-batch: read, decode, filter, encode, cut into files, commit.

    job       what a worker needs to know; travels with the tasks
    translate one source message → what it is, and its rows in the sink's format
    pieces    rows gathered into staged files
    ordered   a folder: one ordered stream, split by splits, no merge
    merged    a queue: many partitions, chunks merged by commit-ts
    chunks    what is between the two stages of a queue
    settle    table versions, file numbers, checkpoint → the commit entry
    publish   final names, index files, metadata: derived from the log

The modules that run in workers import neither the log nor Spark.
"""
