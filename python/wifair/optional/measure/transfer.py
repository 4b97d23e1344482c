"""One end of a flow: sends or receives at its time, and then reports what happened when.

Each end is a thread with a plain blocking socket, as in ttcp (M. Muuss and T. Slattery, US Army Ballistic Research
Laboratory, 1984), so that the kernel's TCP is measured. The connection is opened before the common start. Times in
results are seconds since that start.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from wifair._kernel_tcp import INFINITE_SSTHRESH, TcpInfo, has_tcp_info, tcp_info
from wifair._output.words import reason
from wifair.optional.measure.clock import now
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.flow import Flow
from wifair.optional.measure.posix import fcntl, resource
from wifair.optional.measure.recorder import Recorder
from wifair.optional.measure.secret import mac, same

CHUNK = 1 << 16
POLL_S = 0.25
STALL_S = 30.0
SESSION_POLL_S = 0.001
TOKEN_BYTES = 48
UDP_HEADER = struct.Struct("!QQ")
UDP_LINGER_S = 1.0
UDP_CATCH_UP_S, UDP_RECEIVE_BUFFER = UDP_LINGER_S / 2, 1 << 22
HELLO = b"\xff"
SIOCOUTQ = 0x5411
SIOCOUTQNSD = 0x894B
SO_MEMINFO = 55
MEMINFO = struct.Struct("9I")
TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)
NOTSENT_BYTES = 1 << 17

SERIES = (
    "time_s",
    "cwnd",
    "ssthresh",
    "srtt_s",
    "rto_s",
    "unacked_bytes",
    "notsent_bytes",
    "retransmissions",
    "delivery_rate_bps",
)
"""Sampled figures of a sender; windows are in segments."""

COUNTERS = ("total_retrans", "total_rto", "data_segs_out", "bytes_sent", "bytes_retrans", "busy_time")


def token(key: bytes, repetition: bytes, flow: Flow) -> bytes:
    """Create the token that a station sends on a data connection; it names the flow, and proves the permission."""
    return repetition + mac(key, b"data", repetition, flow.name.encode())


class Stopped(Exception):  # noqa: N818
    """The repetition was ended by something else."""


class End:
    """One end of a flow. `open`, then `run` in a thread: it prepares, sets `ready`, waits for `go`, sets `result`."""

    def __init__(
        self, flow: Flow, *, sends: bool, key: bytes, repetition: bytes, sample_s: float, timeout_s: float
    ) -> None:
        """`key` is that of the control connection between station and server, `repetition` 16 bytes."""
        self.flow = flow
        self.sends = sends
        self.token = token(key, repetition, flow)
        self.answer = mac(key, b"answer", self.token)
        self.timeout_s = timeout_s
        self.ready: Future[None] = Future()
        self.result: Future[dict[str, Any]] = Future()
        self.connection: socket.socket | None = None
        self.series = Recorder(SERIES, sample_s)
        self.origin_s = 0.0
        self._progress = Recorder(("time_s", "bytes"), min(sample_s, 0.02))
        self._go = threading.Event()
        self._stop: str | None = None
        self._calls = 0
        self._baseline: TcpInfo = {}

    def go(self, origin_s: float) -> None:
        """Begin at `origin_s` on this host's clock, plus the flow's own delay."""
        self.origin_s = origin_s
        self._go.set()

    def stop(self, reason: str) -> None:
        """End it as soon as possible, from any thread."""
        if self._stop is None:
            self._stop = reason
        self._go.set()
        connection = self.connection
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Connect, transfer and set the results; never raises."""
        try:
            self._connect()
            self.ready.set_result(None)
            self._go.wait(self.timeout_s)
            self._check()
            if not self._go.is_set():
                raise MeasureError("no start came")
            self.result.set_result(self._transfer())
        except Exception as error:
            self._fail(error)
        finally:
            self.close()

    def close(self) -> None:
        """Give back what the end holds."""
        if self.connection is not None:
            self.connection.close()

    def sample(self) -> None:
        """Add a row to the series if there is a connection; called by the thread that samples all ends."""
        time_s = now() - self.origin_s
        if not self.sends or self.connection is None or self.flow.transport != "tcp" or not self.series.wants(time_s):
            return
        info = tcp_info(self.connection)
        if info is None or info["snd_cwnd"] is None:
            return
        queued, unsent = self._queue(SIOCOUTQ), self._queue(SIOCOUTQNSD)
        self.series.add(
            round(time_s, 6),
            info["snd_cwnd"],
            None if info["snd_ssthresh"] == INFINITE_SSTHRESH else info["snd_ssthresh"],
            _seconds(info["rtt"]),
            _seconds(info["rto"]),
            max(queued - unsent, 0) if queued is not None and unsent is not None else None,
            info["notsent_bytes"],
            _minus(info["total_retrans"], self._baseline.get("total_retrans")),
            8 * info["delivery_rate"] if info["delivery_rate"] is not None else None,
        )

    def _fail(self, error: Exception) -> None:
        why = self._stop or (str(error) if isinstance(error, MeasureError) else _plain(error))
        failure = Stopped(why) if self._stop is not None else MeasureError(f"flow `{self.flow.name}`: {why}")
        for future in (self.ready, self.result):
            if not future.done():
                future.set_exception(failure)

    def _check(self) -> None:
        if self._stop is not None:
            raise Stopped(self._stop)
        if self._go.is_set() and now() - self.origin_s > self.timeout_s:
            raise MeasureError(f"took longer than {self.timeout_s:g} s")

    def _connect(self) -> None:
        raise NotImplementedError

    def _set_up(self, connection: socket.socket) -> None:
        """Set the options that affect the first packet."""
        flow = self.flow
        if self.sends and flow.send_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, flow.send_buffer)
        if not self.sends and flow.receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, flow.receive_buffer)
        if flow.transport != "tcp":
            if not self.sends and flow.receive_buffer is None:
                # As large as the kernel allows, so that a receiver that waits for a processor loses nothing.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UDP_RECEIVE_BUFFER)
            return
        if flow.mss is not None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, flow.mss)
        if self.sends and flow.cc is not None:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow.cc.encode())
            except OSError:
                raise MeasureError(f"the kernel has no congestion control `{flow.cc}`, or not for this user") from None
        if self.sends and flow.duration_s is not None:
            # Data in the buffer at the end of the time would still be sent.
            connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_BYTES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _transfer(self) -> dict[str, Any]:
        begin_s = self.origin_s + self.flow.start_s
        assert self.connection is not None
        self._baseline = tcp_info(self.connection) or {} if self.flow.transport == "tcp" else {}
        if self.sends:
            self._wait_until(begin_s)
        used = _cpu_s()
        work = {
            (True, "tcp"): self._send_sessions if self.flow.sessions is not None else self._send,
            (False, "tcp"): self._receive,
            (True, "udp"): self._send_datagrams,
            (False, "udp"): self._receive_datagrams,
        }[self.sends, self.flow.transport]
        result = work(self.connection, begin_s)
        user_s, system_s = (after - before for after, before in zip(_cpu_s(), used))
        result |= {
            "calls": self._calls,
            "cpu_user_s": round(user_s, 6),
            "cpu_system_s": round(system_s, 6),
            "progress": self._progress.columns(),
        }
        return result | (self._connection_figures(self.connection) if self.flow.transport == "tcp" else {})

    def _wait_until(self, time_s: float) -> None:
        while (left := time_s - now()) > 0:
            self._check()
            time.sleep(min(left, POLL_S))
        self._check()

    def _since(self, origin: float | None = None) -> float:
        return round(now() - (self.origin_s if origin is None else origin), 6)

    # --- TCP

    def _send(self, connection: socket.socket, begin_s: float) -> dict[str, Any]:
        flow = self.flow
        connection.settimeout(POLL_S)
        data = memoryview(os.urandom(CHUNK))
        end_s = begin_s + flow.duration_s if flow.duration_s is not None else None
        size = flow.size
        started_s, written, moved_s = self._since(), 0, now()
        while (size is None or written < size) and (end_s is None or now() < end_s):
            try:
                written += connection.send(data if size is None else data[: size - written])
                self._calls += 1
                moved_s = now()
            except TimeoutError:
                self._stalled(moved_s)
            if self._stop is not None:
                break
        self._check()
        return self._finish(connection, written, started_s)

    def _finish(self, connection: socket.socket, written: int, started_s: float) -> dict[str, Any]:
        """Close the sending half, and wait until the last byte is acknowledged."""
        connection.shutdown(socket.SHUT_WR)
        written_s, last, moved_s = self._since(), None, now()
        while (queued := self._queue(SIOCOUTQ)) is not None and queued > 0:
            self._check()
            if queued != last:
                last, moved_s = queued, now()
            self._stalled(moved_s)
            time.sleep(SESSION_POLL_S)
        acked_s = self._since()
        # The receiver closes when it has everything, so this returns at once, or raises after a reset.
        connection.settimeout(POLL_S)
        moved_s = now()
        while True:
            try:
                if not connection.recv(CHUNK):
                    break
            except TimeoutError:
                self._stalled(moved_s)
        self._check()
        return {"started_s": started_s, "written": written, "written_s": written_s, "acked_s": acked_s}

    def _send_sessions(self, connection: socket.socket, begin_s: float) -> dict[str, Any]:
        """Send sessions, each at its time or when the one before has been written.

        The kernel's send queue tells when a session was sent and acknowledged.
        """
        plan = self.flow.sessions
        assert plan is not None
        connection.setblocking(False)
        data = memoryview(os.urandom(CHUNK))
        total = plan.size * plan.count
        rows = [
            {"start_s": round(self.flow.start_s + k * plan.every_s, 6), "size": plan.size} for k in range(plan.count)
        ]
        written = sent = acked = 0  # bytes written, and sessions whose last byte was sent and acknowledged
        moved_s, started_s = now(), self._since()
        while acked < plan.count:
            self._check()
            due = min(int((now() - begin_s) / plan.every_s) + 1, plan.count) * plan.size
            try:
                while written < due:
                    written += connection.send(data[: due - written])
                    self._calls += 1
                    moved_s = now()
            except BlockingIOError:
                pass
            queued, unsent = self._queue(SIOCOUTQ), self._queue(SIOCOUTQNSD)
            if queued is None or unsent is None:
                raise MeasureError("sessions need Linux: elsewhere nothing tells when they end")
            at_s = self._since(begin_s)
            while sent < plan.count and written - unsent >= (sent + 1) * plan.size:
                rows[sent]["sent_after_s"] = round(at_s - sent * plan.every_s, 6)
                sent += 1
            while acked < plan.count and written - queued >= (acked + 1) * plan.size:
                rows[acked]["acked_after_s"] = round(at_s - acked * plan.every_s, 6)
                acked += 1
            if written - queued < min(due, total):
                self._stalled(moved_s)
                select.select([], [connection] if written < due else [], [], SESSION_POLL_S)
                self._gone(connection)
            else:
                moved_s = now()
                time.sleep(SESSION_POLL_S)
        connection.setblocking(True)
        return self._finish(connection, written, started_s) | {"sessions": rows}

    def _gone(self, connection: socket.socket) -> None:
        """Raise an error if the other side has closed."""
        try:
            if connection.recv(1, socket.MSG_PEEK) == b"":
                raise MeasureError("the other side closed the connection")
        except BlockingIOError:
            pass

    def _receive(self, connection: socket.socket, begin_s: float) -> dict[str, Any]:
        connection.settimeout(POLL_S)
        room = bytearray(4 * CHUNK)
        received, first_s = 0, None
        patience_s = max(begin_s, now())
        while True:
            try:
                count = connection.recv_into(room)
            except TimeoutError:
                self._check()
                self._stalled(patience_s)
                continue
            if count == 0:
                break
            patience_s = now()
            time_s = patience_s - self.origin_s
            if first_s is None:
                first_s = last_s = time_s
                self._progress.add(round(time_s, 6), 0)
            self._calls += 1
            received += count
            last_s = time_s
            if self._progress.wants(time_s):
                self._progress.add(round(time_s, 6), received)
        self._check()
        if first_s is None:
            raise MeasureError("the connection ended before any data")
        self._progress.add(round(last_s, 6), received)
        wanted = self.flow.size
        if self.flow.sessions is not None:
            wanted = self.flow.sessions.size * self.flow.sessions.count
        if wanted is not None and received != wanted:
            raise MeasureError(f"the connection ended after {received} of {wanted} bytes")
        return {"first_s": round(first_s, 6), "last_s": round(last_s, 6), "received": received}

    def _stalled(self, moved_s: float) -> None:
        self._check()
        patience_s = STALL_S + (self.flow.sessions.every_s if self.flow.sessions is not None else 0.0)
        if now() - moved_s > patience_s:
            raise MeasureError(f"no data went for {patience_s:g} s")

    def _queue(self, request: int) -> int | None:
        """Bytes in the send queue that are not acknowledged, or not sent (man 7 tcp, SIOCOUTQ and SIOCOUTQNSD)."""
        if fcntl is None or not has_tcp_info() or self.connection is None:
            return None
        try:
            return int(struct.unpack("i", fcntl.ioctl(self.connection, request, b"\0\0\0\0"))[0])
        except (OSError, ValueError):
            return None

    def _connection_figures(self, connection: socket.socket) -> dict[str, Any]:
        """Return what the kernel has counted since the start, and properties of the connection."""
        figures: dict[str, Any] = {
            "send_buffer": connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            "receive_buffer": connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        }
        info = tcp_info(connection)
        if info is None:
            return figures
        figures |= {name: _minus(info[name], self._baseline.get(name)) for name in COUNTERS}
        figures |= {"mss": info["snd_mss"], "min_rtt_s": _seconds(info["min_rtt"]), "reordering": info["reord_seen"]}
        if self.sends:
            name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            figures |= {"cc": name.split(b"\0")[0].decode("ascii", "replace"), "series": self.series.columns()}
        return figures

    # --- UDP

    def _send_datagrams(self, connection: socket.socket, begin_s: float) -> dict[str, Any]:
        flow = self.flow
        assert flow.payload is not None
        assert flow.rate_bps is not None
        assert flow.span_s is not None
        connection.settimeout(POLL_S)
        filler = os.urandom(flow.payload - UDP_HEADER.size)
        interval_s = 8 * flow.payload / flow.rate_bps
        # Half an interval more, so that the last datagram does not depend on rounding errors.
        datagrams = max(int(flow.span_s / interval_s + 0.5), 1)
        started_s, refused = self._since(), 0
        for number in range(datagrams):
            left = begin_s + number * interval_s - now()
            if left > 0:
                self._wait_until(begin_s + number * interval_s)
            elif now() - begin_s > flow.span_s + UDP_CATCH_UP_S:
                break  # the interface is too slow; a sender that was merely delayed catches up
            try:
                connection.send(UDP_HEADER.pack(number, time.monotonic_ns()) + filler)
                self._calls += 1
            except (TimeoutError, ConnectionRefusedError, BlockingIOError):
                refused += 1
            except OSError as error:
                if error.errno != errno.ENOBUFS:  # the queue of the interface is full
                    raise
                refused += 1
            self._check()
        written_s = self._since()
        return {
            "started_s": started_s,
            "written": self._calls * flow.payload,
            "written_s": written_s,
            "acked_s": written_s,
            "datagrams": self._calls,
            "refused": refused,
        }

    def _receive_datagrams(self, connection: socket.socket, begin_s: float) -> dict[str, Any]:
        assert self.flow.span_s is not None
        connection.settimeout(POLL_S)
        end_s = begin_s + self.flow.span_s + UDP_LINGER_S
        seen: set[int] = set()
        received = duplicates = reordered = 0
        highest, jitter_s, transit_s = -1, 0.0, None
        first_s = last_s = None
        overflowed = _overflowed(connection)
        while (present := now()) < end_s:
            try:
                datagram = connection.recv(1 << 16)
            except TimeoutError:
                self._check()
                continue
            except ConnectionRefusedError:
                continue
            if len(datagram) != self.flow.payload or datagram[0]:
                continue  # a repeated hello: no datagram has such a large number
            number, sent_ns = UDP_HEADER.unpack_from(datagram)
            present = now()
            time_s = present - self.origin_s
            first_s = time_s if first_s is None else first_s
            last_s = time_s
            self._calls += 1
            if number in seen:
                duplicates += 1
                continue
            seen.add(number)
            received += len(datagram)
            reordered += number < highest
            highest = max(highest, number)
            # RFC 3550, section 6.4.1: smoothed difference of transit times; the clocks' offset cancels.
            if transit_s is not None:
                jitter_s += (abs(present - sent_ns / 1e9 - transit_s) - jitter_s) / 16
            transit_s = present - sent_ns / 1e9
            if self._progress.wants(time_s):
                self._progress.add(round(time_s, 6), received)
            if self._stop is not None:
                break
        self._check()
        if first_s is None or last_s is None:
            raise MeasureError("no datagram arrived")
        self._progress.add(round(last_s, 6), received)
        return {
            "first_s": round(first_s, 6),
            "last_s": round(last_s, 6),
            "received": received,
            "datagrams": len(seen),
            "duplicates": duplicates,
            "reordered": reordered,
            "overflowed": _minus(_overflowed(connection), overflowed),
            "jitter_s": round(jitter_s, 9),
        }


