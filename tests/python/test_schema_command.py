"""`wifair schema KEY`: one key or table of the reference."""

from __future__ import annotations

import pytest
from command import wifair
from wifair.scenario import keys


def test_a_key_is_described_with_what_it_takes_and_sets() -> None:
    out, _ = wifair("schema", "wlan.cw_min")
    assert out.startswith("wlan.cw_min: whole number; at most 65535; by default 31")
    assert "Minimum contention window" in out


def test_a_table_is_described_with_all_its_keys() -> None:
    out, _ = wifair("schema", "[[servers]]")
    for key in keys.tables()["servers"].keys:
        assert f"{key.path}: " in out
        assert len(key.takes) > 2


def test_a_table_that_is_like_another_has_its_keys() -> None:
    assert wifair("schema", "stations.queue.limit")[0].startswith("stations.queue.limit: limit in packets")


def test_every_key_of_the_reference_is_found() -> None:
    every = [key for table in keys.tables().values() for key in table.keys]
    assert len(every) > 300
    for key in every:
        assert key.path in keys.described(key.path)


@pytest.mark.parametrize(("name", "words"), [("wlan.cwmin", "`wlan.cw_min`"), ("nothing.at_all", "--markdown")])
def test_an_unknown_key_is_one_error(name: str, words: str) -> None:
    _, err = wifair("schema", name, code=2)
    assert words in err
    assert "changes" not in err
    assert "leave out KEY" in wifair("schema", "ap", "--markdown", code=2)[1]
