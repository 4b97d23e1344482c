"""`wifair measure join`: a station. It serves the requests of the server within its own limits."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable
from typing import Any

from wifair._output.words import reason
from wifair.optional.measure import fields
from wifair.optional.measure.clock import now
from wifair.optional.measure.errors import MeasureError, ProtocolError, Refused
from wifair.optional.measure.flow import Flow, Limits
from wifair.optional.measure.host import Host
from wifair.optional.measure.server import CHUNK, Timing
from wifair.optional.measure.transfer import StationEnd
from wifair.optional.measure.wire import Channel, introduce

AGAIN_S = (0.5, 1.0, 2.0, 5.0)
"""Times between attempts to reconnect [s]; the last one is repeated."""


async def connect(
    secret: bytes, host: str, port: int, *, role: str, name: str, timeout_s: float = 10.0, source: str | None = None
) -> Channel:
    """Open a control connection, with mutual proof of the secret; `source` is the local address to use.

    Raises
    ------
    MeasureError
        If there is no server, or it does not let us in.
    """
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    local = (source, 0) if source is not None else None
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port, local_addr=local)
            try:
                channel = await introduce(reader, writer, secret, role, name)
                answer = await channel.receive(timeout_s)
            except BaseException:
                writer.close()
                raise
    except TimeoutError:
        raise MeasureError(
            f"no answer from {where} for {timeout_s:g} s: does `wifair measure serve` run there?"
        ) from None
    except ConnectionError as error:
        raise MeasureError(f"cannot reach {where}: {reason(error)}; does `wifair measure serve` run there?") from None
    except OSError as error:
        raise MeasureError(f"cannot reach {where}: {reason(error)}") from None
    except ProtocolError as error:
        raise ProtocolError(f"{where}: {error}") from None
    except Refused as error:
        raise Refused(f"{where}: {error}") from None
    if answer.get("type") == "refused":
        await channel.close()
        raise Refused(f"{where}: {fields.text(answer, 'reason', most=500)}")
    return channel


class Station:
    """A station of a measurement."""

    def __init__(
        self,
        secret: bytes,
        host: str,
        port: int,
        *,
        name: str,
        limits: Limits | None = None,
        timing: Timing | None = None,
        source: str | None = None,
        log: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`host` and `port` are those of the server; `source` is the local address to use."""
        self._secret = secret
        self._address = (host, port)
        self.name = name
        self.limits = limits or Limits()
        self.timing = timing or Timing()
        self._source = source
        self._log = log
        self.joined = asyncio.Event()

    async def run(self, *, again: bool = True) -> None:
        """Take part until cancelled; reconnect after a lost connection if `again`.

        Raises
        ------
        MeasureError
            If the server cannot be reached the first time, or does not let us in.
        """
        attempt = 0
        while True:
            try:
                channel = await connect(
                    self._secret, *self._address, role="station", name=self.name, source=self._source
                )
            except Refused:
                if not self.joined.is_set() or attempt > 20:
                    raise  # otherwise the server may not have noticed the lost connection yet
            except ProtocolError:
                raise
            except MeasureError as error:
                if not self.joined.is_set() or not again:
                    raise
                if attempt == 0:
                    self._log(f"{error}; trying again")
            else:
                attempt = 0
                self.joined.set()
                try:
                    await self._take_part(channel)
                except ConnectionError as error:
                    self._log(f"the server is gone: {error}")
                    if not again:
                        raise MeasureError(f"the server is gone: {error}") from None
                except ProtocolError as error:
                    self._log(f"the server makes no sense: {error}")
                finally:
                    await channel.close()
            await asyncio.sleep(AGAIN_S[min(attempt, len(AGAIN_S) - 1)])
            attempt += 1

    async def _take_part(self, channel: Channel) -> None:
        host = await asyncio.to_thread(Host, channel.local_address, self._log)
        part = _Part(self, channel, host)
        self._log(f"joined {self._address[0]} as `{self.name}`")
        try:
            await channel.send({"type": "about", "about": host.about()})
            while True:
                await part.take(await channel.receive(self.timing.dead_s))
        finally:
            await part.close()


