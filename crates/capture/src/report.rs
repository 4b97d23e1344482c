//! The results of an analysis, as named values and as JSON.
//!
//! A value with a name of tcptrace has tcptrace's definition, units and rounding, flaws included: times are truncated
//! to whole us, means of times are a little low (see [`Samples::mean`]), `throughput` is in bytes/s, `owin` is one byte
//! too large and sampled when something is sent, `wavg_owin` truncates every term. Better-defined values have other
//! names and are given in addition. There are two exceptions: where tcptrace compares 32-bit numbers and fails when
//! they wrap, its names have the correct value here; and its `rtt_full_sz_*`, which never work, are replaced by
//! `rtt_full_size_*`.

use std::borrow::Cow;

use serde_json::Value;

use crate::analysis::Analysis;
use crate::json::JsonWriter;
use crate::link::beacon::Beacon;
use crate::link::mode::ModeParameters;
use crate::tcp::connection::CapturedConnection;
use crate::tcp::history::{elapsed_us, seconds};
use crate::tcp::side::Side;

/// A value of a connection, of a direction or of a segment.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A count, or bytes.
    Whole(u64),
    /// A difference that can be negative.
    Signed(i64),
    /// A measured number.
    Real(f64),
    /// Text.
    Text(Cow<'static, str>),
    /// Unknown or undefined.
    Missing,
}

impl From<Field> for Value {
    fn from(field: Field) -> Self {
        match field {
            Field::Whole(value) => value.into(),
            Field::Signed(value) => value.into(),
            Field::Real(value) => value.into(),
            Field::Text(value) => value.into(),
            Field::Missing => Self::Null,
        }
    }
}

