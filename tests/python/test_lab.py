"""The server of the lab, its export, its command, and the notebook's view."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair import Scenario, laboratory
from wifair.cli import main
from wifair.laboratory import page
from wifair.laboratory.server import MOST_BYTES, MOST_CONNECTIONS, LabServer

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = """\
name = "two uploads"
duration = "5 s"
wlan.standard = "802.11b"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    with LabServer(page.Start(TEXT, "two.toml")) as running:
        yield running


def request(
    server: LabServer, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def ask(server: LabServer, name: str, **what: object) -> tuple[dict[str, Any], bytes]:
    status, reply, _ = request(server, "POST", f"/{server.token}/ask/{name}", json.dumps(what).encode())
    assert status == 200
    size = int.from_bytes(reply[:8], "little")
    return json.loads(reply[8 : 8 + size]), reply[8 + size :]


def column(head: dict[str, Any], body: bytes, table: str, name: str) -> list[float]:
    rows = head["tables"][table]["rows"]
    at = next(one["at"] for one in head["tables"][table]["columns"] if one["name"] == name)
    return [float(value) for value in np.frombuffer(body, "<f8", rows, at)]


def test_the_page_contains_its_scenario_and_requests_no_other_host(server: LabServer) -> None:
    status, body, headers = request(server, "GET", f"/{server.token}/")
    assert status == 200
    text = body.decode()
    start = json.loads(text.split('id="start">')[1].split("</script>")[0])
    assert (start["text"], start["name"], start["engine"]) == (TEXT, "two.toml", "http")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for name in page.FILES:
        status, body, headers = request(server, "GET", f"/{server.token}/{name}")
        assert (status, headers["Content-Type"]) == (200, page.FILES[name])
        assert b"https://" not in body.replace(b"https://github.com/leeoniya/uPlot", b"")


def test_a_scenario_cannot_inject_markup_into_the_page() -> None:
    text = page.index(page.Start("# </script><script>alert(1)</script>"), engine="http").decode()
    assert "<script>alert" not in text


def test_a_run_equals_that_of_the_command(server: LabServer) -> None:
    ask(server, "one", ask="begin", text=TEXT, seed="3", samples=50)
    ask(server, "one", ask="advance", until_ns=2_000_000_000)
    ask(server, "two", ask="begin", text=TEXT, seed="4", samples=50)  # another run at the same time
    ask(server, "one", ask="advance", until_ns=5_000_000_000)
    head, body = ask(server, "one", ask="columns")
    results = wifair.run(Scenario.from_text(TEXT), seeds=3)
    assert column(head, body, "flows", "goodput_bps") == results.flows["goodput_bps"].tolist()
    assert head["seed"] == "3"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 403),
        ("/wrong/", {}, 403),
        ("/{token}x/", {}, 403),
        ("/{token}", {}, 403),
        ("/{token}/", {"Host": "evil.example"}, 421),
        ("/{token}/", {"Host": "evil.example:{port}"}, 421),
        ("/{token}/", {"Host": "127.0.0.1:1"}, 421),
        ("/{token}/../page.py", {}, 404),
        ("/{token}/%2e%2e/page.py", {}, 404),
        ("/{token}//etc/passwd", {}, 404),
        ("/{token}/lab.js/", {}, 404),
        ("/{token}/", {"Host": "localhost:{port}"}, 200),
    ],
)
def test_unauthorized_requests_are_refused(server: LabServer, path: str, headers: dict[str, str], status: int) -> None:
    fill = {"token": server.token, "port": str(server.port)}
    headers = {name: value.format(**fill) for name, value in headers.items()}
    assert request(server, "GET", path.format(**fill), None, headers)[0] == status


def test_invalid_requests_are_refused(server: LabServer) -> None:
    base = f"/{server.token}"
    body = b'{"ask":"describe"}'
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    assert request(server, "POST", f"{base}/ask/a", body, own)[0] == 200
    for origin in ("http://evil.example", "null", f"http://localhost:{server.port}", "http://127.0.0.1:1"):
        assert request(server, "POST", f"{base}/ask/a", body, {"Origin": origin})[0] == 403
    assert request(server, "POST", "/wrong/ask/a", body)[0] == 403
    assert request(server, "POST", f"{base}/ask/../a", body)[0] == 404
    assert request(server, "POST", f"{base}/ask/{'a' * 40}", body)[0] == 404
    assert request(server, "POST", f"{base}/else", body)[0] == 404
    assert request(server, "POST", f"{base}/state", b"[1]")[0] == 400
    assert request(server, "POST", f"{base}/ask/a", None, {"Content-Length": str(MOST_BYTES + 1)})[0] == 413
    assert request(server, "POST", f"{base}/ask/a", None, {"Content-Length": "-1"})[0] == 411
    assert request(server, "POST", f"{base}/ask/a", None, {"Transfer-Encoding": "chunked"})[0] == 411
    assert request(server, "PUT", f"{base}/ask/a", body)[0] == 501