class _Part:
    """The station during one control connection."""

    def __init__(self, station: Station, channel: Channel, host: Host) -> None:
        self.station = station
        self.channel = channel
        self.host = host
        self.work: asyncio.Task[None] | None = None
        self.start: asyncio.Future[float] | None = None

    async def take(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "ping":
            await self.channel.send({"type": "pong", "number": message.get("number"), "time_s": now()})
        elif kind == "check":
            ccs = fields.texts(message, "ccs", most=20)
            capture, rts = fields.flag(message, "capture"), fields.flag(message, "rts")
            problems, notes = await self.host.check(ccs=ccs, capture=capture, rts=rts)
            await self.channel.send({"type": "checked", "problems": problems, "notes": notes})
        elif kind == "prepare":
            if self.work is not None:
                raise ProtocolError("two repetitions at a time")
            ends, settings = self._ends(message)
            self.start = asyncio.get_running_loop().create_future()
            self.work = asyncio.create_task(self._repetition(ends, settings, self.start))
        elif kind == "start" and self.start is not None and not self.start.done():
            self.start.set_result(fields.number(message, "at_s", low=-1e12, high=1e12))
        elif kind == "finish":
            await self._end_work()
            extra = await self.host.finish()
            await self.channel.send({"type": "finished", **extra})
        elif kind == "fetch":
            offset = fields.whole(message, "offset", low=0, high=1 << 30)
            data = await asyncio.to_thread(self.host.captured, offset, CHUNK)
            await self.channel.send({"type": "chunk", "data": base64.b64encode(data).decode()})
        else:
            raise ProtocolError("a message that does not belong here")

    def _ends(self, message: dict[str, Any]) -> tuple[list[StationEnd], dict[str, Any]]:
        """Create the ends of the flows of a repetition, all connected to the address of the server."""
        limits = self.station.limits
        try:
            repetition = bytes.fromhex(fields.text(message, "repetition", most=32))
        except ValueError:
            raise ProtocolError("`repetition` is not in hexadecimal") from None
        timeout_s = fields.number(message, "timeout_s", low=1e-3, high=limits.duration_s)
        sample_s = fields.number(message, "sample_s", low=1e-3, high=60.0)
        ends, ports = [], []
        for data in fields.records(message, "flows", most=limits.flows):
            flow = Flow.from_dict(data, limits)
            ports.append(fields.whole(data, "port", low=1, high=65_535))
            if flow.station != self.station.name or len(repetition) != 16:
                raise ProtocolError("a flow of another station")
            ends.append(
                StationEnd(
                    flow,
                    (self.channel.remote_address, ports[-1]),
                    key=self.channel.key,
                    repetition=repetition,
                    sample_s=sample_s,
                    timeout_s=timeout_s,
                )
            )
        rts = fields.optional_whole(message, "rts_threshold", low=0, high=2347)
        capture = (self.channel.remote_address, ports) if fields.flag(message, "capture") else None
        return ends, {"rts_threshold": rts, "capture": capture}

    async def _repetition(self, ends: list[StationEnd], settings: dict[str, Any], start: asyncio.Future[float]) -> None:
        try:
            self.host.forget_capture()
            await self.host.prepare(ends, **settings)
            await self.channel.send({"type": "prepared"})
            self.host.start(await start)
            for end, result in zip(ends, await self.host.results()):
                await self.channel.send({"type": "result", "flow": end.flow.name, "result": result})
        except ConnectionError:
            pass  # the task that reads the connection notices it, too
        except Exception as error:
            self.host.stop("the repetition failed")
            with contextlib.suppress(ConnectionError):
                await self.channel.send({"type": "failed", "reason": str(error)[:500]})

    async def _end_work(self) -> None:
        if self.work is not None:
            self.host.stop("the repetition is over")
            self.work.cancel()
            await asyncio.gather(self.work, return_exceptions=True)
            self.work = self.start = None

    async def close(self) -> None:
        """Restore the state of the host."""
        await self._end_work()
        with contextlib.suppress(Exception):
            await self.host.finish()
        await asyncio.to_thread(self.host.close)
