"""Congestion controls for the running kernel: they compile, the kernel loads them, and they work."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import emulating
import pytest
from command import COMMAND

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
    from wifair.exceptions import EmulationError  # noqa: PLC0415

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
def test_the_kernel_sends_with_it(name: str, loaded: dict[str, str]) -> None:
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


CELL = """
duration = "90 s"
warm_up = "0 s"
[wlan]
standard = "802.11g"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "laptop"
"""

PLAN = """
name = "congestion controls by BPF"
repetitions = 1
pause = "0 s"
[transfer]
size = "2 MB"
[[stations]]
name = "laptop"
"""

SEGMENT = 1448
"""Data in a segment with timestamps [B]."""


@pytest.mark.skipif(bool(emulating.WHY_NOT), reason=emulating.WHY_NOT or "emulation works here")
def test_measure_uses_it_over_the_emulated_cell(
    loaded: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of ten segments has at most ten in flight, plus the two of limited transmit (RFC 3042); Reno, as a
    control, has more.
    """
    kernel_names = ("reno", loaded["reno-maxwin10"], loaded["vegas-fair"])
    common = 'station = "laptop", direction = "up"'
    cases = (f'[[cases]]\nname = "{cc}"\nflows = [{{ {common}, cc = "{cc}" }}]\n' for cc in kernel_names)
    (tmp_path / "plan.toml").write_text(PLAN + "".join(cases))
    (tmp_path / "cell.toml").write_text(CELL)
    monkeypatch.setenv("WIFAIR_SECRET", "a secret that only this test knows")
    measure = f"{shlex.join(COMMAND)} measure"
    serve = f"{measure} serve --listen 10.32.0.1"
    plan = f"{measure} run plan.toml --server 10.32.0.1 --as laptop --out study --json --quiet > study.json"
    attempt = "import socket; socket.create_connection(('10.32.0.1', 5010), 5)"
    wait = f"until {shlex.join([sys.executable, '-c', attempt])} 2>/dev/null; do sleep 0.2; done"
    run = emulating.wifair(
        *("emulate", "cell.toml", "--no-flows", "--quiet"),
        *("--serve", "server", serve, "--exec", "laptop", f"{wait}; {plan}"),
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    rows = {row["case"]: row for row in json.loads((tmp_path / "study.json").read_text())["table"]}
    assert set(rows) == set(kernel_names)
    outstanding = {name: row["outstanding_mean_bytes"] for name, row in rows.items()}
    assert outstanding["reno_maxwin10"] <= 12 * SEGMENT
    assert outstanding["reno"] > 2 * 10 * SEGMENT
    # That many per round trip, which takes at least the 10 ms of the wired link each way.
    assert 0 < rows["reno_maxwin10"]["goodput_bps"] <= 12 * SEGMENT * 8 / 0.020
    assert rows["vegas_fair"]["goodput_bps"] > 0