macro_rules! field_from {
    ($($kind:ty: $variant:ident),*) => {$(
        impl From<$kind> for Field {
            fn from(value: $kind) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

field_from!(u8: Whole, u16: Whole, u32: Whole, u64: Whole, i64: Signed, f64: Real, &'static str: Text, String: Text);

impl<V: Into<Self>> From<Option<V>> for Field {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// A value of a connection, of a direction or of a segment.
pub struct Definition<F> {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, with unit and source.
    pub meaning: &'static str,
    /// How it is found.
    pub value: F,
}

/// Definitions, in the order of the output. (t) marks a definition of tcptrace.
macro_rules! definitions {
    ($(#[$about:meta])* $vis:vis $list:ident: $kind:ty = |$of:ident, $within:ident| {
        $($name:literal: $meaning:literal => $value:expr;)*
    }) => {
        $(#[$about])*
        $vis const $list: &[Definition<$kind>] = &[$(Definition {
            name: $name,
            meaning: $meaning,
            value: |$of, $within| {
                let _ = ($of, $within);
                Field::from($value)
            },
        }),*];
    };
}
pub(crate) use definitions;

/// The meaning of a value of [`ConnectionReport`], with its unit; `None` for an unknown name.
///
/// ```
/// assert!(wifair_capture::about("goodput_bps").is_some_and(|text| text.contains("bit/s")));
/// ```
pub fn about(name: &str) -> Option<&'static str> {
    let connection = CONNECTION.iter().map(|definition| (definition.name, definition.meaning));
    let direction = DIRECTION.iter().map(|definition| (definition.name, definition.meaning));
    let mut all = std::iter::once(("direction", "`a2b` or `b2a`.")).chain(direction).chain(connection);
    all.find(|(there, _)| *there == name).map(|(_, meaning)| meaning)
}

/// `value` with this number of decimals, rounded as by `printf`.
fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Milliseconds with one decimal, from us.
fn ms(us: f64) -> f64 {
    rounded(us / 1_000.0, 1)
}

/// A connection of an analysis.
#[derive(Clone, Copy)]
pub struct ConnectionReport<'a> {
    connection: &'a CapturedConnection,
    number: usize,
}

impl Analysis {
    /// The TCP connections, in the order of their first packets.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = ConnectionReport<'_>> {
        self.connections.iter().enumerate().map(|(number, connection)| ConnectionReport { connection, number })
    }

    /// All results as JSON.
    pub fn to_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.object("", |json| {
            json.object("capture", |json| self.capture(json));
            json.objects("connections", self.connections(), |json, connection| connection.json(json));
            self.datagrams_json(json);
            json.object("fairness", |json| self.fairness().json(json));
            if self.air_frames > 0 {
                json.object("wlan", |json| self.air(json));
            }
        });
        json.finish()
    }

    fn capture(&self, json: &mut JsonWriter) {
        let counts = &self.counts;
        json.put("start_ns", self.span.map(|(first, _)| first));
        json.put("duration_s", self.span.map(|(first, last)| seconds(last.saturating_sub(first))));
        json.put("analysed_s", seconds(self.window.1.saturating_sub(self.window.0)));
        for (name, value) in [
            ("packets", counts.packets),
            ("bytes", counts.bytes),
            ("tcp_segments", counts.tcp),
            ("udp_datagrams", counts.udp),
            ("echoes", counts.echoes),
            ("other_ip", counts.other_ip),
            ("fragments", counts.fragments),
            ("reassembled", counts.reassembled),
            ("not_ip", counts.not_ip),
            ("short", counts.short),
            ("malformed", counts.malformed),
            ("unknown_link", counts.unknown_link),
            ("filtered", counts.filtered),
            ("back_in_time", counts.back_in_time),
            ("copies_dropped", counts.copies),
        ] {
            json.put(name, value);
        }
        let others = &self.others;
        for (name, value) in [
            ("other_connections", others.connections),
            ("other_connections_packets", others.packets),
            ("other_connections_bytes", others.bytes),
        ] {
            json.put(name, value);
        }
        json.put("damage", self.damage.as_ref().map(ToString::to_string));
        json.objects("interfaces", &self.interfaces, |json, interface| {
            json.put("name", interface.name.clone());
            json.put("link_type", interface.link.number());
            json.put("snap_length", interface.snap_length);
            json.put("dropped", interface.dropped);
        });
    }

    fn air(&self, json: &mut JsonWriter) {
        json.put("frames", self.air_frames);
        json.put("frames_without_sender", self.air_unattributed);
        json.put("bad_fcs", self.counts.bad_fcs);
        json.put("protected", self.counts.protected);
        json.put("retry_copies_dropped", self.counts.retry_copies);
        json.put("captured_twice_dropped", self.counts.captured_twice);
        json.object("frames_by_mhz", |json| {
            for (mhz, frames) in &self.frequencies {
                json.put(&mhz.to_string(), *frames);
            }
        });
        json.put("noise_mean_dbm", self.noise.mean());
        let total: f64 = self.stations.iter().map(|station| station.air_time_us).sum();
        json.objects("stations", &self.stations, |json, station| {
            json.put("address", station.address.to_string());
            json.put("access_point", station.access_point);
            json.put("frames", station.frames);
            json.put("bytes", station.bytes);
            json.put("data_frames", station.data_frames);
            json.put("retries", station.retries);
            let share = (station.numbered > 0).then(|| station.retries as f64 / station.numbered as f64);
            json.put("retry_fraction", share);
            json.put("airtime_s", station.air_time_us * 1e-6);
            json.put("airtime_share", (total > 0.0).then(|| station.air_time_us / total));
            json.put("airtime_to_station_s", station.air_time_to_us * 1e-6);
            json.put("airtime_to_station_share", (total > 0.0).then(|| station.air_time_to_us / total));
            json.put("frames_without_rate", station.unrated);
            json.put("aggregates", station.aggregates);
            let mean = (station.aggregates > 0).then(|| station.aggregated as f64 / station.aggregates as f64);
            json.put("mpdus_per_aggregate", mean);
            json.put("largest_aggregate", station.largest_aggregate);
            json.put("aggregates_unanswered", station.aggregates_unanswered);
            json.put("aggregates_to_unheard", station.aggregates_to_unheard);
            json.put("block_acks", station.block_acks);
            json.put("rts", station.rts);
            let signal = &station.signal;
            json.put("signal_mean_dbm", signal.mean());
            json.put("signal_min_dbm", (signal.count > 0).then_some(signal.min));
            json.put("signal_max_dbm", (signal.count > 0).then_some(signal.max));
            json.object("frames_by_rate_mbps", |json| rates_json(json, &station.rates));
            modes_json(json, "frames_by_mode", &station.modes);
            json.object("link_frames_by_rate_mbps", |json| rates_json(json, &station.link.rates));
            modes_json(json, "link_frames_by_mode", &station.link.modes);
            json.objects("beacon", &station.beacon, beacon_json);
        });
    }
}

impl ConnectionReport<'_> {
    /// Address and port of the sender of its first packet.
    pub fn host_a(&self) -> String {
        self.connection.ends[0].to_string()
    }

    /// Address and port of the other end.
    pub fn host_b(&self) -> String {
        self.connection.ends[1].to_string()
    }

    /// The values of the connection as a whole.
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        CONNECTION.iter().map(|definition| (definition.name, (definition.value)(self.connection, self))).collect()
    }

    /// The values of the direction from a to b (0) or from b to a (1).
    ///
    /// # Panics
    /// If `side` is neither 0 nor 1.
    pub fn side_fields(&self, side: usize) -> Vec<(&'static str, Field)> {
        let side = &self.connection.sides[side];
        let elapsed = self.elapsed_us() / 1e6;
        DIRECTION.iter().map(|definition| (definition.name, (definition.value)(side, elapsed))).collect()
    }

    /// Last minus first packet, both directions, in us.
    fn elapsed_us(&self) -> f64 {
        elapsed_us(self.connection.first, self.connection.last)
    }

    /// The values of a direction and of its connection, in one row.
    ///
    /// # Panics
    /// If `side` is neither 0 nor 1.
    pub fn row(&self, side: usize) -> Vec<(&'static str, Field)> {
        // The direction's own packet count replaces that of both directions.
        let mut row: Vec<_> = self.fields().into_iter().filter(|(name, _)| *name != "total_packets").collect();
        row.push(("direction", ["a2b", "b2a"][side].into()));
        row.extend(self.side_fields(side));
        row
    }

    fn json(&self, json: &mut JsonWriter) {
        for (name, value) in self.fields() {
            json.put(name, value);
        }
        for (name, side) in [("a2b", 0), ("b2a", 1)] {
            json.object(name, |json| {
                for (name, value) in self.side_fields(side) {
                    json.put(name, value);
                }
            });
        }
    }
}

fn rates_json(json: &mut JsonWriter, rates: &[(u32, u64)]) {
    for (kbps, frames) in rates {
        json.put(&(f64::from(*kbps) / 1e3).to_string(), *frames);
    }
}

fn modes_json(json: &mut JsonWriter, name: &str, modes: &[(ModeParameters, u64)]) {
    json.objects(name, modes, |json, (mode, frames)| {
        json.put("standard", mode.standard);
        json.put("mcs", mode.mcs);
        json.put("streams", mode.streams);
        json.put("width_mhz", mode.width_mhz);
        json.put("guard_interval_ns", mode.guard_interval_ns);
        json.put("frames", *frames);
    });
}

fn beacon_json(json: &mut JsonWriter, beacon: &Beacon) {
    json.put("ssid", beacon.ssid.clone());
    json.put("interval_tu", beacon.interval);
    json.put("channel", beacon.channel);
    json.put("width_mhz", beacon.width_mhz);
    json.put("amendment", beacon.amendment);
    json.put("short_slot", beacon.short_slot);
    json.put("short_preamble", beacon.short_preamble);
    json.put("uses_protection", beacon.uses_protection);
    for (name, rates) in [("basic_rates_mbps", &beacon.basic_rates), ("other_rates_mbps", &beacon.other_rates)] {
        json.list(name, rates.iter().map(|half| Some(f64::from(*half) / 2.0)));
    }
    json.object("edca", |json| {
        for (category, record) in ["be", "bk", "vi", "vo"].into_iter().zip(beacon.edca.iter().flatten()) {
            json.object(category, |json| {
                json.put("aifsn", record.aifsn);
                json.put("cw_min", record.cw_min);
                json.put("cw_max", record.cw_max);
                json.put("txop_us", record.txop_us);
            });
        }
    });
}

/// Seconds as printed by tcptrace: the microseconds, computed in floating point, are truncated.
fn elapsed_printed(us: f64) -> f64 {
    let whole = (us / 1e6).trunc();
    let fraction = (1e6 * (us / 1e6 - whole)).trunc();
    rounded(whole + fraction / 1e6, 6)
}

fn yes_or_no(set: bool) -> &'static str {
    if set { "Y" } else { "N" }
}