def test_abandoned_runs_are_dropped(server: LabServer) -> None:
    for number in range(40):
        ask(server, f"many{number}", ask="begin", text=TEXT, seed="1", samples=50)
    assert len(server._labs) <= 16
    head, _ = ask(server, "many0", ask="columns")
    assert head["error"] == "no run was begun"


def test_the_view_in_a_notebook_is_read_back() -> None:
    view = wifair.lab(Scenario.from_text(TEXT), height=500)
    try:
        assert view.toml == TEXT
        assert f'src="{view.url}"' in view._repr_html_()
        state = {"text": TEXT.replace("count = 2", "count = 5"), "seed": "9"}
        body = json.dumps(state).encode()
        assert request(view._server, "POST", f"/{view._server.token}/state", body)[0] == 200
        assert view.scenario._core.stations == 5
        assert view.seed == 9
    finally:
        view.close()
    with pytest.raises(ValueError, match="pixels"):
        wifair.lab(height=3)


def test_an_export_has_the_page_and_the_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = page.read
    monkeypatch.setattr(page, "has_engine", lambda: True)
    monkeypatch.setattr(page, "read", lambda name: b"\0asm" if name == page.ENGINE else real(name))
    scenario = tmp_path / "two.toml"
    scenario.write_text(TEXT)
    out = tmp_path / "site"
    ran = CliRunner().invoke(main, ["lab", str(scenario), "--export", str(out)])
    assert ran.exit_code == 0, ran.output
    assert sorted(path.name for path in out.iterdir()) == sorted([*page.FILES, page.ENGINE])
    index = (out / "index.html").read_text()
    assert '"engine": "wasm"' in index
    assert f'<meta http-equiv="Content-Security-Policy" content="{page.POLICY}">' in index
    assert "connect-src 'self'" in page.POLICY
    again = CliRunner().invoke(main, ["lab", "--export", str(out)])
    assert (again.exit_code, "exists" in again.output) == (2, True)
    assert CliRunner().invoke(main, ["lab", "--export", str(out), "--force"]).exit_code == 0


def test_wrong_use_of_the_command_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*words: str) -> str:
        ran = CliRunner().invoke(main, ["lab", *words])
        assert ran.exit_code == 2, ran.output
        return ran.output

    broken = tmp_path / "broken.toml"
    broken.write_text(TEXT.replace('"10 ms"', "10"))
    assert "broken.toml:6:9" in refused(str(broken), "--no-browser")
    assert "name its file" in refused("--set", "a=1")
    assert "lesson" in refused(str(broken), "--lesson", "uploads")
    assert "slow-station" in refused("--lesson", "nothing")
    assert "the link is damaged" in refused("#s=abc")
    assert "a link holds the whole state" in refused("http://127.0.0.1:1/x/#s=abc", "--set", "duration=1 s")
    assert "--export" in refused("--force")
    assert "--no-browser" in refused("--export", str(tmp_path / "out"), "--no-browser")
    refused("--port", "70000")
    with LabServer() as other:
        assert "cannot listen" in refused("--no-browser", "--port", str(other.port))
    monkeypatch.setattr(page, "has_engine", lambda: False)
    ran = CliRunner().invoke(main, ["lab", "--export", str(tmp_path / "out")])
    assert (ran.exit_code, "make lab" in ran.output) == (1, True)


def test_the_package_lists_its_exports() -> None:
    assert all(hasattr(laboratory, name) for name in laboratory.__all__)


def test_idle_strangers_do_not_lock_the_owner_out() -> None:
    threads = threading.active_count()
    with LabServer(page.Start(TEXT, "two.toml")) as server:
        strangers = []
        for number in range(1300):
            stranger = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            if number % 2:
                stranger.sendall(b"GET / HTTP/1.1\r\nX: ")  # a request that never ends
            strangers.append(stranger)
        began = time.monotonic()
        assert request(server, "GET", f"/{server.token}/")[0] == 200
        assert time.monotonic() - began < 2
        assert threading.active_count() - threads <= MOST_CONNECTIONS + 10
        for stranger in strangers:
            stranger.close()


