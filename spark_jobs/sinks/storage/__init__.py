"""``file://`` as a sink: TiCDC's storage layout. No Spark; workers write staged files, the driver publishes them.

uri         what a sink URI over its configuration says
serializer  rows → lines of a data file, in workers
versions    pieces and statements → table versions, schema files, numbers
steps       what may become visible together
committer   steps → names that readers see; index files; ``metadata``
"""

from spark_jobs.sinks.storage.uri import WEIR_FOLDER, StorageSink, parse

__all__ = ["WEIR_FOLDER", "StorageSink", "parse"]
