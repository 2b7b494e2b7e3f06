"""``file://`` as a source: a folder that grows is one ordered stream.

    uri         what the URI says
    glob        patterns of names
    listing     which files are there, in the order they are read
    enumerator  what is read next (driver)
    split       reading it (workers)

A file must be complete when it appears (written elsewhere, renamed in). Files that appear together are taken in name
order, messages in their order in the file, every file once, however old it is.
"""
