"""The sections of the validation, in the order of the page."""

from __future__ import annotations

import cells
import high_throughput
import kernel
import ns2
from model import Section

GOODPUT = "goodput [Mb/s]"
STILL = (
    "ns-2's own DSDV and ARP take part in its runs: routes lead through other stations or are missing, an ARP "
    "request is "
    "a broadcast that collides, and its answer is dropped by the full queue of the access point, so that a flow waits "
    "for its third or fourth SYN (all seen in traces). Nothing of this is 802.11 or TCP, and none of it happens in a "
    "cell here. So where there are such runs `ns-2` has routes that DSDV found before the first flow and that then "
    "stay, "
    "and addresses that are known; its runs as recorded are shown as `ns-2 with DSDV`."
)

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
        "bianchi",
        "Bianchi's model at 54 Mb/s: ns-3's closed form",
        "802.11a, 1500 bytes and 36 of headers, ACKs at 24 Mb/s; all resume after DIFS (`eifs = 'off'`). The model "
        "gives up no frame, so 255 tries are held to it, within 1 %; the standard's seven, after which the "
        "contention window is small again, are shown.",
        cells.bianchi,
        levels=(GOODPUT,),
    ),
    Section(
        "saturation-ns2",
        "Saturated 802.11g: ns-2",
        "UDP uploads with ns-2's rules of access, within 2 %. `ns-2` has ways and addresses that are known, see below.",
        cells.saturation_ns2,
        levels=(GOODPUT,),
    ),
    Section(
        "anomaly",
        "Rate anomaly: INET",
        "Five stations of 802.11g upload UDP of 1000 bytes, one of them at a lower rate. Saturated stations win the "
        "medium equally often whatever their rates (Heusse, Rousseau, Berger-Sabbatel and Duda, INFOCOM 2003), so that "
        "the slow one gets as much as the others, within 3 %; in INET's one run it gets up to a quarter less, and its "
        "shares are shown. The aggregate is held to INET's within 5 %.",
        cells.anomaly,
        levels=(GOODPUT,),
    ),
    Section(
        "aggregates",
        "802.11n, ac and ax with datagrams: ns-3",
        "Constant rates above what the air carries: one station in each of many transmit modes, with A-MPDU, "
        "A-MSDU, both or neither (cases a, b; 1 %), contending stations (c, cx; 2 %, the exact Monte Carlo 1 % and the "
        "closed form of one station 0.2 %), stations at different rates behind one queue (f; 3 %), MPDUs with errors "
        "(g; 3 %). `BAR`: whether a BlockAckReq follows a block ACK that did not come, as ns-3 does by default.\n\n"
        "![Goodput over the longest A-MPDU and the number of stations](figures/validation-ampdu.svg)",
        high_throughput.udp,
        levels=(GOODPUT,),
    ),
    Section(
        "published",
        "802.11n and ax: the figures of ns-3's examples",
        "What the examples of ns-3 3.44 are checked against: one station at MCS 7 and 20 MHz without and with a TXOP "
        "limit of 3.52 ms (and CF-End), each MCS with A-MPDUs of 65 kB, two stations hidden from each other, and "
        "Bianchi's model for 802.11ax at MCS 11 without aggregation. The rows are held to ns-3's bands, those without "
        "a band to 1 %. The model gives up no frame, so 255 tries are held to it; the standard's seven are shown.",
        high_throughput.published,
        levels=(GOODPUT,),
    ),
    Section(
        "categories",
        "Four access categories: an exact Monte Carlo, ns-3",
        "One saturated station of each category, 802.11n, MCS 7. The total within 2 %, voice, video and best "
        "effort within 5 % of the Monte Carlo; background sends few frames. With TXOP limits (voice 1.504 ms, "
        "video 3.008 ms) each TXOP that has the time ends with a CF-End of 52 us, as in ns-3 and the Monte Carlo; best "
        "effort then sends few frames too, and is shown.",
        high_throughput.categories,
        levels=(GOODPUT,),
    ),
    Section(
        "aggregates-tcp",
        "802.11n and ax with TCP: ns-3",
        "CUBIC and NewReno over 10 ms of wire, uploads, downloads and both; goodput within 5 %, mean round- "
        "trip time within 10 %.",
        high_throughput.tcp,
        levels=(GOODPUT,),
        index="Jain",
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
        "802.11b, 11 and 2 Mb/s, queues of 50 and 100 packets, 10 ms of wired delay. ns-2 with a window of 1000 "
        "packets; "
        + STILL
        + " The other uploads of 20 stations are five runs that begin after 20 s (with flows from the first second "
        "many stations have no route: Jain 0.26 and 14 starved flows). ns-3 with SACK, without timestamps, "
        "with buffers of 1 MB, an initial window of one segment and an ACK for each; its radio is YansWifiPhy with "
        "the defaults, the stations on a circle of 5 m. TCP over 802.11g stands below (oda2012).",
        cells.tcp,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "sessions",
        "Sessions beside persistent flows (jung2016, Fig. 2 to 4): ns-2",
        "Half of the nodes send without end, half 5 to 500 kB every 10 s. `IF` is the index of instantaneous "
        "fairness (equation 3 of jung2016), by the last byte acknowledged and by the last segment handed down. "
        "`Westwood` is that of Agent/TCP/Linux, which sends a segment more than it is given, so that the script sees "
        "the end of a session too early: its `IF sent` is shown and not held to. " + STILL,
        ns2.sessions,
        levels=(GOODPUT,),
        index="IF acked",
    ),
    Section(
        "lee2007",
        "Uploads against downloads (lee2007, Fig. 2 to 12): ns-2",
        "Four senders and four receivers unless said otherwise, without scheme, with B/n and with Wmax/n. Both "
        "schemes are held to a ratio of uplink to downlink within 3 % of 1 up to an error rate of 0.02. ns-2's "
        "`Wmax/n` and `B/n` are receive windows set by hand. " + STILL,
        ns2.lee2007,
        levels=(GOODPUT,),
        index="up/down",
    ),
    Section(
        "oda2012",
        "Uploads over 802.11g and 220 ms (oda2012, Fig. 2 and 6): ns-2",
        "NewReno, Compound (in ns-2's integers) and Linux's Reno; IP bytes counted; queues of 50, 200 and 600 packets; "
        "from 100 to 300 s, as ns-2's runs are. The stations lie on a circle of 5 m around the access point, as in "
        "ns-2's script: with ns-2's capture at 10 dB a neighbour of one that collides reads its frame and waits no "
        "EIFS, the access point does, so that it sends a twentieth less and more uploads starve than in a cell "
        "(NewReno, 200 packets: 5.6 in the cell, 7.7 on the circle, 8.5 in ns-2). " + STILL,
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
        "The testbed of `tests/data/captures`: a token bucket of 8 Mb/s behind 10 ms of wired delay in each direction; "
        "the truth is "
        "TCP_INFO of the sending sockets, sampled every 50 ms. The buckets' sizes are not recorded, but the captures "
        "bound them: 3.1 kB in the first two (no interval brings more than 8 Mb/s and 3104 bytes, many bring it), "
        "7.6 to 10.6 kB in user-mode Linux, whose HZ of 100 makes tc-tbf(8) ask for 10 kB; a smaller and a larger one "
        'show the effect. CUBIC has Linux\'s HyStart (`hystart = "classic"`) and a receiver that acknowledges each of '
        "the first 22 segments, as captured; Westwood counts in ticks of 10 ms, so that its path of 20.3 ms is one of "
        "30 ms. What the model has not: a host that takes time, timers of HZ, the driver's own queue. Flows that "
        "compete share by chance, so the one run of the kernel is held to our seeds by the t test, alone it is held to "
        "5 % (goodput) and 15 % (window, round trip).",
        kernel.cases,
        levels=("all flows [Mb/s]", "cwnd", "srtt [ms]"),
        index=GOODPUT,
    ),
)
