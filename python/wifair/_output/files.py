"""Files that appear complete or not at all, and replace nothing without permission."""

from __future__ import annotations

import bz2
import errno
import os
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PARTIAL = ".partial"
"""Ending of a file that is still being written under a temporary name."""


def refuse(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse to replace a file, unless `force`. Devices and pipes, such as ``/dev/stdout``, are written in any case.

    Raises
    ------
    FileExistsError
        If there is a file.
    """
    if not force and Path(path).is_file():
        raise FileExistsError(f"`{path}` exists: choose another name, or replace it with --force")


def refuse_filled(folder: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse to write among the files of a folder, unless `force`.

    Raises
    ------
    FileExistsError
        If it is a file, or a folder that is not empty.
    """
    path = Path(folder)
    if (path.exists() or path.is_symlink()) and not path.is_dir():
        raise FileExistsError(f"`{folder}` is a file: choose another folder")
    if not force and path.is_dir() and any(path.iterdir()):
        raise FileExistsError(f"`{folder}` holds files: choose another folder, or replace them with --force")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file beside `path` to write into, which replaces `path` after success.

    Until then, and after an error, Ctrl-C or a power cut, `path` is unchanged. A device is written to directly.

    Raises
    ------
    OSError
        If it cannot be written; the error names `path`.
    """
    target = Path(os.path.realpath(path))  # the target of a link, not the link
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with named(path):
            yield target
        return
    with named(path):
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", suffix=PARTIAL, dir=target.parent)
        os.close(handle)
    work = Path(name)
    try:
        with named(path):
            yield work
            with suppress(OSError):
                work.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~umask())
            with work.open("rb") as file:
                os.fsync(file.fileno())
            work.replace(target)
        sync(target.parent)
    finally:
        work.unlink(missing_ok=True)


def below(folder: str | os.PathLike[str], *names: str) -> Path:
    """Give the place of a file to write below a folder, and create the folders between.

    `names` are of the folders between, and of the file. They may be somebody else's.

    Raises
    ------
    ValueError
        If a name leads elsewhere, such as ``".."`` or ``"a/b"``, or is not for people to read.
    OSError
        If one of them is a link, which would lead elsewhere, or a folder cannot be created.
    """
    path = Path(folder)
    for name in names:
        if name in {"", ".", ".."} or "/" in name or "\\" in name or not name.isprintable():
            raise ValueError(f"{name!r} is no name of a file below `{folder}`")
        path /= name
        if path.is_symlink():
            raise OSError(0, "it is a link: remove it", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


LARGEST_INPUT = 500_000_000
"""The largest file of another program that is read, unpacked [B]."""


def require_regular(path: str | os.PathLike[str], most: int | None = None) -> int:
    """Refuse a file that is a device, a pipe or a folder, whose data may not end or not come; return its size [B].

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is larger than `most`.
    """
    about = Path(path).stat()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(0, "it is no regular file", str(path))
    if most is not None and about.st_size > most:
        raise OSError(0, f"it has {about.st_size:,} bytes, at most {most:,}", str(path))
    return about.st_size


def read_regular(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read a file, which must be a regular one of at most `most` bytes (`LARGEST_INPUT` by default).

    Raises
    ------
    OSError
        As from `require_regular`.
    """
    require_regular(path, LARGEST_INPUT if most is None else most)
    return Path(path).read_bytes()


def read_bounded(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read a file of somebody else's, unpacked if it is gzip or bzip2.

    Raises
    ------
    OSError
        As from `require_regular`.
    ValueError
        If it is larger than `most` (`LARGEST_INPUT` by default) when unpacked, or is packed wrongly.
    """
    most = LARGEST_INPUT if most is None else most
    data = read_regular(path, most)
    if data.startswith(b"\x1f\x8b"):
        unpacker: Any = zlib.decompressobj(wbits=31)
    elif data.startswith(b"BZh"):
        unpacker = bz2.BZ2Decompressor()
    else:
        return data
    try:
        unpacked: bytes = unpacker.decompress(data, most + 1)
    except (OSError, zlib.error) as error:
        raise ValueError(str(error)) from None
    if len(unpacked) > most:
        raise ValueError(f"it has more than {most / 1e6:.0f} MB unpacked")
    if not unpacker.eof:
        raise ValueError("the packed file is cut off")
    return unpacked


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors of the system name `path` where they name no file (a full disk) or a temporary one."""
    try:
        yield
    except OSError as error:
        of_this = error.filename is None or PARTIAL in str(error.filename)
        if error.errno in (None, errno.EPIPE) or not of_this:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def write_text(path: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Write a text, or its parts, as UTF-8."""
    with replacing(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        file.writelines([text] if isinstance(text, str) else text)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes."""
    with replacing(path) as work:
        work.write_bytes(data)


def json_text(document: object) -> str:
    """Write JSON in the layout that all our JSON has. NaN and infinity are errors."""
    import json  # noqa: PLC0415

    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def json_parts(document: dict[str, Any] | Iterable[Any], indent: int = 0) -> Iterator[str]:
    """Write JSON in parts, one entry at a time. Iterators become lists, which are also written one entry at a time.

    The text is that of `json_text`.
    """

    def one(value: object) -> Iterator[str]:
        if isinstance(value, Iterator):
            yield from json_parts(value, indent + 1)
        else:
            yield json_text(value).replace("\n", "\n" + " " * (indent + 1))

    is_table = isinstance(document, dict)
    entries = document.items() if isinstance(document, dict) else ((None, value) for value in document)
    empty = True
    for name, value in entries:
        yield ("{" if is_table else "[") if empty else ","
        yield "\n" + " " * (indent + 1)
        if name is not None:
            yield json_text(name) + ": "
        yield from one(value)
        empty = False
    if empty:
        yield "{}" if is_table else "[]"
    else:
        yield "\n" + " " * indent + ("}" if is_table else "]")


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk, if the system supports that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def umask() -> int:
    """Get the permissions that new files do not have."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
