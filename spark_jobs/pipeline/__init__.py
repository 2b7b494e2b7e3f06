"""One batch from the source to the sink, exactly once.

    flow       one changefeed under one assignment: the source's enumerator feeds the intake
    intake     watermarks → horizon → job → read → order → commit
    lookout    which watermarks a batch brings
    horizon    up to where rows may be delivered (pure)
    job        what a worker is told, and what it gives back
    routes     no two tables under one name in the sink
    read       the one loop: open, filter, hold, serialise (workers)
    pairs      updates that come as two messages
    held       messages that wait
    gather     where serialised rows go: pieces at once, or chunks
    repeats    rows that the upstream sent again
    pieces     rows gathered into staged files
    spool      rows between reading and ordering
    order      rows of many strands in one order (workers)
    delivery   an owner: claim, entry, publish
    activity   what it is at, for whoever asks
    dead_letters, bad_message

The modules that run in workers import neither the log nor Spark. None knows a source or a sink by name.
"""