def test_a_stranger_is_closed_after_a_while_and_the_owner_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wifair.laboratory.server.STRANGER_S", 1.0)
    with LabServer(page.Start(TEXT, "two.toml")) as server:
        owner = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        owner.request("GET", f"/{server.token}/")
        assert owner.getresponse().read()
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as stranger:
            with suppress(OSError):
                for _ in range(40):  # a byte now and then is no request
                    stranger.sendall(b"G")
                    time.sleep(0.1)
            assert stranger.recv(1) == b""
        owner.request("GET", f"/{server.token}/lab.css")
        assert owner.getresponse().status == 200
        owner.close()


ESBUILD = Path("lab/node_modules/.bin/esbuild")

HOSTILE = (
    "name = \"x\"\nEND\ntouch stolen\ncat > y <<'END'\n",
    "name = 'x'\n' ; touch stolen; '\n'\\'' $(touch stolen) `touch stolen` %s %b \\n \\0101 !! !$ \"\"\" \\\"\"\"\n",
    '""")\nimport os; os.mkdir("stolen")\n("""\\',
    'x = """"""" + open("stolen", "w") + """"\n""',
    "a\x03\x04\x15\x1b[201~touch stolen\n\x1b]0;x\x07\ttab\r\nline\x7f\x85\u2028\u202e\N{PILE OF POO} \xe9 end",
    "\\",
)


@pytest.mark.skipif(not ESBUILD.exists(), reason="the page's tools are not installed: cd lab && npm ci")
@pytest.mark.parametrize("text", HOSTILE)
def test_no_scenario_ends_the_quotes_of_a_copied_command(text: str, tmp_path: Path) -> None:
    script = tmp_path / "copied.cjs"
    subprocess.run([ESBUILD, "lab/src/copied.ts", "--format=cjs", f"--outfile={script}"], check=True, timeout=60)
    what = json.dumps([text, "../X; touch stolen", "1; touch stolen"])
    call = f"const m = require({json.dumps(str(script))}); const a = {what};"
    call += "process.stdout.write(JSON.stringify([m.commandLine(...a), m.python(a[0], a[2])]))"
    command, python = json.loads(subprocess.check_output(["node", "-e", call], timeout=60))
    for copied in (command, python):
        assert not re.search(r"[^\n -~]", copied), "pasting types only printable characters"

    folder = tmp_path / "here"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "wifair").write_text('#!/bin/sh\necho "$@" > called\n')
    (folder / "bin" / "wifair").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for shell in filter(None, map(shutil.which, ("sh", "bash", "zsh", "fish"))):
        subprocess.run([shell, "-c", command], cwd=folder, env=environment, check=True, timeout=60)
        assert (folder / "x-touch-stolen.toml").read_bytes().decode() == text.rstrip() + "\n"
        assert (folder / "called").read_text() == "run x-touch-stolen.toml --seed 1\n"
        assert sorted(path.name for path in folder.iterdir()) == ["bin", "called", "x-touch-stolen.toml"]

    given: list[object] = []

    def run(_: object, **more: object) -> SimpleNamespace:
        given.append(more["seeds"])
        return SimpleNamespace(flows={"goodput_bps": 0})

    fake = SimpleNamespace(Scenario=SimpleNamespace(from_text=given.append), run=run)
    code = python.replace("import wifair\n", "")
    exec(compile(code, "copied", "exec"), {"wifair": fake})
    assert given == [text.rstrip() + "\n", [1]]
    assert sorted(path.name for path in folder.iterdir()) == ["bin", "called", "x-touch-stolen.toml"]


def test_a_link_is_read_with_or_without_an_address() -> None:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps({"text": "x" * 100}).encode()) + packer.flush()
    link = f"#s={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
    assert page.link_in(f"http://127.0.0.1:8000/token/{link}") == page.link_in(link) == link
    assert page.link_in("hot-spot.toml") == ""
    assert page.is_whole(link)
    for broken in (link[:-5], link.replace("#s=", "#s=_"), "#s=", "#s=\u00e9"):
        assert not page.is_whole(broken), broken
