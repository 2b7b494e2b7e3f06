"""The commit log: one truth per changefeed, a dense sequence of numbered entries, each created only if absent.

``entries`` has the entry and the state that entries add up to, ``log`` the sequence on a file system. No Spark, no
network.
"""
