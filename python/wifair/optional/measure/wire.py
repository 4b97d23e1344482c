"""Control connections: authentication, and the format of messages.

A message is a JSON object of bounded size: four bytes of length, a signature of 32 bytes, the text. Until a peer has
proven that it knows the secret, its messages are short and unsigned, and must arrive within seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import math
import os
import re
from dataclasses import dataclass
from typing import Any

from wifair.optional.measure import fields
from wifair.optional.measure.errors import MeasureError, ProtocolError, Refused
from wifair.optional.measure.secret import NONCE_BYTES, SALT_BYTES, fresh_nonce, mac, same, stretched

PROTOCOL = 2
PORT = 5010
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
LARGEST = 4 << 20
LARGEST_UNPROVEN = 1024
MAC_BYTES = 32
ROLES = ("station", "coordinator")
SALT = os.urandom(SALT_BYTES)
"""The salt of this process as a server. Each server has its own, so guesses cannot be reused for another one."""


@dataclass(frozen=True)
class Peer:
    """The host at the other end of a control connection."""

    role: str
    name: str
    address: str
    """Its IP address, as its TCP connection shows it."""


class Channel:
    """A control connection between hosts that have proven themselves to each other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes, side: str) -> None:
        """`side` is ``"server"`` or ``"client"``; `key` that of this conversation."""
        self._reader = reader
        self._writer = writer
        self.key = key
        self._mine, self._theirs = (b"server", b"client") if side == "server" else (b"client", b"server")
        self._sent = 0
        self._received = 0
        self.last_size = 0
        self._writing = asyncio.Lock()

    @property
    def local_address(self) -> str:
        """IP address of this end."""
        return str(self._writer.get_extra_info("sockname")[0])

    @property
    def remote_address(self) -> str:
        """IP address of the other end."""
        return str(self._writer.get_extra_info("peername")[0])

    async def send(self, message: dict[str, Any], *, timeout_s: float = 30.0) -> None:
        """Send a message; a peer that takes nothing for `timeout_s` is dead."""
        payload = encode(message)
        if len(payload) > LARGEST:
            raise MeasureError(f"a message of {len(payload)} bytes is too large to send")
        async with self._writing:
            signature = mac(self.key, self._mine, self._sent.to_bytes(8, "big"), payload)
            self._sent += 1
            self._writer.write(len(payload).to_bytes(4, "big") + signature + payload)
            try:
                # Not wait_for, which in Python 3.11 ignores a cancellation at the moment when the work is done.
                async with asyncio.timeout(timeout_s):
                    await self._writer.drain()
            except (OSError, TimeoutError) as error:
                raise ConnectionError("the control connection takes nothing any more") from error

    async def receive(self, timeout_s: float) -> dict[str, Any]:
        """Receive the next message, and set `last_size` to its size.

        Raises
        ------
        ProtocolError
            If it is malformed, too large or not signed by the peer.
        ConnectionError
            If the peer is gone, or silent for `timeout_s`.
        """
        try:
            async with asyncio.timeout(timeout_s):
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                if size > LARGEST:
                    raise ProtocolError(f"a message of {size} bytes: at most {LARGEST}")
                signature = await self._reader.readexactly(MAC_BYTES)
                payload = await self._reader.readexactly(size)
        except TimeoutError:
            raise ConnectionError(f"nothing heard for {timeout_s:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise ConnectionError("the control connection was lost") from None
        if not same(signature, mac(self.key, self._theirs, self._received.to_bytes(8, "big"), payload)):
            raise ProtocolError("a message with a wrong signature")
        self._received += 1
        self.last_size = size
        return decode(payload)

    async def close(self) -> None:
        """Close the connection, without waiting for the peer."""
        self._writer.close()
        try:
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            pass


def encode(message: dict[str, Any]) -> bytes:
    """Turn a message into bytes."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def decode(payload: bytes) -> dict[str, Any]:
    """Turn bytes into a message.

    Raises
    ------
    ProtocolError
        If they are none.
    """
    try:
        message = json.loads(payload.decode("utf-8"), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise ProtocolError("a message that is no table")
    return message


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


async def admit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes) -> tuple[Channel, Peer]:
    """Admit a peer that proves that it knows the secret (the part of the server).

    Raises
    ------
    ProtocolError
        If it does not, or says anything else.
    ConnectionError
        If it goes away.
    """
    key = await asyncio.to_thread(stretched, secret, SALT)
    mine = fresh_nonce()
    hello = {"type": "hello", "protocol": PROTOCOL, "nonce": mine.hex(), "salt": SALT.hex()}
    await _send_plain(writer, hello)
    message = await _receive_plain(reader)
    if fields.whole(message, "protocol", low=0, high=1 << 16) != PROTOCOL:
        await _refuse(writer, f"the server speaks protocol {PROTOCOL}: use the same version of wifair on all hosts")
        raise ProtocolError("another version of the protocol")
    theirs = _hex(message, "nonce", NONCE_BYTES)
    role, name = fields.text(message, "role", most=20), fields.text(message, "name", most=60)
    said = [fields.text(message, end, most=60) for end in ("client", "server")]
    about = _about(mine, theirs, role, name, *said)
    if not same(_hex(message, "proof", MAC_BYTES), mac(key, b"client", *about)):
        await _refuse(writer, "wrong secret")
        raise ProtocolError("wrong secret")
    if role not in ROLES or not NAME.fullmatch(name):
        raise ProtocolError("no such role or name")
    seen = [_address(writer, "peername"), _address(writer, "sockname")]
    if said != seen:
        what = f"it sees the connection as {said[0]} to {said[1]}, here it is {seen[0]} to {seen[1]}"
        await _refuse(writer, f"{what}: something between them changes addresses")
        raise ProtocolError(f"{what}: something between changes addresses")
    await _send_plain(writer, {"type": "welcome", "proof": mac(key, b"server", *about).hex()})
    return Channel(reader, writer, mac(key, b"key", *about), "server"), Peer(role, name, seen[0])


async def introduce(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes, role: str, name: str
) -> Channel:
    """Prove that we know the secret, and check that the server does (the part of the client).

    Raises
    ------
    Refused
        If the server does not let us in.
    ProtocolError
        If it is no server of wifair, or does not know the secret itself.
    ConnectionError
        If it goes away.
    """
    hello = await _receive_plain(reader)
    if hello.get("type") != "hello":
        raise ProtocolError("no wifair measure server")
    version = fields.whole(hello, "protocol", low=0, high=1 << 16)
    if version != PROTOCOL:
        raise Refused(f"the server speaks protocol {version}, not {PROTOCOL}: use the same version of wifair")
    theirs, mine = _hex(hello, "nonce", NONCE_BYTES), fresh_nonce()
    key = await asyncio.to_thread(stretched, secret, _hex(hello, "salt", SALT_BYTES))
    ends = {"client": _address(writer, "sockname"), "server": _address(writer, "peername")}
    about = _about(theirs, mine, role, name, *ends.values())
    ours = {"type": "proof", "protocol": PROTOCOL, "role": role, "name": name, **ends}
    await _send_plain(writer, {**ours, "nonce": mine.hex(), "proof": mac(key, b"client", *about).hex()})
    answer = await _receive_plain(reader)
    if answer.get("type") == "refused":
        raise Refused(fields.text(answer, "reason", most=500))
    if not same(_hex(answer, "proof", MAC_BYTES), mac(key, b"server", *about)):
        raise ProtocolError("the server does not know the secret")
    return Channel(reader, writer, mac(key, b"key", *about), "client")


def _about(server: bytes, client: bytes, role: str, name: str, *ends: str) -> list[bytes]:
    """List what both sides sign, so that nothing of it can be changed in transit."""
    texts = ("wifair measure", str(PROTOCOL), role, name, *ends)
    return [server, client, *(text.encode() for text in texts)]


def _address(writer: asyncio.StreamWriter, end: str) -> str:
    """Get the IP address of an end of a connection, without scope; IPv4 in IPv6 becomes IPv4."""
    text = str((writer.get_extra_info(end) or ("?",))[0]).partition("%")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


async def _refuse(writer: asyncio.StreamWriter, reason: str) -> None:
    with contextlib.suppress(OSError):
        await _send_plain(writer, {"type": "refused", "reason": reason})


async def _send_plain(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    payload = encode(message)
    writer.write(len(payload).to_bytes(4, "big") + payload)
    await writer.drain()


async def _receive_plain(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > LARGEST_UNPROVEN:
            raise ProtocolError("not the protocol of wifair measure")
        return decode(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, OSError):
        raise ConnectionError("the other side closed the connection") from None


def _hex(message: dict[str, Any], key: str, size: int) -> bytes:
    value = fields.text(message, key, most=2 * size)
    try:
        data = bytes.fromhex(value)
    except ValueError:
        raise ProtocolError(f"`{key}` is not in hexadecimal") from None
    if len(data) != size:
        raise ProtocolError(f"`{key}` has {len(data)} bytes, not {size}")
    return data
