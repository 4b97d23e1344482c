"""What the columns of a capture's tables mean."""

from __future__ import annotations

# Columns that hold no numbers with a fraction, in all tables but that of the cell.
TEXTS = {
    *("name", "direction", "side", "rtt_point", "bufferbloat_grade", "flow", "from", "to", "kind", "way", "role"),
    *("destination_connection_id", "source_connection_id"),
}
COUNTS = {
    *("received_bytes", "data_packets_sent", "retransmissions", "timeouts", "rtt_samples", "connection", "syns"),
    *(
        "answers",
        "attempts",
        "data_frames",
        "retries",
        "frames_without_rate",
        "aggregates",
        "largest_aggregate",
        "aggregates_unanswered",
        "aggregates_to_unheard",
    ),
    *("block_acks", "length_bytes", "packets", "bytes", "requests", "replies", "identifier", "spin_rtt_samples"),
}
FLAGS = {"starved", "near_threshold", "competes", "had_no_more", "unsure", "window_hidden", "access_point"}

SEED = {"seed": "0: a capture is no run."}
FLOWS = SEED | {
    "name": "Sender and receiver.",
    "direction": "`up` or `down` seen from the stations, where the air or the given networks tell; else `wired`.",
    "goodput_bps": "New payload that passed, over the time of the connection or, if longer, of its activity [bit/s].",
    "throughput_bps": "All payload at the capture point over the same time [bit/s].",
    "received_bytes": "New payload at the capture point [bytes].",
    "data_packets_sent": "Segments with payload, retransmissions included.",
    "retransmissions": "Segments that were seen before, without keep-alives.",
    "timeouts": "Times a timer made the sender go back.",
    "rtt_mean_s": "Mean round-trip time between the capture point and the receiver [s].",
    "rtt_min_s": "Shortest round-trip time between the capture point and the receiver [s].",
    "rtt_p50_s": "Median round-trip time [s]; known with packets only.",
    "rtt_p95_s": "95th percentile of the round-trip times [s]; known with packets only.",
    "rtt_p99_s": "99th percentile of the round-trip times [s]; known with packets only.",
    "rtt_max_s": "Longest round-trip time [s].",
    "rtt_samples": "Number of round-trip times.",
    "cwnd_mean": "Not seen from outside: NaN.",
    "connection": "Number of the connection, from 1.",
    "side": "`a2b` or `b2a`.",
    "role": "`data`, if it had more to send than it could, at least for some time; else `request` or `reply` beside the"
    " data of the other direction, `control` beside the data of another connection, `messages` otherwise.",
    "fair_share_ratio": "Bytes of a competing flow over an equal share of the bytes of those active at the same times.",
    "starved": "Whether it got less than a tenth of its max-min fair share, which never exceeds what it asked for,"
    " or of a given fair share.",
    "near_threshold": "Another capture point could judge `starved` otherwise: it is within a tenth of the threshold, or"
    " the bytes acknowledged lie below the threshold and the bytes that passed above it.",
    "competes": "Whether its role is `data`, and no application limited it most of the time.",
    "had_no_more": "Whether it was satisfied: it does not compete, or it ended while others went on, or without having"
    " waited for an ACK.",
    "unsure": "The capture does not show whether it had more to send; it is treated as if it had, except for a"
    " full segment or two at the end.",
    "active_s": "From its first data (its SYN, if that was repeated) until its FIN or RST, or the end of the capture if"
    " it had more to send [s].",
    "rtt_point": "Where `rtt_mean_s` and its like are measured from: `sender`, `receiver`, or a point `between` them.",
    "rtt_path_mean_s": "Mean round-trip time of the whole path, by ACKs and echoes of timestamps [s].",
    "rtt_idle_s": "Shortest round-trip time of the whole path: the time without load [s].",
    "latency_increase_s": "Mean minus shortest round-trip time of the whole path: the delay added by load [s].",
    "bufferbloat_grade": "Grade of `latency_increase_s`, as in common tests: A+ below 5 ms, A 30, B 60, C 200, D 400,"
    " else F.",
    "outstanding_mean_bytes": "Mean data sent and not acknowledged [bytes].",
    "limited_by_application": "Share of the sending time in which the application supplied no more data.",
    "limited_by_receiver": "Share of the sending time in which the receiver's window was full.",
    "limited_by_congestion": "Share of the sending time in which the sender waited for ACKs or repaired losses.",
    "limited_by_unknown": "Share of the sending time in which the capture does not show why no data were sent.",
    "window_hidden": "Whether the capture point, away from the sender, cannot tell a full receive window from a full"
    " congestion window: `limited_by_congestion` then holds both.",
}
ATTEMPTS = SEED | {
    "connection": "Number of the connection, from 1.",
    "name": "Sender of the SYN and its destination.",
    "syns": "SYNs, repeated ones included.",
    "answers": "Answers to the SYNs that passed the capture point.",
    "duration_s": "From the first to the last SYN or answer [s].",
}
CELLS = SEED | {
    "goodput_bps": "New payload of all TCP flows over the time analysed [bit/s].",
    "up_goodput_bps": "New payload of stations over the time analysed, where it is known who they are [bit/s].",
    "down_goodput_bps": "New payload to stations over the time analysed, where it is known who they are [bit/s].",
    "throughput_bps": "All payload of TCP flows over the time analysed [bit/s].",
    "jain_index": "Jain's index of the new bytes of competing flows that asked for more than they got.",
    "up_down_ratio": "New bytes of stations over new bytes to stations.",
    "uplink_share": "Share of the uplink in the new bytes of both directions.",
    "starved_fraction": "Share of the competing flows that starve.",
    "instantaneous_fairness": "Index of instantaneous fairness (jung2016, equation 3), up to the last segment sent.",
    "instantaneous_fairness_acked": "Index of instantaneous fairness, up to the last byte acknowledged.",
    "sessions_finished": "Sessions that ended.",
    "sessions_unfinished": "Sessions in progress when the capture ended.",
    "timeouts": "Times a timer made a sender go back.",
    "retransmissions": "Segments that were seen before.",
    "jain_overlap": "Jain's index over the time in which all competing flows are active.",
}
STATIONS = SEED | {
    "name": "Hardware address.",
    "attempts": "Frames sent.",
    "data_frames": "Data frames sent.",
    "retries": "Frames with the retry bit.",
    "retry_fraction": "Share of the data and management frames with the retry bit.",
    "aggregates": "A-MPDUs sent, as far as the capturing radio numbers them.",
    "mpdus_per_aggregate": "Mean number of MPDUs in an A-MPDU.",
    "largest_aggregate": "Number of MPDUs in the largest A-MPDU.",
    "aggregates_unanswered": "A-MPDUs to a station without block ACK or ACK before other data of either end.",
    "aggregates_to_unheard": "A-MPDUs to stations of which no frame was captured: whether they answered is unknown.",
    "block_acks": "Block ACKs sent.",
    "mcs": "MCS of its most frequent mode (802.11n and later).",
    "streams": "Spatial streams of the most frequent mode.",
    "width_mhz": "Width of the most frequent mode [MHz].",
    "guard_interval_ns": "Guard interval of the most frequent mode [ns].",
    "mode_share": "Share of the most frequent mode among the frames with an MCS.",
    "airtime_s": "Time on the air of its frames of known rate [s].",
    "frames_without_rate": "Frames of unknown rate, whose air time is not known.",
    "airtime_share": "Share in the air time of all stations.",
    "airtime_to_station_s": "Air time of exchanges that others begin with it: data and RTS to it, and its answers [s].",
    "airtime_to_station_share": "Share of these exchanges in the air time of all stations.",
    "signal_mean_dbm": "Mean signal at the capturing radio [dBm].",
    "access_point": "Whether it sent data from the distribution system.",
}
SESSIONS = SEED | {
    "flow": "Name of the flow.",
    "start_s": "Time of its first byte, after the first packet of the capture [s].",
    "length_bytes": "New bytes in it.",
    "sent_after_s": "Time from its first to its last new byte [s].",
    "acked_after_s": "Time from its first byte until all of it was acknowledged [s].",
}
DATAGRAMS = SEED | {
    "from": "Sender.",
    "to": "Receiver.",
    "kind": "`udp`, `quic`, or by the numbers in it `rtp`, `iperf2` or `iperf3`.",
    "way": "`up` or `down` seen from the stations, where the air or the given networks tell.",
    "packets": "Datagrams.",
    "bytes": "Payload of the datagrams [bytes].",
    "duration_s": "From the first to the last datagram [s].",
    "rate_bps": "Payload over `duration_s` [bit/s].",
    "longest_gap_s": "Longest time between two datagrams [s].",
    "lost": "Sequence numbers up to the highest that did not arrive; known where datagrams have numbers.",
    "loss_fraction": "Fraction of the sequence numbers that did not arrive.",
    "out_of_order": "Datagrams that arrived after one with a higher number.",
    "duplicates": "Sequence numbers that arrived twice.",
    "jitter_s": "Interarrival jitter at the end (RFC 3550, section 6.4.1) [s].",
    "owd_idle_s": "Shortest time from sending to the capture point, where both have one clock [s].",
    "owd_mean_s": "Mean one-way delay to the capture point [s].",
    "owd_p50_s": "Median one-way delay [s], at most 1/64 too high.",
    "owd_p95_s": "95th percentile of the one-way delay [s], at most 1/64 too high.",
    "owd_p99_s": "99th percentile of the one-way delay [s], at most 1/64 too high.",
    "owd_max_s": "Longest one-way delay [s].",
    "r_factor": "Rating as a G.711 call with loss concealment, at most 93.2 (ITU-T G.107, simplified).",
    "mos": "Mean opinion score of such a call, from 1 to 4.5 (ITU-T G.107, annex B).",
    "destination_connection_id": "QUIC: destination connection ID of the first long header, in hexadecimal.",
    "source_connection_id": "QUIC: source connection ID of the first long header, in hexadecimal.",
    "spin_rtt_samples": "QUIC: changes of the spin bit (RFC 9000, section 17.4).",
    "spin_rtt_min_s": "QUIC: shortest time between two changes of the spin bit, a round-trip time [s].",
    "spin_rtt_mean_s": "QUIC: mean time between two changes of the spin bit [s].",
    "spin_rtt_max_s": "QUIC: longest time between two changes of the spin bit [s].",
}
ECHOES = SEED | {
    "from": "Sender of the requests.",
    "to": "Sender of the replies.",
    "identifier": "Identifier of the echoes.",
    "requests": "Requests.",
    "replies": "Replies.",
    "loss_fraction": "Fraction of the requests without a reply.",
    "duration_s": "From the first to the last packet [s].",
    "rtt_samples": "Replies matched with their request.",
    "rtt_min_s": "Shortest time between request and reply at the capture point [s].",
    "rtt_mean_s": "Mean time between request and reply at the capture point [s].",
    "rtt_max_s": "Longest time between request and reply at the capture point [s].",
}
SERIES = SEED | {
    "time_s": "End of the time bin, after the first packet of the capture [s].",
    "flow": "Name of the flow.",
    "received_bytes": "New payload in the bin [bytes].",
    "goodput_bps": "New payload in the bin as a rate [bit/s].",
}
