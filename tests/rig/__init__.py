"""The rig: runs the real product as processes, feeds it a known workload, kills it, and judges what came out.

    workload   what happens in the upstream, message by message, and the ledger of what must come out
    upstream   the workload as a growing folder, a topic of a broker, a queue of plain files
    watch      follows an output folder by its index files while it is written, and judges it at the end
    waiting    conditions with deadlines
    lone       one owner without Spark, in a process of its own that can be killed thousands of times
    arena      lone owners under load: killed, asleep, replaced, woken up late
    group      an operating-system process with everything it starts: killed, stopped, continued as one
    plane      the control plane as a process, and its API
    captures   captures as processes, with faults by order
    rig        all of it together
    cluster    Spark's standalone master and worker

Nothing here knows how the product does what it does, apart from the commit log's entries, which are read as plain JSON.
"""
