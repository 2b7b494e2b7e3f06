"""An unreachable broker is told by its kind, at once."""

import contextlib
import socket
import subprocess
import threading
import time

import pytest

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources import parse_source
from spark_jobs.sources.kafka.reach import require_open
from tests.servers.ports import free_port


def source(address, options=""):
    return parse_source(f"kafka://{address}/t?protocol=canal-json{options}")


def told(address, options=""):
    with pytest.raises(ConfigError) as caught:
        require_open(source(address, options))
    return caught.value.message


@contextlib.contextmanager
def listening():
    """Something that accepts connections and says nothing sensible."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(b"HTTP/1.1 400 no\r\n\r\n")
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_name_that_nobody_knows():
    assert "the name no-such-host.invalid cannot be resolved" in told("no-such-host.invalid:9092")


def test_a_port_where_nothing_listens():
    assert "refuses the connection: nothing listens there" in told(f"127.0.0.1:{free_port()}")


def test_a_broker_that_speaks_no_tls():
    with listening() as address:
        assert "does not speak TLS" in told(address, "&enable-tls=true")


def test_a_certificate_that_is_not_trusted(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*made, *files, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    port = free_port()
    served = ["openssl", "s_server", "-quiet", "-accept", str(port), "-key", str(key), "-cert", str(certificate)]
    process = subprocess.Popen(served, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while "refuses" in (said := told(f"127.0.0.1:{port}", "&enable-tls=true")):
            assert time.monotonic() < deadline
        assert "shows a certificate that is not trusted" in said
        require_open(source(f"127.0.0.1:{port}", f"&enable-tls=true&ca={certificate}"))
    finally:
        process.kill()
        process.wait()


def test_one_of_several_is_enough_and_otherwise_each_is_told():
    with listening() as address:
        require_open(source(f"127.0.0.1:{free_port()},{address}"))
    said = told(f"127.0.0.1:{free_port()},no-such-host.invalid:1")
    assert "refuses" in said
    assert "cannot be resolved" in said