/// Whether SYN and FIN were seen both ways.
fn completeness(sides: &[Side; 2]) -> String {
    let [a, b] = sides;
    let syns = u8::from(a.syns > 0) + u8::from(b.syns > 0);
    let fins = u8::from(a.fins > 0) + u8::from(b.fins > 0);
    match (a.resets + b.resets > 0, syns == 2 && fins == 2) {
        (true, true) => "RESET".to_owned(),
        (true, false) => format!("RESET (SYNs: {syns}) (FINs: {fins})"),
        (false, true) => "yes".to_owned(),
        (false, false) => format!("no (SYNs: {syns}) (FINs: {fins})"),
    }
}

/// A rate per second, if there was time.
fn rate(amount: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount / seconds)
}

definitions! {
/// The values of a connection as a whole.
CONNECTION: fn(&CapturedConnection, &ConnectionReport<'_>) -> Field = |connection, report| {
    "id": "Number of the connection, in the order of first packets, from 1." => report.number as u64 + 1;
    "host_a": "Address and port of the sender of the first packet." => report.host_a();
    "host_b": "Address and port of the other end." => report.host_b();
    "interface": "Number of the capturing interface, from 0." => connection.key.interface;
    "complete_conn": "`yes` if SYN and FIN were seen both ways; `RESET`; or what is missing (t)."
        => completeness(&connection.sides);
    "first_packet_ns": "Time of the first packet, since 1970 [ns]." => connection.first;
    "elapsed_s": "Last minus first packet, both directions [s]; cut to whole us (t)."
        => elapsed_printed(report.elapsed_us());
    "duration_s": "Last minus first packet, both directions [s]."
        => seconds(connection.last.saturating_sub(connection.first));
    "total_packets": "Segments (t)." => connection.sides.iter().map(|side| side.packets).sum::<u64>();
    "station": "Hardware address of the station at one of its ends, where 802.11 frames name it."
        => connection.station.map(|address| address.to_string());
    "handshake_rtt_s": "Round-trip time of the three-way handshake, end to end [s]; none if a SYN came twice."
        => connection.handshake.parts().map(|(server, client)| seconds(server + client));
    "handshake_server_s": "Part of the handshake round-trip time between the capture point and the server [s]."
        => connection.handshake.parts().map(|(server, _)| seconds(server));
    "handshake_client_s": "Part of the handshake round-trip time between the capture point and the client [s]."
        => connection.handshake.parts().map(|(_, client)| seconds(client));
}
}

