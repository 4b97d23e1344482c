"""`wifair analyze` against tcptrace, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import wifair
from model import HERE

FOLDER = HERE.parent / "data" / "captures"


@dataclass(frozen=True)
class Read:
    """A capture: its connections, and fields that are compared and that differ."""

    name: str
    connections: int
    packets: int
    retransmitted: int
    theirs: int
    fields: int
    different: int


def rows() -> Iterator[Read]:
    """One row a capture. Copies on several interfaces are kept, as tcptrace does."""
    for path in sorted(FOLDER.glob("*.pcap*")):
        stem = path.name.removesuffix(".gz")
        reference = FOLDER / "reference" / f"{stem.removesuffix('.pcap').replace('.pcapng', '_pcapng')}.json"
        if stem in ("q_zero.pcap", "q_empty.pcap") or not reference.exists():
            continue
        theirs = json.loads(reference.read_text(encoding="utf-8"))["connections"]
        capture = wifair.read_capture(path, keep_copies=stem.startswith("m_any"))
        ours = json.loads(capture.to_json())["connections"]
        pairs = [
            (mine[side][key], value)
            for mine, their in zip(ours, theirs, strict=True)
            for side in ("a2b", "b2a")
            for key, value in their[side].items()
            # In tcptrace 6.6.7 only SYN and FIN count as segments of full size.
            if not key.startswith("rtt_full_sz")
        ]
        sent = [[one[side]["rexmt_data_pkts"] for one in table for side in ("a2b", "b2a")] for table in (ours, theirs)]
        yield Read(
            stem,
            len(ours),
            sum(one[side]["total_packets"] for one in ours for side in ("a2b", "b2a")),
            sum(sent[0]),
            sum(sent[1]),
            len(pairs),
            sum(mine != their for mine, their in pairs),
        )
