"""The local server of the page of `wifair lab`.

It listens on the loopback interface only. Every address contains a random token. The server checks the Host header, and
the Origin header of POST requests, so that other web pages cannot use it, not even through a DNS name that resolves to
127.0.0.1 (DNS rebinding). Any local account can connect, so connections are bounded: a new one displaces the oldest of
those over which no token has come, so that nobody locks the owner out.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any

from wifair import _core
from wifair.laboratory import page

MOST_BYTES = 5_000_000
"""The greatest size of a request [bytes]; a scenario has at most four million."""
MOST_LABS = 16
"""The most runs that are held at the same time."""
PATIENCE_S = 120.0
"""A connection that is idle for this long is closed [s]."""
STRANGER_S = 5.0
"""A connection over which no request with the token has come after this long is closed [s]."""
MOST_CONNECTIONS = 64
"""The most connections at the same time; a browser opens about six."""
POLICY = f"{page.POLICY}; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"


class LabServer:
    """The server of the page, which also runs the simulator; use it in a `with` statement, or call `close`.

    Attributes
    ----------
    url : str
        Address of the page, with the token.
    port : int
        The port.
    state : dict or None
        The last state of the page: ``text`` (the scenario as TOML), ``name``, ``seed``, ``lesson``; None before the
        page is open.
    """

    def __init__(self, start: page.Start | None = None, *, port: int = 0) -> None:
        """Listen on `port`, or on a free port if that is 0.

        Raises
        ------
        OSError
            If the port is in use or not permitted.
        """
        self.start = start or page.Start()
        self.token = secrets.token_urlsafe(24)
        self.state: dict[str, object] | None = None
        self._labs: OrderedDict[str, _core.Lab] = OrderedDict()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.lab = self
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="wifair-lab", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LabServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, name: str, request: bytes) -> bytes:
        """Answer a request with the lab called `name`; beyond `MOST_LABS`, the least recently used one is discarded."""
        with self._lock:
            lab = self._labs.pop(name, None) or _core.Lab()
            self._labs[name] = lab
            while len(self._labs) > MOST_LABS:
                self._labs.popitem(last=False)
        return lab.ask(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 2 * MOST_CONNECTIONS
    lab: LabServer

    def __init__(self, address: tuple[str, int], handler: type[_Handler]) -> None:
        self._guard = threading.Lock()
        self._strangers: dict[socket, float] = {}  # when each came; the oldest first
        self._known: OrderedDict[socket, None] = OrderedDict()  # the least recently used first
        super().__init__(address, handler)

    def recognise(self, connection: socket) -> None:
        """Take note that a request with the token has come over a connection."""
        with self._guard:
            if self._strangers.pop(connection, None) is not None or connection in self._known:
                self._known[connection] = None
                self._known.move_to_end(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            if len(self._strangers) + len(self._known) >= MOST_CONNECTIONS:
                self._drop(next(iter(self._strangers or self._known)))
            self._strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close the connections of strangers that are too old; called twice a second."""
        with self._guard:
            late = time.monotonic() - STRANGER_S
            for connection in [one for one, came in self._strangers.items() if came < late]:
                self._drop(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._forget(request)
        super().shutdown_request(request)

    def _drop(self, connection: socket) -> None:
        """Close a connection; its thread, which waits for a request, then ends."""
        self._forget(connection)
        with suppress(OSError):
            connection.shutdown(SHUT_RDWR)

    def _forget(self, connection: socket) -> None:
        self._strangers.pop(connection, None)
        self._known.pop(connection, None)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Log nothing: the browser closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "wifair"
    sys_version = ""
    timeout = STRANGER_S
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        name = self._name()
        if name is None:
            return
        lab = self.server.lab
        if name in ("", "index.html"):
            self._send(HTTPStatus.OK, page.index(lab.start, engine="http"), page.FILES["index.html"])
        elif name in page.FILES or (name == page.ENGINE and page.has_engine()):
            self._send(HTTPStatus.OK, page.read(name), page.FILES.get(name, "application/wasm"))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        name = self._name()
        if name is None:
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            self._refuse(HTTPStatus.FORBIDDEN, "the request comes from another page")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the request has no Content-Length")
            return
        if len(length) > 12 or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is longer than {MOST_BYTES} bytes")
            return
        body = self.rfile.read(int(length))
        path, _, lab = name.partition("/")
        if path == "ask" and lab.isalnum() and len(lab) <= 32:
            self._send(HTTPStatus.OK, self.server.lab.ask(lab, body), "application/octet-stream")
        elif name == "state":
            try:
                state = json.loads(body)
            except ValueError:
                state = None
            if not isinstance(state, dict):
                self._refuse(HTTPStatus.BAD_REQUEST, "the state is not a JSON object")
                return
            self.server.lab.state = state
            self._send(HTTPStatus.OK, b"", "text/plain")
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "no such request")

    def _name(self) -> str | None:
        """Get the path after the token; None if the request was refused."""
        port = self.server.lab.port
        if self.headers.get_all("Host") not in ([f"127.0.0.1:{port}"], [f"localhost:{port}"]):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "the Host header names another host")
            return None
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.lab.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "the address has no token: use the one that `wifair lab` printed")
            return None
        self.server.recognise(self.connection)
        self.connection.settimeout(PATIENCE_S)
        return name

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # the rest of the request is not read
        self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for header, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", POLICY),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(header, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: the log would contain the token."""
