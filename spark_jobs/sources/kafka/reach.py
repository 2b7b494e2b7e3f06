"""Whether a broker's door opens: told by its kind, within seconds. The Kafka client itself only says, after ten
seconds, that nobody answered. I/O.
"""

import socket
import ssl
from typing import Final

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka.uri import KafkaSource

SECONDS: Final = 3.0


def require_open(source: KafkaSource) -> None:
    """``ConfigError`` when no broker can be reached, with the reason for each."""
    reasons = []
    for address in source.brokers.split(","):
        reason = _reason(source, address)
        if not reason:
            return
        reasons.append(f"{address} {reason}")
    raise ConfigError(f"{WHAT}: no Kafka broker can be reached: {'; '.join(reasons)}", code=CODE)


def _reason(source: KafkaSource, address: str) -> str:
    """Why this one cannot be reached, "" when it can."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            if source.tls:
                with _context(source).wrap_socket(connection, server_hostname=host):
                    pass
    except socket.gaierror:
        return f"is not known: the name {host} cannot be resolved"
    except ssl.SSLCertVerificationError as error:
        return f"shows a certificate that is not trusted ({error.verify_message}); give ca=, or another host name"
    except ssl.SSLError as error:
        return f"does not speak TLS as asked for ({error.reason or 'no handshake'}); is it enable-tls=false there?"
    except ConnectionRefusedError:
        return "refuses the connection: nothing listens there"
    except TimeoutError:
        return f"does not answer within {SECONDS:g} s: a firewall, or another network?"
    except OSError as error:
        return f"cannot be reached: {error.strerror or error}"
    return ""


def _context(source: KafkaSource) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=source.ca or None)
    if source.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if source.cert:
        context.load_cert_chain(source.cert, source.key or None)
    return context
