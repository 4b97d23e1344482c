"""What newcomers type at first, and the hint that they get."""

from __future__ import annotations

from pathlib import Path

import pytest
import wifair
from command import wifair as command


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("count = 2", "count =", "`count` has no value", "write a value, as in `count = 8`"),
        ('duration = "3 s"', "duration = 3", "`duration` has no unit", 'write "3 s"'),
        ('"10 ms"', '"0,5 ms"', "`0,5 ms` has a decimal comma", 'write "0.5 ms"'),
        ("queue.limit =", 'scheme = "b-over-n"\nqueue.limit =', "`scheme` is a string", 'scheme.window = "b-over-n"'),
        ('queue.limit = "50 packets"', 'queue = "codel"', "`queue` is a string", 'write queue.discipline = "codel"'),
        ('station = "sta"', 'station = "sta9"', "unknown station `sta9`", "did you mean `sta`?"),
        ('name = "up"', 'name = "up"\nrate = "1 Mb/s"', "unknown key `rate`", "write udp.rate"),
        (
            'name = "up"',
            'name = "up"\nudp.rate = "1 Mb/s"',
            "`udp` is set but not chosen",
            'for transport = "udp" only',
        ),
        ('name = "up"', 'name = "up"\npoisson.size = "1 kB"\npoisson.interval = "1 s"', "`poisson` is set but", "only"),
        ('name = "up"', 'name = "up"\ncc = "vegas"', "unknown key `cc`", "write tcp.cc"),
        ("[ap]", "[[ap]]", "`ap` is a list, not a table", "`ap.count` says how many they are"),
        ("[wlan]", "[[wlan]]", "`wlan` is a list, not a table", "write it as [wlan]"),
    ],
)
def test_a_first_slip_gets_the_right_hint(text: str, old: str, new: str, message: str, hint: str) -> None:
    with pytest.raises(wifair.ScenarioError) as caught:
        wifair.Scenario.from_text(text.replace(old, new))
    assert message in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "-1"], "seed -1 is negative: seeds are 0 or more"),
        (["--duration", "10"], 'write "10 s"'),
        (["--timeline", "air.svg", "--from", "10", "--to", "5"], '--from: `10` has no unit: write "10 s"'),
        (["--timeline", "air.svg", "--from", "2 s", "--to", "1 s"], "--to 1 s is not after --from 2 s"),
        (["--from", "1 s", "--to", "2 s"], "--from and --to need --frames or --timeline"),
        (["--seeds", "3..1"], "write the smaller seed first"),
    ],
)
def test_options_with_a_slip(file: Path, options: list[str], message: str) -> None:
    _, err = command("run", file, "--quiet", *options, code=2)
    assert message in err
