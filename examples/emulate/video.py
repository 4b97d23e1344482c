"""A stream as in a video call: 30 pictures a second, each of several datagrams; counts those that arrive in time.

python video.py show SECONDS                   at the receiver
python video.py send RECEIVER MBIT_S SECONDS   at the sender
"""

import socket
import struct
import sys
import time

PORT = 5004
PICTURES_S = 30
PAYLOAD = 1200
HEAD = struct.Struct("!IHHd")
"""Picture, datagram within it, number of its datagrams, and time sent (all hosts of an emulation share a clock)."""
IN_TIME_S = 0.1


def send(receiver: str, mbit_s: float, seconds: float) -> None:
    """Send pictures of the same size at regular times."""
    stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream.connect((receiver, PORT))
    parts = max(1, round(mbit_s * 1e6 / 8 / PICTURES_S / PAYLOAD))
    begin = time.monotonic()
    for picture in range(round(seconds * PICTURES_S)):
        time.sleep(max(0.0, begin + picture / PICTURES_S - time.monotonic()))
        now = time.monotonic()
        for part in range(parts):
            stream.send(HEAD.pack(picture, part, parts, now).ljust(PAYLOAD, b"v"))


def show(seconds: float) -> None:
    """Count pictures that arrive complete and in time."""
    stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream.bind(("", PORT))
    stream.settimeout(0.2)
    got: dict[int, list[float]] = {}
    parts = 1
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            picture, _, parts, sent = HEAD.unpack_from(stream.recv(65536))
        except TimeoutError:
            continue
        got.setdefault(picture, []).append(time.monotonic() - sent)
    whole = [max(delays) for delays in got.values() if len(delays) == parts]
    in_time = sum(delay <= IN_TIME_S for delay in whole)
    pictures = max(got, default=-1) + 1
    delays_ms = sorted(delay * 1e3 for delay in whole) or [float("nan")]
    print(f"{pictures} pictures: {len(whole)} whole, {in_time} within {IN_TIME_S * 1e3:.0f} ms; ", end="")
    print(f"delay median {delays_ms[len(delays_ms) // 2]:.1f} ms, worst {delays_ms[-1]:.1f} ms")


if __name__ == "__main__":
    if sys.argv[1] == "show":
        show(float(sys.argv[2]))
    else:
        send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
