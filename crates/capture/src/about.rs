//! The meaning of each named value, for tables, references and tooltips.

/// The meaning of a value of [`crate::ConnectionReport`], with its unit; `None` for an unknown name.
///
/// ```
/// assert!(wifair_capture::about("goodput_bps").is_some_and(|text| text.contains("bit/s")));
/// ```
#[must_use]
pub fn about(name: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(there, _)| *there == name).map(|(_, meaning)| *meaning)
}

/// Names and meanings in the order of the output. (t) marks a definition of tcptrace.
const MEANINGS: &[(&str, &str)] = &[
    ("id", "Number of the connection, in the order of first packets, from 1."),
    ("host_a", "Address and port of the sender of the first packet."),
    ("host_b", "Address and port of the other end."),
    ("interface", "Number of the capturing interface, from 0."),
    ("complete_conn", "`yes` if SYN and FIN were seen both ways; `RESET`; or what is missing (t)."),
    ("first_packet_ns", "Time of the first packet, since 1970 [ns]."),
    ("elapsed_s", "Last minus first packet, both directions [s]; cut to whole us (t)."),
    ("duration_s", "Last minus first packet, both directions [s]."),
    ("handshake_rtt_s", "Round-trip time of the three-way handshake, end to end [s]; none if a SYN came twice."),
    ("handshake_server_s", "Part of it between the capture point and the server [s]."),
    ("handshake_client_s", "Part of it between the capture point and the client [s]."),
    ("direction", "`a2b` or `b2a`."),
    ("total_packets", "Segments (t)."),
    ("resets_sent", "Segments with RST (t)."),
    ("ack_pkts_sent", "Segments with ACK flag (t)."),
    ("pure_acks_sent", "ACKs without data, SYN, FIN, RST (t)."),
    ("sack_pkts_sent", "ACKs with SACK blocks (t)."),
    ("dsack_pkts_sent", "ACKs that report a duplicate by SACK (t)."),
    ("max_sack_blks_ack", "Most SACK blocks in an ACK (t)."),
    ("unique_bytes_sent", "Payload not seen before [bytes] (t)."),
    ("actual_data_pkts", "Segments with payload (t)."),
    ("actual_data_bytes", "Payload, retransmissions included [bytes] (t)."),
    ("rexmt_data_pkts", "Segments with a byte, SYN or FIN that was seen before (t)."),
    ("rexmt_data_bytes", "What was seen before in them [bytes] (t)."),
    ("zwnd_probe_pkts", "Segments with data or FIN while the other end's window was zero (t)."),
    ("zwnd_probe_bytes", "Their payload [bytes] (t)."),
    ("outoforder_pkts", "Segments that start and end below one seen before, and are new (t)."),
    ("pushed_data_pkts", "Segments with payload and PSH (t)."),
    ("syn_fin_pkts_sent", "Segments with SYN / with FIN (t)."),
    ("req_1323_ws_ts", "Window scaling / timestamps asked for (t)."),
    ("adv_wind_scale", "Window scale; 0 unless both ends ask for it (t)."),
    ("req_sack", "SACK permitted (t)."),
    ("sacks_sent", "Segments with SACK blocks (t)."),
    ("urgent_data_pkts", "Segments with payload and URG (t)."),
    ("urgent_data_bytes", "Sum of their urgent pointers [bytes] (t)."),
    ("mss_requested", "Maximum segment size announced [bytes] (t)."),
    ("max_segm_size", "Largest payload [bytes] (t)."),
    ("min_segm_size", "Smallest payload above zero [bytes] (t)."),
    ("avg_segm_size", "Mean payload of segments with payload, cut [bytes] (t)."),
    ("max_win_adv", "Largest window advertised, scaled [bytes] (t)."),
    ("min_win_adv", "Smallest window above zero advertised, scaled [bytes] (t)."),
    ("zero_win_adv", "ACKs with window zero (t)."),
    ("avg_win_adv", "Mean window over packets, cut [bytes] (t)."),
    ("max_owin", "Largest outstanding window, one byte too large, taken when something is sent [bytes] (t)."),
    ("min_non_zero_owin", "Smallest of them above zero [bytes] (t)."),
    ("avg_owin", "Mean of them over sent segments, cut [bytes] (t)."),
    ("wavg_owin", "Mean of them over time, every term cut [bytes] (t)."),
    ("initial_window_bytes", "Payload before the first ACK of data [bytes] (t)."),
    ("initial_window_pkts", "Segments before the first ACK of data (t)."),
    ("ttl_stream_length", "FIN less SYN by sequence numbers [bytes] (t)."),
    ("missed_data", "Stream length less unique bytes [bytes] (t)."),
    ("truncated_data", "Payload cut off by the snap length [bytes] (t)."),
    ("truncated_packets", "Segments with payload cut off (t)."),
    ("data_xmit_time", "From first to last segment with payload [s] (t)."),
    ("idletime_max_ms", "Longest time between segments of the direction [ms] (t)."),
    ("hardware_dups", "Segments with number and IP identification of one of the eight before (t)."),
    ("throughput", "Unique bytes over the elapsed time of the connection [bytes/s] (t)."),
    ("rtt_samples", "Round-trip times, without those of segments sent twice (t)."),
    ("rtt_min_ms", "Shortest round-trip time [ms] (t)."),
    ("rtt_max_ms", "Longest round-trip time [ms] (t)."),
    ("rtt_avg_ms", "Mean round-trip time [ms] (t)."),
    ("rtt_stdev_ms", "Standard deviation of the round-trip times [ms] (t)."),
    ("rtt_from_3whs_ms", "Round-trip time of the SYN [ms] (t)."),
    ("post_loss_acks", "ACKs that gave no time because an earlier segment was sent later (t)."),
    ("ambiguous_acks", "ACKs of segments sent more than once (t)."),
    ("rtt_min_last_ms", "Shortest time of those, from the last copy [ms] (t)."),
    ("rtt_max_last_ms", "Longest time of those, from the last copy [ms] (t)."),
    ("rtt_avg_last_ms", "Mean time of those, from the last copy [ms] (t)."),
    ("rtt_sdv_last_ms", "Standard deviation of those [ms] (t)."),
    ("segs_cum_acked", "Segments acknowledged together with a later one (t)."),
    ("duplicate_acks", "Duplicate ACKs of this direction's data (t)."),
    ("triple_dupacks", "Third duplicate ACKs (t)."),
    ("max_retrans", "Most copies of one segment beside the first (t)."),
    ("min_retr_time_ms", "Shortest time between copies [ms] (t)."),
    ("max_retr_time_ms", "Longest time between copies [ms] (t)."),
    ("avg_retr_time_ms", "Mean time between copies [ms] (t)."),
    ("sdv_retr_time_ms", "Standard deviation of the times between copies [ms] (t)."),
    ("goodput_bps", "Unique bytes over the elapsed time of the connection [bit/s]."),
    ("goodput_sending_bps", "Unique bytes over the time from first to last data [bit/s]."),
    ("ip_bytes", "IP packets with headers [bytes]."),
    ("rtt_min_s", "Shortest round-trip time [s]."),
    ("rtt_mean_s", "Mean round-trip time [s]."),
    ("rtt_max_s", "Longest round-trip time [s]."),
    ("rtt_stdev_s", "Standard deviation of the round-trip times [s]."),
    (
        "echo_rtt_min_s",
        "Shortest time from the capture point to this end and back, by echoes of timestamps (RFC 7323) [s].",
    ),
    ("echo_rtt_mean_s", "Mean of these times, what this end takes to send something included [s]."),
    ("echo_rtt_max_s", "Longest of these times [s]."),
    ("echo_rtt_stdev_s", "Standard deviation of these times [s]."),
    ("srtt_s", "Smoothed round-trip time at the end, RFC 6298 [s]."),
    ("rtt_full_size_bytes", "Largest segment that gave a round-trip time [bytes]."),
    ("rtt_full_size_samples", "Round-trip times of segments of that size."),
    ("rtt_full_size_min_s", "Shortest of them [s]."),
    ("rtt_full_size_mean_s", "Their mean [s]."),
    ("rtt_full_size_max_s", "Longest of them [s]."),
    ("outstanding_max_bytes", "Most data sent and not acknowledged [bytes]."),
    ("outstanding_mean_bytes", "Its mean over time, from the first data on [bytes]."),
    ("in_flight_max_bytes", "Most outstanding data without what SACK reported [bytes]."),
    ("in_flight_mean_bytes", "Its mean over time, from the first data on [bytes]."),
    ("rexmt_fast_pkts", "Segments sent again because of duplicate ACKs or SACK."),
    ("rexmt_timeout_pkts", "Segments sent again by a timer."),
    ("rexmt_spurious_pkts", "Segments sent again though the first copy had arrived."),
    ("fast_recoveries", "Recoveries that duplicate ACKs or SACK started."),
    ("timeouts", "Times a timer made the sender go back, needed or not."),
    ("window_probes", "Probes of a window that was zero, empty ones included."),
    ("keep_alives", "Segments that repeat the last byte to see whether the other end is there."),
    ("zero_window_s", "Time for which this end advertised window zero [s]."),
    ("ecn_ce_pkts", "Packets marked for congestion (RFC 3168)."),
    ("idle_periods", "Pauses in sending of at least the threshold, with nothing outstanding."),
    ("idle_s", "Their time [s]."),
    ("limited_by_application", "Share of the sending time in which the application gave nothing more."),
    ("limited_by_receiver", "Share of the sending time in which the receiver's window was full."),
    ("limited_by_congestion", "Share of the sending time in which the sender waited for ACKs or repaired losses."),
    ("limited_by_unknown", "Share of the sending time in which nothing at the capture point tells why nothing came."),
];

#[cfg(test)]
mod tests {
    use super::{MEANINGS, about};
    use crate::{AnalysisOptions, analyze};

    #[test]
    fn every_value_has_a_meaning_and_every_meaning_a_value() {
        let ends = [1, 2].map(|last| crate::Endpoint { address: crate::Address::v4(last), port: 9 });
        let tcp = crate::frame::Tcp { flags: crate::flag::SYN, ..crate::frame::Tcp::between(ends[0], ends[1]) };
        let mut file = Vec::new();
        let mut frame = Vec::new();
        crate::frame::tcp(&mut frame, &tcp, 0);
        let mut writer = crate::PcapWriter::new(&mut file, crate::LinkType::RawIp, 99).expect("memory can be written");
        writer.write(5, 40, &frame).expect("memory can be written");
        let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
        let connection = analysis.connections().next().expect("there is one");
        let mut names: Vec<&str> = connection.fields().iter().map(|(name, _)| *name).collect();
        names.push("direction");
        names.extend(connection.side_fields(0).iter().map(|(name, _)| *name));
        for name in &names {
            assert!(about(name).is_some(), "{name} has no meaning");
        }
        for (name, _) in MEANINGS {
            assert!(names.contains(name), "there is no {name}");
        }
    }
}
