"""Keystrokes as in an ssh session: 64 bytes every 50 ms, each echoed; prints a histogram of echo latency.

python echo.py serve                  at the server
python echo.py type SERVER SECONDS    at a station
"""

import socket
import sys
import time

PORT = 2222
KEYSTROKE = 64
BOUNDS_MS = (5, 10, 20, 30, 50, 100, 200, 500, 1000)


def serve() -> None:
    """Send back whatever arrives."""
    listener = socket.create_server(("", PORT))
    while True:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(4096):
            peer.sendall(data)


def type_at(server: str, seconds: float) -> None:
    """Type, and measure how long each echo takes."""
    peer = socket.create_connection((server, PORT), timeout=10)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    taken_ms = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        begin = time.monotonic()
        peer.sendall(b"x" * KEYSTROKE)
        got = 0
        while got < KEYSTROKE:
            got += len(peer.recv(KEYSTROKE))
        taken_ms.append((time.monotonic() - begin) * 1e3)
        time.sleep(max(0.0, begin + 0.05 - time.monotonic()))
    taken_ms.sort()
    print(f"{len(taken_ms)} echoes: median {taken_ms[len(taken_ms) // 2]:.1f} ms, worst {taken_ms[-1]:.1f} ms")
    low = 0
    for bound in (*BOUNDS_MS, 10**9):
        count = sum(low <= one < bound for one in taken_ms)
        label = f"{low:4} to {bound:4} ms" if bound < 10**9 else f"{low:4} ms and more"
        if count:
            print(f"{label:>16} {count:5} {'#' * round(50 * count / len(taken_ms))}")
        low = bound


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        type_at(sys.argv[2], float(sys.argv[3]))