definitions! {
/// The values of a direction; `elapsed` is the time of its connection in s.
DIRECTION: fn(&Side, f64) -> Field = |side, elapsed| {
    "total_packets": "Segments (t)." => side.packets;
    "resets_sent": "Segments with RST (t)." => side.resets;
    "ack_pkts_sent": "Segments with ACK flag (t)." => side.acks;
    "pure_acks_sent": "ACKs without data, SYN, FIN, RST (t)." => side.pure_acks;
    "sack_pkts_sent": "ACKs with SACK blocks (t)." => side.sack_acks;
    "dsack_pkts_sent": "ACKs that report a duplicate by SACK (t)." => side.dsacks;
    "max_sack_blks_ack": "Most SACK blocks in an ACK (t)." => side.most_blocks;
    "unique_bytes_sent": "Payload not seen before [bytes] (t)." => side.unique_bytes;
    "actual_data_pkts": "Segments with payload (t)." => side.data_packets;
    "actual_data_bytes": "Payload, retransmissions included [bytes] (t)." => side.data_bytes;
    "rexmt_data_pkts": "Segments with a byte, SYN or FIN that was seen before (t)." => side.again_packets;
    "rexmt_data_bytes": "Bytes (and SYN, FIN) sent that were seen before [bytes] (t)." => side.again_bytes;
    "zwnd_probe_pkts": "Segments with data or FIN while the other end's window was zero (t)." => side.probe_packets;
    "zwnd_probe_bytes": "Payload of segments sent while the other end's window was zero [bytes] (t)."
        => side.probe_bytes;
    "outoforder_pkts": "Segments that start and end below one seen before, and are new (t)." => side.out_of_order;
    "pushed_data_pkts": "Segments with payload and PSH (t)." => side.pushed;
    "syn_fin_pkts_sent": "Segments with SYN / with FIN (t)." => format!("{}/{}", side.syns, side.fins);
    "req_1323_ws_ts": "Window scaling / timestamps requested (t)."
        => format!("{}/{}", yes_or_no(side.scaling), yes_or_no(side.timestamps));
    "adv_wind_scale": "Window scale; 0 unless both ends request it (t)." => side.scale;
    "req_sack": "SACK permitted (t)." => yes_or_no(side.sack_permitted);
    "sacks_sent": "Segments with SACK blocks (t)." => side.sack_option_packets;
    "urgent_data_pkts": "Segments with payload and URG (t)." => side.urgent_packets;
    "urgent_data_bytes": "Sum of the urgent pointers of segments with payload and URG [bytes] (t)."
        => side.urgent_bytes;
    "mss_requested": "Maximum segment size announced [bytes] (t)." => side.mss;
    "max_segm_size": "Largest payload [bytes] (t)." => side.largest;
    "min_segm_size": "Smallest payload above zero [bytes] (t)." => side.smallest;
    "avg_segm_size": "Mean payload of segments with payload, cut [bytes] (t)."
        => (side.data_bytes as f64 / (side.data_packets as f64 + 0.001)) as u64;
    "max_win_adv": "Largest window advertised, scaled [bytes] (t)." => side.window_max;
    "min_win_adv": "Smallest window above zero advertised, scaled [bytes] (t)." => side.window_min;
    "zero_win_adv": "ACKs with window zero (t)." => side.window_zero;
    "avg_win_adv": "Mean window over packets, cut [bytes] (t)." => side.mean_window();
    "max_owin": "Largest outstanding window, one byte too large, taken when something is sent [bytes] (t)."
        => side.owin_max;
    "min_non_zero_owin": "Smallest outstanding window above zero, taken like `max_owin` [bytes] (t)." => side.owin_min;
    "avg_owin": "Mean outstanding window over sent segments, cut [bytes] (t)."
        => side.owin_sum.checked_div(side.owin_count).unwrap_or(0);
    "wavg_owin": "Mean outstanding window over time, every term cut [bytes] (t)."
        => (elapsed > 0.0).then(|| (side.owin_weighted as f64 / elapsed) as u64);
    "initial_window_bytes": "Payload before the first ACK of data [bytes] (t)." => side.initial_bytes;
    "initial_window_pkts": "Segments before the first ACK of data (t)." => side.initial_packets;
    "ttl_stream_length": "FIN less SYN by sequence numbers [bytes] (t)." => side.stream_length();
    "missed_data": "Stream length less unique bytes [bytes] (t)."
        => side.stream_length().map(|stream| stream - side.unique_bytes.cast_signed());
    "truncated_data": "Payload cut off by the snap length [bytes] (t)." => side.truncated_bytes;
    "truncated_packets": "Segments with payload cut off (t)." => side.truncated_packets;
    "data_xmit_time": "From first to last segment with payload [s] (t)."
        => rounded(elapsed_us(side.first_data, side.last_data) / 1e6, 3);
    "idletime_max_ms": "Longest time between segments of the direction [ms] (t)."
        => (side.packets > 0).then(|| ms(side.idle_max_us));
    "hardware_dups": "Segments with number and IP identification of one of the eight before (t)."
        => side.hardware.duplicates;
    "throughput": "Unique bytes over the elapsed time of the connection [bytes/s] (t)."
        => (elapsed > 0.0).then(|| rounded(side.unique_bytes as f64 / elapsed, 0) as u64);
    "rtt_samples": "Round-trip times, without those of segments sent twice (t)." => side.history.rtt.count;
    "rtt_min_ms": "Shortest round-trip time [ms] (t)." => ms(side.history.rtt.min);
    "rtt_max_ms": "Longest round-trip time [ms] (t)." => ms(side.history.rtt.max);
    "rtt_avg_ms": "Mean round-trip time [ms] (t)." => ms(side.history.rtt.mean());
    "rtt_stdev_ms": "Standard deviation of the round-trip times [ms] (t)." => ms(side.history.rtt.deviation());
    "rtt_from_3whs_ms": "Round-trip time of the SYN [ms] (t)." => ms(side.handshake_us);
    "post_loss_acks": "ACKs that gave no time because an earlier segment was sent later (t)." => side.history.no_sample;
    "ambiguous_acks": "ACKs of segments sent more than once (t)." => side.history.rtt_last_copy.count;
    "rtt_min_last_ms": "Shortest time from the last copy to an ambiguous ACK [ms] (t)."
        => ms(side.history.rtt_last_copy.min);
    "rtt_max_last_ms": "Longest time from the last copy to an ambiguous ACK [ms] (t)."
        => ms(side.history.rtt_last_copy.max);
    "rtt_avg_last_ms": "Mean time from the last copy to an ambiguous ACK [ms] (t)."
        => ms(side.history.rtt_last_copy.mean());
    "rtt_sdv_last_ms": "Standard deviation of the times from the last copy to an ambiguous ACK [ms] (t)."
        => ms(side.history.rtt_last_copy.deviation());
    "segs_cum_acked": "Segments acknowledged together with a later one (t)." => side.history.cumulative;
    "duplicate_acks": "Duplicate ACKs of this direction's data (t)." => side.history.duplicates;
    "triple_dupacks": "Third duplicate ACKs (t)." => side.history.triples;
    "max_retrans": "Most copies of one segment beside the first (t)." => side.history.most_copies;
    "min_retr_time_ms": "Shortest time between copies [ms] (t)." => ms(side.history.resend.min);
    "max_retr_time_ms": "Longest time between copies [ms] (t)." => ms(side.history.resend.max);
    "avg_retr_time_ms": "Mean time between copies [ms] (t)." => ms(side.history.resend.mean());
    "sdv_retr_time_ms": "Standard deviation of the times between copies [ms] (t)."
        => ms(side.history.resend.deviation());

    // Values that tcptrace does not have, or gets wrong.
    "goodput_bps": "Unique bytes over the elapsed time of the connection [bit/s]."
        => rate(8.0 * side.unique_bytes as f64, elapsed);
    "goodput_sending_bps": "Unique bytes over the time from first to last data [bit/s]."
        => rate(8.0 * side.unique_bytes as f64, seconds(side.last_data.saturating_sub(side.first_data)));
    "ip_bytes": "IP packets with headers [bytes]." => side.wire_bytes;
    "rtt_min_s": "Shortest round-trip time [s]." => side.rtt.shortest();
    "rtt_mean_s": "Mean round-trip time [s]." => side.rtt.mean();
    "rtt_max_s": "Longest round-trip time [s]." => side.rtt.longest();
    "rtt_stdev_s": "Standard deviation of the round-trip times [s]." => side.rtt.deviation();
    "echo_rtt_min_s": "Shortest time from the capture point to this end and back, by echoes of timestamps \
        (RFC 7323) [s]."
        => side.echo_rtt.shortest();
    "echo_rtt_mean_s": "Mean round-trip time from the capture point to this end by timestamp echoes; includes \
        the wait until this end sends something [s]."
        => side.echo_rtt.mean();
    "echo_rtt_max_s": "Longest round-trip time by timestamp echoes [s]." => side.echo_rtt.longest();
    "echo_rtt_stdev_s": "Standard deviation of the round-trip times by timestamp echoes [s]."
        => side.echo_rtt.deviation();
    "echo_queue_pkts": "Most packets that this end sent between a timestamp and its echo: those that waited before the \
        echo, in its own queue for example." => side.echo_queue;
    "srtt_s": "Smoothed round-trip time at the end, RFC 6298 [s]." => (side.rtt.count > 0).then_some(side.srtt / 1e9);
    "rtt_full_size_bytes": "Largest segment that gave a round-trip time [bytes]."
        => side.history.full_size.cast_unsigned();
    "rtt_full_size_samples": "Round-trip times of segments of the size `rtt_full_size_bytes`."
        => side.history.full.count;
    "rtt_full_size_min_s": "Shortest round-trip time of segments of the size `rtt_full_size_bytes` [s]."
        => side.history.of_full_size(|times| times.min);
    "rtt_full_size_mean_s": "Mean round-trip time of segments of the size `rtt_full_size_bytes` [s]."
        => side.history.of_full_size(|times| times.sum / times.count as f64);
    "rtt_full_size_max_s": "Longest round-trip time of segments of the size `rtt_full_size_bytes` [s]."
        => side.history.of_full_size(|times| times.max);
    "outstanding_max_bytes": "Most data sent and not acknowledged [bytes]." => side.area.outstanding_max;
    "outstanding_mean_bytes": "Mean of the data outstanding over time, from the first data on [bytes]."
        => side.over_time(side.area.outstanding_sum);
    "in_flight_max_bytes": "Most outstanding data, not counting data that SACK reported [bytes]."
        => side.area.in_flight_max;
    "in_flight_mean_bytes": "Mean of the data in flight over time, from the first data on [bytes]."
        => side.over_time(side.area.in_flight_sum);
    "rexmt_fast_pkts": "Segments sent again because of duplicate ACKs or SACK." => side.scoreboard.fast;
    "rexmt_timeout_pkts": "Segments sent again by a timer." => side.scoreboard.timeout;
    "rexmt_spurious_pkts": "Segments sent again although the first copy had arrived." => side.scoreboard.spurious;
    "fast_recoveries": "Recoveries that duplicate ACKs or SACK started." => side.scoreboard.fast_recoveries;
    "timeouts": "Timer expiries that made the sender go back, necessary or not." => side.scoreboard.timeouts;
    "window_probes": "Probes of a window that was zero, empty ones included." => side.window_probes;
    "messages": "What the application wrote at once: data up to a segment that is not full, after which it paused."
        => side.messages.count;
    "retransmissions": "Segments with a byte, SYN or FIN that was seen before; keep-alives are left out."
        => side.again_packets - side.keep_alives_again;
    "keep_alives": "Segments that repeat the last byte to check that the other end is alive." => side.keep_alives;
    "zero_window_s": "Time for which this end advertised window zero [s]." => seconds(side.zero_nanos);
    "ecn_ce_pkts": "Packets marked for congestion (RFC 3168)." => side.acc_ecn.marked;
    "accecn_options": "Segments with an AccECN option (RFC 9768)." => side.acc_ecn.options;
    "accecn_ce_pkts": "Packets of the other end that this end's ACE fields report as marked." => side.acc_ecn.packets;
    "accecn_ce_bytes": "Payload of the other end that this end's AccECN options report as marked [bytes]."
        => side.acc_ecn.bytes;
    "idle_periods": "Pauses in sending of at least the threshold, with nothing outstanding." => side.idle_periods;
    "idle_s": "Their time [s]." => seconds(side.idle_nanos);
    "limited_by_application": "Share of the sending time in which the application supplied no more data."
        => side.limits.share(side.limits.application);
    "limited_by_receiver": "Share of the sending time in which the receiver's window was full."
        => side.limits.share(side.limits.receiver);
    "limited_by_congestion": "Share of the sending time in which the sender waited for ACKs or repaired losses."
        => side.limits.share(side.limits.congestion);
    "limited_by_unknown": "Share of the sending time in which the capture does not show why no data were sent."
        => side.limits.share(side.limits.unknown);
}
}
