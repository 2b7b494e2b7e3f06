"""Starts a capture: ``python -m spark_jobs.capture --server URL``, or with ``spark-submit``."""

import sys

from spark_jobs.host.capture import main

if __name__ == "__main__":
    sys.exit(main())