class StationEnd(End):
    """The end at a station, which connects to the server."""

    def __init__(self, flow: Flow, address: tuple[str, int], **options: Any) -> None:
        """`address` is the server's address of the control connection, with the port of this flow."""
        super().__init__(flow, sends=flow.direction == "up", **options)
        self.address = address

    def _connect(self) -> None:
        kind = socket.SOCK_STREAM if self.flow.transport == "tcp" else socket.SOCK_DGRAM
        family = socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET
        self.connection = connection = socket.socket(family, kind)
        self._set_up(connection)
        connection.settimeout(10.0)
        connection.connect(self.address)
        if kind == socket.SOCK_STREAM:
            connection.sendall(self.token)
            answer = b""
            while len(answer) < len(self.answer):
                more = connection.recv(len(self.answer) - len(answer))
                if not more:
                    raise MeasureError("the server refused the data connection")
                answer += more
        else:
            answer = self._knock(connection)
        if not same(answer, self.answer):
            raise MeasureError("the server of the data connection is another one")

    def _knock(self, connection: socket.socket) -> bytes:
        """Exchange three datagrams: hello, a number, and that number; lost ones are sent again."""
        connection.settimeout(0.2)
        say = HELLO + self.token
        for _ in range(50):
            self._check()
            try:
                connection.send(say)
                answer = connection.recv(1 << 16)
            except (TimeoutError, ConnectionRefusedError):
                continue
            if len(answer) == 33 and answer[:1] == b"?":
                say = HELLO + self.token + answer[1:]
            elif len(answer) == 33 and answer[:1] == b"!":
                return answer[1:]
        raise MeasureError("the server does not answer to UDP")


