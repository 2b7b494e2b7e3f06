# One image for both roles:
#
#   docker build -t weir .
#   docker run -e WEIR_ADMIN_TOKEN -p 127.0.0.1:8300:8300 -v weir-data:/data --stop-timeout 30 weir
#                                      the service, with one local capture; every call of its API wants that token
#   docker run weir spark_jobs.capture --server http://weir:8300 --detached           a capture beside it: it needs the
#                                      service's network, volume and WEIR_CAPTURE_TOKEN, as compose.yaml gives them
#   docker run -i weir cli.main inspect --from canal-json < dump                      the command-line tool
#
# Everything the service needs is inside: no registry is asked when it runs.
FROM python:3.11-slim-bookworm

# Slim images have no manual pages, nor a folder for the links that Java's package wants to make there. Versions are not
# pinned: they are those of the base image's release, whose archive keeps only the last.
# hadolint ignore=DL3008
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*

RUN groupadd --gid 8300 weir \
    && useradd --uid 8300 --gid 8300 --create-home --shell /usr/sbin/nologin weir \
    && install -d -o weir -g weir /data

WORKDIR /opt/weir

# What changes seldom comes first, so that a change of code builds in seconds.
COPY requirements/runtime.lock requirements/
RUN python -m pip install --no-cache-dir --require-hashes -r requirements/runtime.lock
COPY requirements/jars.py requirements/jars.xml requirements/jars.sha256 requirements/
RUN python requirements/jars.py fetch spark && rm -rf build

COPY LICENSE ./
COPY migrations/ migrations/
COPY cli/ cli/
COPY spark_jobs/ spark_jobs/
COPY app/ app/
RUN python -m compileall -q app cli migrations spark_jobs

ENV PYTHONPATH=/opt/weir \
    PYTHONUNBUFFERED=1 \
    WEIR_HOME=/data \
    WEIR_LISTEN=0.0.0.0:8300

# By number, so that a cluster can see that it is not root.
USER 8300:8300
VOLUME /data
EXPOSE 8300

# A capture does not answer HTTP: run that role with --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['WEIR_LISTEN'].rpartition(':')[2] + '/readyz', timeout=4)"]

# SIGTERM drains: captures finish their batches, which may take 20 s.
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "-m"]
CMD ["app"]
