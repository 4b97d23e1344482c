"""The sections of the validation, in the order of the page."""

from __future__ import annotations

import bonded
import cells
import high_throughput
import kernel
import l4s
import linux_queues
import moving
import ns2
from model import Section

GOODPUT = "goodput [Mb/s]"
AS_ABOVE = "`ns-2` and `ns-2 with DSDV` as for TCP over one cell."
STILL = (
    "ns-2's DSDV and ARP affect its results: routes lead through other stations or are missing, ARP requests are "
    "broadcasts that collide, and the full queue of the access point drops their answers, so that a flow waits for its "
    "third or fourth SYN (all seen in traces). `ns-2` therefore stands for runs with fixed routes, found by DSDV "
    "before the first flow, and known addresses, if there are such runs; the original runs are shown as "
    "`ns-2 with DSDV`."
)

SECTIONS = (
    Section(
        "saturation",
        "Saturated MAC: Bianchi, a slotted Monte Carlo, ns-3",
        "UDP uploads of saturated stations by the rules of the standard. The Monte Carlo is exact for these rules: the "
        "tolerance is 1 %. Bianchi's model (IEEE JSAC 18(3), 2000) neglects the limit of seven attempts, so it is "
        "shown without a criterion. For ns-3 3.44 the tolerance is 2 % up to 20 stations; with 50, ns-3 differs "
        "because it does not reset the contention window after the last attempt.",
        cells.saturation,
        levels=(GOODPUT,),
    ),
    Section(
        "bianchi",
        "Bianchi's model at 54 Mb/s: ns-3's closed form",
        "802.11a, 1500 bytes and 36 of headers, ACKs at 24 Mb/s; all stations resume after DIFS (`eifs = 'off'`). The "
        "model never gives up a frame, so it is compared with 255 attempts per frame, within 1 %. The standard's seven "
        "attempts, after which the contention window is reset, are shown without a criterion.",
        cells.bianchi,
        levels=(GOODPUT,),
    ),
    Section(
        "saturation-ns2",
        "Saturated 802.11g: ns-2",
        "UDP uploads with ns-2's rules of channel access, within 2 %. `ns-2` has fixed routes and known addresses, as "
        "explained under TCP over one cell.",
        cells.saturation_ns2,
        levels=(GOODPUT,),
    ),
    Section(
        "anomaly",
        "Rate anomaly: INET",
        "Five stations of 802.11g upload UDP of 1000 bytes, one of them at a lower rate. Saturated stations win the "
        "channel equally often whatever their rates (Heusse, Rousseau, Berger-Sabbatel and Duda, INFOCOM 2003), so "
        "that the slow one must get as much as the others, within 3 %. In INET's single run it gets up to a quarter "
        "less; INET's shares are shown without a criterion. The aggregate is compared with INET's, within 5 %.",
        cells.anomaly,
        levels=(GOODPUT,),
    ),
    Section(
        "aggregates",
        "802.11n, ac and ax with datagrams: ns-3",
        "Offered loads above capacity, with these tolerances: one station in each of many transmit modes, with A-MPDU, "
        "A-MSDU, both or neither (cases a, b; 1 %), contending stations (c, cx; 2 %, the exact Monte Carlo 1 % and the "
        "closed form of one station 0.2 %), stations at different rates behind one queue (f; 3 %), MPDUs with errors "
        "(g; 3 %). `BAR`: whether a BlockAckReq follows a missing block ACK, as in ns-3 by default.\n\n"
        "![Goodput over the longest A-MPDU and the number of stations](figures/validation-ampdu.svg)",
        high_throughput.udp,
        levels=(GOODPUT,),
    ),
    Section(
        "published",
        "802.11n and ax: the figures of ns-3's examples",
        "The values that the examples of ns-3 3.44 are checked against: one station at MCS 7 and 20 MHz without and "
        "with a TXOP limit of 3.52 ms (and CF-End), each MCS with A-MPDUs of 65 kB, two stations hidden from each "
        "other, and Bianchi's model for 802.11ax at MCS 11 without aggregation. The tolerance is ns-3's band, or 1 % "
        "if there is none. The model never gives up a frame, so it is compared with 255 attempts per frame; the "
        "standard's seven are shown without a criterion.",
        high_throughput.published,
        levels=(GOODPUT,),
    ),
    Section(
        "categories",
        "Four access categories: an exact Monte Carlo, ns-3",
        "One saturated station of each category, 802.11n, MCS 7. The total must be within 2 %, and voice, video and "
        "best effort within 5 %, of the Monte Carlo; background sends too few frames for a criterion. With TXOP limits "
        "(voice 1.504 ms, video 3.008 ms) each TXOP with enough time left ends with a CF-End of 52 us, as in ns-3 and "
        "the Monte Carlo; best effort then sends too few frames, too.",
        high_throughput.categories,
        levels=(GOODPUT,),
    ),
    Section(
        "aggregates-tcp",
        "802.11n and ax with TCP: ns-3",
        "CUBIC and NewReno over a wired delay of 10 ms, uploads, downloads and both; goodput within 5 %, mean "
        "round-trip time within 10 %. Flows start between 1.0 and 1.5 s. TCP is that of ns-3's sources: neither RACK, "
        "tail loss probes, F-RTO, quick ACKs nor the Eifel algorithm, a minimum RTO of 1 s, buffers of 4 MiB. How many "
        "of 168 comparisons agree shows what matters: 166 with these settings; 150 unless receivers pass up each MPDU "
        "when it ends (`pass_up_singly`); 153 without HyStart and 159 with Linux's (ns-3's waits until the smoothed "
        'round-trip time has doubled, `cubic.hystart = "ns3"`); 158 with the fractions of RFC 9438 instead of whole '
        "segments; 161 if NewReno counts all bytes acknowledged; 151 with wifair's own CUBIC and NewReno.\n\n"
        'At a loss ns-3\'s NewReno halves what may still be in the network (`reduce_from = "pipe"`), where RFC 6675 '
        "halves FlightSize: four NewReno uploads and four downloads over 802.11n have round trips of 548 ms with the "
        "first (60 runs) and 575 with the second; ns-3 has 521 (ten runs, 95 % within 64), and with FlightSize 584 "
        "(four runs). Two rules of ns-3 are not imitated: an ACK that reports arrivals counts a segment too much for "
        "proportional rate reduction, and retransmissions that have arrived stay in flight until everything before "
        "them has.\n\n"
        "Round-trip times of NewReno with four stations and 1000 packets are counted in ns-3 as here; those of the "
        "other runs without timestamps (`tests/validation/ns3_tcp.cc`) leave out most of recovery, and those with "
        "timestamps a sample that equals the one before. Recorded runs with timestamps have IP packets of 1512 bytes, "
        "which the wire cuts in two on the way down: the queue of the access point then holds half as many segments. "
        "wifair makes no fragments, so these downloads are shown without a criterion.",
        high_throughput.tcp,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "bonded",
        "Bonded channels: ns-3",
        "A saturated uplink in a BSS of 40 or 80 MHz (primary channel 36) alone, beside one of 20 MHz on its "
        "primary channel, and beside one on channel 40 or 44 inside; the load of the other BSS is above capacity or "
        "about half of what it would get alone. `dBm`: power with which frames arrive in the other BSS; in their "
        "own it is -40 dBm. Both programs have dynamic bandwidth (IEEE Std 802.11-2020, 10.23.2.5). Total goodput must "
        "be within 2 %, the wide BSS's share of it and the share of its PPDUs that have the full width (`full width`) "
        "within 3 %; the latter is shown without a criterion where ns-3 sent fewer than 5000 of them in all runs.\n\n"
        "ns-3 3.37 differs from the standard: its control responses are sent in the primary channel alone, so that a "
        "BSS on a secondary channel counts down during them (in rows with `responses` `full width` their energy is "
        "added in the other channels); in 802.11n it senses PPDUs in the secondary channel from `CCA` on, by default "
        "-82 dBm instead of -62; in 802.11ac it overlooks those below -62 dBm that begin while it receives in the "
        "primary one. Its leakage into adjacent channels is switched off.",
        bonded.cases,
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
        "802.11b, 11 and 2 Mb/s, queues of 50 and 100 packets, 10 ms of wired delay. ns-2 has a window of 1000 "
        "packets. " + STILL + " ns-3 has SACK, no timestamps, buffers of 1 MB, an initial window of one segment and no "
        "delayed ACKs; the stations are on a circle of 5 m.",
        cells.tcp,
        levels=(GOODPUT,),
        index="Jain",
    ),
    Section(
        "sessions",
        "Sessions beside persistent flows (jung2016, Fig. 2 to 4): ns-2",
        "Half of the nodes send all the time, half send 5 to 500 kB every 10 s. `IF` is the index of instantaneous "
        "fairness (equation 3 of jung2016), up to the last byte acknowledged (`IF acked`) and up to the last segment "
        "sent (`IF sent`). `Westwood` is that of Agent/TCP/Linux, with its own recovery (`tcp-linux`; with RFC 6675 "
        "the index of ten downloads is 16 % above ns-2's) and, in the runs with fixed routes, without the SYN that "
        "would make the first session a packet longer. The runs with DSDV time the last segment but one, except Vegas. "
        + AS_ABOVE,
        ns2.sessions,
        levels=(GOODPUT,),
        index="IF acked",
    ),
    Section(
        "lee2007",
        "Uploads against downloads (lee2007, Fig. 2 to 12): ns-2",
        "Four senders and four receivers unless stated otherwise, without a scheme, with B/n and with Wmax/n. With "
        "both schemes the ratio of uplink to downlink must be within 3 % of 1, up to an error rate of 0.02. ns-2's "
        "`Wmax/n` and `B/n` are receive windows set by hand. " + AS_ABOVE,
        ns2.lee2007,
        levels=(GOODPUT,),
        index="up/down",
    ),
    Section(
        "oda2012",
        "Uploads over 802.11g and 220 ms (oda2012, Fig. 2 and 6): ns-2",
        "NewReno, ns-2's Sack1, Compound (in ns-2's integers) and Linux's Reno; IP bytes are counted; queues of 50 to "
        "600 packets; measured from 100 to 300 s (Sack1: 200 s), as in ns-2. "
        "The stations are on a circle of 5 m around the access point, "
        "as in ns-2's script. With ns-2's capture at 10 dB, a neighbour of a colliding station reads its frame and "
        "does not wait EIFS, but the access point does; the access point therefore sends a twentieth less, and more "
        "uploads starve than in a cell (NewReno, 200 packets: 5.6 in the cell, 7.7 on the circle, 8.5 in ns-2). "
        "" + AS_ABOVE,
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
        "moving",
        "Stations that become hidden: ns-2",
        "802.11b, ns-2's radios, which sense each other up to 550 m; here they read up to 345 m. Two stations side by "
        "side, 280 m from a third, send all the time to that one. From 5 to 15 s one of them walks past the third to "
        "the other side, 560 m from its neighbour. Goodput is counted from 1 to 5 s (`beside`), 5.5 to 14 s "
        "(`walking`) and 16 to 46 s (`hidden`), and must be within 2 %. ns-2 has neither routing nor an access point "
        "here (`DumbAgent`); 20 runs of `tests/validation/moving.tcl`.",
        moving.cases,
        levels=(GOODPUT,),
    ),
    Section(
        "kernel",
        "Linux in a testbed without radio",
        "The testbed of `tests/data/captures`: a token bucket of 8 Mb/s behind 10 ms of wired delay in each direction; "
        "the reference is TCP_INFO of the sending sockets, sampled every 50 ms. The captures bound the sizes of the "
        "buckets, which are not recorded: 3.1 kB in the first two, 7.6 to 10.6 kB in user-mode Linux; a smaller and a "
        'larger size show the effect. CUBIC has Linux\'s HyStart (`hystart = "classic"`) and a receiver that '
        "acknowledges each of the first 22 segments, as captured; Westwood counts in ticks of 10 ms. Not modelled are "
        "processing times of hosts, the resolution of timers (HZ), and the driver's own queue. Competing flows are "
        "compared by the t test; for a single flow the tolerance is 5 % (goodput) and 15 % (window, round-trip time).",
        kernel.cases,
        levels=("all flows [Mb/s]", "cwnd", "srtt [ms]"),
        index=GOODPUT,
    ),
    Section(
        "linux-queues",
        "TCP through Linux's queue disciplines",
        "36 closed-loop cases of kernel 6.1 in user-mode Linux (one or two flows of CUBIC, BBR, Reno, Vegas or DCTCP, "
        "10 Mb/s, 40 ms, 30 s of which the first 5 are left out): goodput within 2 % and delay within 15 % for one "
        "flow; for two, each within a tenth of the link, their sum within 3 %, delay within 20 %; drops within 30 % or "
        "0.3 a second. Two runs of the kernel differ by up to 0.9 Mb/s and 18 %. The disciplines themselves are "
        "compared packet by packet on [their page](linux-queues.md).",
        linux_queues.cases,
        levels=("all flows [Mb/s]", "queueing delay [ms]"),
    ),
    Section(
        "l4s",
        "CUBIC and TCP Prague through queues of Linux",
        "Public runs of L4STeam (April 2020, Linux 5.4, one run each): a Prague flow through DualPI2, and a CUBIC flow "
        "with ECN beside a Prague flow that begins 10 s later, through DualPI2, CoDel, PIE and FIFOs; means from 20 s "
        "to 58 s. Goodput of all and CUBIC's share of it within 15 %, queueing delay of the first flow within 20 %. "
        "That Prague looks for classic queues and falls back, which today's does not "
        "(draft-briscoe-iccrg-prague-congestion-control-04). Left out: RED (its thresholds are not recorded), "
        "bottlenecks that move or change their rate, bursts and jitter. Competing flows are compared by the t test, as "
        "in the testbed above; that was decided after a first look.",
        l4s.cases,
        levels=("all flows [Mb/s]", "queueing delay [ms]"),
    ),
)
