"""Congestion controls for the running kernel: they compile, the kernel takes them, and they do what they are for."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

NAMES = ("compound-plus", "reno-maxwin10", "vegas-fair")


def _why_not() -> str:
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel has no BTF"
    missing = [program for program in ("clang", "bpftool") if shutil.which(program) is None]
    if missing:
        return f"no {' and no '.join(missing)}"
    if not any(Path(place, "bpf/bpf_helpers.h").exists() for place in ("/usr/include", "/usr/local/include")):
        return "no headers of libbpf"
    return "" if os.geteuid() == 0 else "needs root"


WHY_NOT = _why_not()
pytestmark = [pytest.mark.alone, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "BPF works here")]


@pytest.fixture(scope="module")
def loaded() -> Iterator[dict[str, str]]:
    from wifair.emulation import kernel_cc  # noqa: PLC0415
    from wifair.errors import EmulationError  # noqa: PLC0415

    before = kernel_cc.loaded()
    try:
        names = {name: kernel_cc.load(name) for name in NAMES}
    except EmulationError as error:
        if "privileges" in str(error):
            pytest.skip(str(error))
        raise
    yield names
    for name in set(NAMES) - before:
        kernel_cc.unload(name)
    assert kernel_cc.loaded() == before


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_carries_data_with_it(name: str, loaded: dict[str, str]) -> None:
    wanted = bytes(range(256)) * 8192
    got = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            peer, _ = listener.accept()
            with peer:
                while data := peer.recv(65536):
                    got.extend(data)

        taker = threading.Thread(target=take)
        taker.start()
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, loaded[name].encode())
            sender.settimeout(30)
            sender.connect(listener.getsockname())
            sender.sendall(wanted)
            if name == "reno-maxwin10":
                cwnd = int.from_bytes(sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[80:84], sys.byteorder)
                assert 0 < cwnd <= 10
        taker.join(30)
    assert got == wanted