class ServerEnd(End):
    """The end at the server, which accepts one connection from the right station."""

    def __init__(
        self, flow: Flow, local: str, station: str, ports: range | None, log: Callable[[str], object], **options: Any
    ) -> None:
        """`local` and `station` are the addresses of the control connection; `ports` those to choose from."""
        super().__init__(flow, sends=flow.direction == "down", **options)
        self.station = station
        self._log = log
        kind = socket.SOCK_STREAM if flow.transport == "tcp" else socket.SOCK_DGRAM
        self._listener = socket.socket(socket.AF_INET6 if ":" in local else socket.AF_INET, kind)
        try:
            self._set_up(self._listener)
            self._bind(local, ports)
            if kind == socket.SOCK_STREAM:
                self._listener.listen(8)
        except BaseException:
            self._listener.close()
            raise
        self.port = int(self._listener.getsockname()[1])

    def _bind(self, local: str, ports: range | None) -> None:
        if self.flow.transport == "tcp":
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in ports or (0,):
            try:
                self._listener.bind((local, port))
            except OSError as error:
                if ports is None or error.errno != errno.EADDRINUSE:
                    raise
            else:
                return
        raise MeasureError("all data ports are taken: give more with --data-ports")

    def close(self) -> None:
        """Give back what the end holds."""
        self._listener.close()
        super().close()

    def stop(self, reason: str) -> None:
        """End it as soon as possible, from any thread."""
        super().stop(reason)
        if self.connection is None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)

    def _connect(self) -> None:
        deadline_s = now() + 20.0
        if self.flow.transport == "udp":
            self._answer_knocks(deadline_s)
            return
        waiting: dict[socket.socket, bytes] = {}
        self._listener.setblocking(False)
        try:
            while self.connection is None:
                self._check()
                if now() > deadline_s:
                    raise MeasureError("the station did not open the data connection")
                for ready in select.select([self._listener, *waiting], [], [], POLL_S)[0]:
                    if ready is self._listener:
                        self._accept(waiting)
                    else:
                        self._hear(ready, waiting)
        finally:
            self._listener.close()
            for other in waiting:
                other.close()
        self.connection.settimeout(10.0)
        self.connection.sendall(self.answer)

    def _accept(self, waiting: dict[socket.socket, bytes]) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError:
            return
        if address[0] != self.station or len(waiting) >= 8:
            self._log(f"closed a data connection from {address[0]}: flow `{self.flow.name}` is for {self.station}")
            connection.close()
            return
        connection.setblocking(False)
        waiting[connection] = b""

    def _hear(self, connection: socket.socket, waiting: dict[socket.socket, bytes]) -> None:
        try:
            more = connection.recv(TOKEN_BYTES - len(waiting[connection]))
        except OSError:
            more = b""
        heard = waiting[connection] + more
        if more and len(heard) < TOKEN_BYTES:
            waiting[connection] = heard
            return
        del waiting[connection]
        if same(heard, self.token):
            self.connection = connection
        else:
            self._log(f"closed a data connection from {self.station}: it does not know flow `{self.flow.name}`")
            connection.close()

    def _answer_knocks(self, deadline_s: float) -> None:
        """Find the station: data is sent only to an address that has returned a number sent to it."""
        challenge = os.urandom(32)
        self._listener.settimeout(POLL_S)
        while now() < deadline_s:
            self._check()
            try:
                heard, address = self._listener.recvfrom(1 << 16)
            except (TimeoutError, ConnectionRefusedError):
                continue
            if address[0] != self.station or not same(heard[: 1 + TOKEN_BYTES], HELLO + self.token):
                continue
            if same(heard[1 + TOKEN_BYTES :], challenge):
                self._listener.connect(address)
                for _ in range(2):  # if both are lost, the repetition fails
                    self._listener.send(b"!" + self.answer)
                self.connection = self._listener
                return
            if len(heard) == 1 + TOKEN_BYTES:
                self._listener.sendto(b"?" + challenge, address)
        raise MeasureError("the station did not open the data connection")


def _cpu_s() -> tuple[float, float]:
    """CPU time of this thread in user mode and in the kernel [s]."""
    if resource is None or not hasattr(resource, "RUSAGE_THREAD"):
        return (0.0, 0.0)
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_utime, usage.ru_stime


def _overflowed(connection: socket.socket) -> int | None:
    """Get the number of datagrams dropped by a full socket buffer, if the kernel counts them (Linux 4.12 or newer)."""
    with contextlib.suppress(OSError, struct.error):
        return int(MEMINFO.unpack(connection.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, MEMINFO.size))[8])
    return None


def _minus(after: int | None, before: int | None) -> int | None:
    return None if after is None else after - (before or 0)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6


def _plain(error: Exception) -> str:
    """Describe an error of the system."""
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return "the other side closed the connection"
    return reason(error) if isinstance(error, OSError) else str(error) or type(error).__name__
