"""The sections of the validation, in the order of the page."""

from __future__ import annotations

import cells
import kernel
import ns2
from model import Section

GOODPUT = "goodput [Mb/s]"

SECTIONS = (
    Section(
        "saturation",
        "Saturated MAC: Bianchi, a slotted Monte Carlo, ns-3",
        "UDP uploads of saturated stations, all rules those of the standard. The Monte Carlo is exact for these "
        "rules and is the one to be held to, within 1 %; Bianchi's model (IEEE JSAC 18(3), 2000) neglects the limit "
        "of seven tries and is shown. ns-3 3.44 is held to 2 % up to 20 stations; at 50 it does not reset the "
        "window after the last try.",
        cells.saturation,
        levels=(GOODPUT,),
    ),
    Section(
        "table1",
        "Table 1 of jung2016: ns-2",
        "Aggregate throughput of one to eight saturated flows, UDP and TCP; each within 3 %.",
        ns2.table1,
        levels=(GOODPUT,),
    ),
    Section(
        "cell",
        "TCP over one cell: ns-2 and ns-3",
        "802.11b, 11 and 2 Mb/s, queues of 50 and 100 packets, 10 ms of wire. ns-2 with a window of 1000 packets; "
        "the uploads of 4 and 20 stations are five runs that begin when its routing has routes (with flows from the "
        "first second many stations have none: Jain 0.26 and 14 starved flows for 20 uploads). ns-3 with SACK, "
        "timestamps, a window of 128 KiB and ACKs for each segment; its initial window is not recorded, 1 is taken.",
        cells.tcp,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "sessions",
        "Sessions beside persistent flows (jung2016, Fig. 2 to 4): ns-2",
        "Half of the nodes send without end, half 5 to 500 kB every 10 s. `IF` is the index of instantaneous "
        "fairness (equation 3 of jung2016), by the last byte acknowledged and by the last segment handed down. "
        "`Westwood` is that of Agent/TCP/Linux: its sessions start from a threshold of two segments, since ns-2's "
        "ARP holds one packet and drops the first of the two that this agent begins with (seen in a trace: the "
        "timeouts that follow leave that threshold). The agent also sends a segment more than it is given, so that "
        "the script sees the end of a session too early: its `IF sent` is shown and not held to.",
        ns2.sessions,
        levels=(GOODPUT,),
        index="IF acked",
    ),
    Section(
        "lee2007",
        "Uploads against downloads (lee2007, Fig. 2 to 12): ns-2",
        "Four senders and four receivers unless said otherwise, without scheme, with B/n and with Wmax/n. Both "
        "schemes are held to a ratio of uplink to downlink within 3 % of 1 up to an error rate of 0.02. ns-2's "
        "`Wmax/n` and `B/n` are receive windows set by hand.",
        ns2.lee2007,
        levels=(GOODPUT,),
        index="up/down",
    ),
    Section(
        "oda2012",
        "Uploads over 802.11g and 220 ms (oda2012, Fig. 2 and 6): ns-2",
        "NewReno, Compound (in ns-2's integers) and Linux's Reno; IP bytes counted; queues of 50, 200 and 600 packets.",
        ns2.oda2012,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "las",
        "Downloads from servers at 2, 50 and 150 ms (las, Fig. 6 to 9, FIFO): ns-2",
        "Window and buffer in bytes of 1000-byte packets; delayed ACKs.",
        ns2.las,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "kernel",
        "Linux in a testbed without radio",
        "The testbed of `tests/data/captures`: a token bucket of 8 Mb/s behind 10 ms of wire each way; the truth is "
        "TCP_INFO of the sending sockets, sampled every 50 ms. The bucket's size is not recorded: 1.6, 5 and 16 kB "
        "bound its effect. What the model has not: a host that takes time, timers of HZ, the driver's own queue, "
        "and Linux's HyStart of 2008, which looks at trains of ACKs: the first CUBIC flow is given the threshold "
        "(29 segments) at which its socket left slow start; without it, slow start overshoots and costs 53 "
        "retransmissions instead of 21. Flows that compete share by chance, so the one run of the kernel is held to "
        "the range of our seeds, alone it is held to 5 % (goodput) and 15 % (window, round trip).",
        kernel.cases,
        levels=("all flows [Mb/s]", "cwnd", "srtt [ms]"),
        index=GOODPUT,
    ),
)
