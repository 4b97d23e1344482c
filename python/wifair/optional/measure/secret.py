"""The shared secret: where it is stored, and how hosts prove to each other that they know it.

Both sides derive a key from the secret and the server's salt with scrypt (RFC 7914), which makes guessing slow. Both
draw a nonce; each answers with HMAC-SHA256 (RFC 2104, FIPS 180-4) over both nonces, the protocol's version, role, name
and addresses. So the secret never leaves a host, and an answer is useless in another conversation. The key of the
conversation, derived in the same way, then signs every message with its direction and number.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path

from wifair._output.words import reason
from wifair.optional.measure.errors import MeasureError

ENVIRONMENT = "WIFAIR_SECRET"
SHORTEST = 16
LONGEST = 4096
NONCE_BYTES = 32
SALT_BYTES = 16
COST, BLOCK = 1 << 15, 8
"""Parameters of scrypt: each guess takes 32 MiB and about a tenth of a second."""


def default_path() -> Path:
    """Return the default file of the secret: ``wifair/secret`` in the user's configuration folder."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "wifair" / "secret"


def create(path: Path) -> None:
    """Make a new secret that only the owner can read.

    Raises
    ------
    MeasureError
        If there is one already, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise MeasureError(f"`{path}` exists: remove it first, or keep that secret") from None
    except OSError as error:
        raise MeasureError(f"cannot write `{path}`: {reason(error)}") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")


def load(path: Path | None = None) -> bytes:
    """Read the secret from the file `path`, else from the environment, else from the default file.

    Raises
    ------
    MeasureError
        If there is none, it is too short to be safe, or others can read the file.
    """
    if path is None and ENVIRONMENT in os.environ:
        return _checked(os.environ[ENVIRONMENT].encode("utf-8", "surrogateescape"), f"${ENVIRONMENT}")
    file = path or default_path()
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        hint = f"make one with `wifair measure secret`, and copy it to every host, or set ${ENVIRONMENT}"
        raise MeasureError(f"there is no secret in `{file}`: {hint}") from None
    except OSError as error:
        raise MeasureError(f"cannot read `{file}`: {reason(error)}") from None
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise MeasureError(f"`{file}` is no plain file")
        if os.name == "posix" and status.st_mode & 0o077:
            raise MeasureError(f"others can read `{file}`: chmod 600 {file}")
        return _checked(stream.read(LONGEST + 1), f"`{file}`")


def fresh_nonce() -> bytes:
    """Draw random bytes that are never used twice."""
    return secrets.token_bytes(NONCE_BYTES)


@lru_cache(maxsize=16)
def stretched(secret: bytes, salt: bytes) -> bytes:
    """Derive the key for proofs with scrypt, so that guessing a weak secret costs time and memory."""
    return hashlib.scrypt(secret, salt=salt, n=COST, r=BLOCK, p=1, maxmem=64 << 20, dklen=32)


def mac(key: bytes, *parts: bytes) -> bytes:
    """Compute HMAC-SHA256 of a list of parts, each preceded by its length."""
    signer = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        signer.update(len(part).to_bytes(8, "big"))
        signer.update(part)
    return signer.digest()


def same(one: bytes, other: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one, other)


def _checked(data: bytes, where: str) -> bytes:
    secret = data.strip()
    if len(secret) < SHORTEST:
        raise MeasureError(f"the secret in {where} has {len(secret)} characters: expected at least {SHORTEST}")
    if len(data) > LONGEST:
        raise MeasureError(f"the secret in {where} is longer than {LONGEST} bytes")
    return secret
