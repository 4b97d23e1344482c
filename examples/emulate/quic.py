"""A transfer over QUIC, with aioquic (pip install aioquic); client and server write qlog.

python quic.py serve BYTES            at the server
python quic.py fetch SERVER QLOG_DIR  at a station
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.asyncio import serve as listen
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.logger import QuicFileLogger

PORT = 4433
NAMES = ["transfer"]


class Server(QuicConnectionProtocol):  # type: ignore[misc]
    """One connection at the server."""

    size = 0

    def quic_event_received(self, event: object) -> None:
        """Answer a request that is complete."""
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, bytes(self.size), end_stream=True)
            self.transmit()


async def serve(size: int) -> None:
    """Send this many bytes to each client that asks."""
    Server.size = size
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=server"]
        subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
        configuration = QuicConfiguration(alpn_protocols=NAMES, is_client=False)
        configuration.load_cert_chain(certificate, key)
        await listen("0.0.0.0", PORT, configuration=configuration, create_protocol=Server)
        await asyncio.Future()


async def fetch(server: str, qlog: str) -> None:
    """Request the bytes, and print how long it took."""
    Path(qlog).mkdir(exist_ok=True)
    configuration = QuicConfiguration(alpn_protocols=NAMES, is_client=True, verify_mode=0)
    configuration.quic_logger = QuicFileLogger(qlog)
    async with connect(server, PORT, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        begin = time.monotonic()
        writer.write(b"get")
        writer.write_eof()
        size = len(await reader.read())
        taken = time.monotonic() - begin
        print(f"{size} bytes by QUIC in {taken:.2f} s: {size * 8 / taken / 1e6:.2f} Mb/s")


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[2])) if sys.argv[1] == "serve" else fetch(sys.argv[2], sys.argv[3]))
