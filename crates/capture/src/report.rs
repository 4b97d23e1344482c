//! The results of an analysis, as named values and as JSON.
//!
//! A value with a name of tcptrace has tcptrace's definition, units and rounding, flaws included: times are truncated
//! to whole us, means of times are a little low (see [`Samples::mean`]), `throughput` is in bytes/s, `owin` is one byte
//! too large and sampled when something is sent, `wavg_owin` truncates every term. Better-defined values have other
//! names and are given in addition. There are two exceptions: where tcptrace compares 32-bit numbers and fails when
//! they wrap, its names have the correct value here; and its `rtt_full_sz_*`, which never work, are replaced by
//! `rtt_full_size_*`.

use crate::analysis::Analysis;
use crate::json::{JsonValue, JsonWriter};
use crate::tcp::connection::CapturedConnection;
use crate::tcp::history::Samples;
use crate::tcp::side::{Side, Spread};

/// A value of a direction or connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A count, or bytes.
    Whole(u64),
    /// A difference that can be negative.
    Signed(i64),
    /// A measured number.
    Real(f64),
    /// Text.
    Text(String),
    /// Unknown or undefined.
    Missing,
}

impl JsonValue for Field {
    fn write(&self, text: &mut String) {
        match self {
            Self::Whole(value) => value.write(text),
            Self::Signed(value) => value.write(text),
            Self::Real(value) => value.write(text),
            Self::Text(value) => value.write(text),
            Self::Missing => None::<u64>.write(text),
        }
    }
}

impl From<u64> for Field {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Field {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<V: Into<Self>> From<Option<V>> for Field {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// `value` with this number of decimals, rounded as by `printf`.
fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Milliseconds with one decimal, from us.
fn ms(us: f64) -> Field {
    Field::Real(rounded(us / 1_000.0, 1))
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
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
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.object("", |json| {
            json.object("capture", |json| self.capture(json));
            json.array("connections", |json| {
                for connection in self.connections() {
                    json.object("", |json| connection.json(json));
                }
            });
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
        for (name, value) in [
            ("packets", counts.packets),
            ("bytes", counts.bytes),
            ("tcp_segments", counts.tcp),
            ("udp_datagrams", counts.udp),
            ("echoes", counts.echoes),
            ("other_ip", counts.other_ip),
            ("fragments", counts.fragments),
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
        json.array("interfaces", |json| {
            for interface in &self.interfaces {
                json.object("", |json| {
                    json.put("name", interface.name.clone());
                    json.put("link_type", interface.link.number());
                    json.put("snap_length", interface.snap_length);
                    json.put("dropped", interface.dropped);
                });
            }
        });
    }

    fn air(&self, json: &mut JsonWriter) {
        json.put("frames", self.air_frames);
        json.put("bad_fcs", self.counts.bad_fcs);
        json.put("protected", self.counts.protected);
        json.put("retry_copies_dropped", self.counts.retry_copies);
        json.put("noise_mean_dbm", self.noise.mean());
        let total: f64 = self.stations.iter().map(|station| station.air_time_us).sum();
        json.array("stations", |json| {
            for station in &self.stations {
                json.object("", |json| {
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
                    json.put("frames_without_rate", station.unrated);
                    json.put("aggregates", station.aggregates);
                    let mean = (station.aggregates > 0).then(|| station.aggregated as f64 / station.aggregates as f64);
                    json.put("mpdus_per_aggregate", mean);
                    json.put("largest_aggregate", station.largest_aggregate);
                    json.put("aggregates_unanswered", station.aggregates_unanswered);
                    json.put("block_acks", station.block_acks);
                    let signal = &station.signal;
                    json.put("signal_mean_dbm", signal.mean());
                    json.put("signal_min_dbm", (signal.count > 0).then_some(signal.min));
                    json.put("signal_max_dbm", (signal.count > 0).then_some(signal.max));
                    json.object("frames_by_rate_mbps", |json| {
                        for (kbps, frames) in &station.rates {
                            json.put(&(f64::from(*kbps) / 1e3).to_string(), *frames);
                        }
                    });
                    json.array("frames_by_mode", |json| {
                        for (mode, frames) in &station.modes {
                            json.object("", |json| {
                                json.put("standard", mode.standard);
                                json.put("mcs", mode.mcs);
                                json.put("streams", mode.streams);
                                json.put("width_mhz", mode.width_mhz);
                                json.put("guard_interval_ns", mode.guard_interval_ns);
                                json.put("frames", *frames);
                            });
                        }
                    });
                });
            }
        });
    }
}

impl ConnectionReport<'_> {
    /// Address and port of the sender of its first packet.
    #[must_use]
    pub fn host_a(&self) -> String {
        self.connection.ends[0].to_string()
    }

    /// Address and port of the other end.
    #[must_use]
    pub fn host_b(&self) -> String {
        self.connection.ends[1].to_string()
    }

    /// The values of the connection as a whole.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        let connection = self.connection;
        let [a, b] = &connection.sides;
        let syns = u8::from(a.syns > 0) + u8::from(b.syns > 0);
        let fins = u8::from(a.fins > 0) + u8::from(b.fins > 0);
        let whole = syns == 2 && fins == 2;
        let state = match (a.resets + b.resets > 0, whole) {
            (true, true) => "RESET".to_owned(),
            (true, false) => format!("RESET (SYNs: {syns}) (FINs: {fins})"),
            (false, true) => "yes".to_owned(),
            (false, false) => format!("no (SYNs: {syns}) (FINs: {fins})"),
        };
        let parts = connection.handshake.parts();
        vec![
            ("id", Field::Whole(self.number as u64 + 1)),
            ("host_a", Field::Text(self.host_a())),
            ("host_b", Field::Text(self.host_b())),
            ("interface", Field::Whole(u64::from(connection.key.interface))),
            ("complete_conn", Field::Text(state)),
            ("first_packet_ns", Field::Whole(connection.first)),
            ("elapsed_s", Field::Real(elapsed_printed(elapsed_us(connection)))),
            ("duration_s", Field::Real(seconds(connection.last.saturating_sub(connection.first)))),
            ("total_packets", Field::Whole(a.packets + b.packets)),
            ("handshake_rtt_s", parts.map(|(server, client)| seconds(server + client)).into()),
            ("handshake_server_s", parts.map(|(server, _)| seconds(server)).into()),
            ("handshake_client_s", parts.map(|(_, client)| seconds(client)).into()),
        ]
    }

    /// The values of the direction from a to b (0) or from b to a (1).
    ///
    /// # Panics
    /// If `side` is neither 0 nor 1.
    #[must_use]
    pub fn side_fields(&self, side: usize) -> Vec<(&'static str, Field)> {
        let mut fields = Vec::with_capacity(120);
        let mut put = |name, value: Field| fields.push((name, value));
        let side = &self.connection.sides[side];
        let elapsed = elapsed_us(self.connection) / 1e6;
        counted(side, &mut put);
        windows(side, elapsed, &mut put);
        streams(side, elapsed, &mut put);
        round_trips(side, &mut put);
        beyond(side, elapsed, &mut put);
        fields
    }

    /// The values of a direction and of its connection, in one row.
    ///
    /// # Panics
    /// If `side` is neither 0 nor 1.
    #[must_use]
    pub fn row(&self, side: usize) -> Vec<(&'static str, Field)> {
        // The direction's own packet count replaces that of both directions.
        let mut row: Vec<_> = self.fields().into_iter().filter(|(name, _)| *name != "total_packets").collect();
        row.push(("direction", Field::Text(["a2b", "b2a"][side].to_owned())));
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

fn elapsed_us(connection: &CapturedConnection) -> f64 {
    crate::tcp::history::elapsed_us(connection.first, connection.last)
}

/// Seconds as printed by tcptrace: the microseconds, computed in floating point, are truncated.
fn elapsed_printed(us: f64) -> f64 {
    let whole = (us / 1e6).trunc();
    let fraction = (1e6 * (us / 1e6 - whole)).trunc();
    rounded(whole + fraction / 1e6, 6)
}

fn counted(side: &Side, put: &mut impl FnMut(&'static str, Field)) {
    let letter = |set: bool| if set { "Y" } else { "N" };
    put("total_packets", side.packets.into());
    put("resets_sent", side.resets.into());
    put("ack_pkts_sent", side.acks.into());
    put("pure_acks_sent", side.pure_acks.into());
    put("sack_pkts_sent", side.sack_acks.into());
    put("dsack_pkts_sent", side.dsacks.into());
    put("max_sack_blks_ack", u64::from(side.most_blocks).into());
    put("unique_bytes_sent", side.unique_bytes.into());
    put("actual_data_pkts", side.data_packets.into());
    put("actual_data_bytes", side.data_bytes.into());
    put("rexmt_data_pkts", side.again_packets.into());
    put("rexmt_data_bytes", side.again_bytes.into());
    put("zwnd_probe_pkts", side.probe_packets.into());
    put("zwnd_probe_bytes", side.probe_bytes.into());
    put("outoforder_pkts", side.out_of_order.into());
    put("pushed_data_pkts", side.pushed.into());
    put("syn_fin_pkts_sent", Field::Text(format!("{}/{}", side.syns, side.fins)));
    put("req_1323_ws_ts", Field::Text(format!("{}/{}", letter(side.scaling), letter(side.timestamps))));
    put("adv_wind_scale", u64::from(side.scale).into());
    put("req_sack", Field::Text(letter(side.sack_permitted).to_owned()));
    put("sacks_sent", side.sack_option_packets.into());
    put("urgent_data_pkts", side.urgent_packets.into());
    put("urgent_data_bytes", side.urgent_bytes.into());
    put("mss_requested", u64::from(side.mss).into());
    put("max_segm_size", u64::from(side.largest).into());
    put("min_segm_size", u64::from(side.smallest).into());
    put("avg_segm_size", ((side.data_bytes as f64 / (side.data_packets as f64 + 0.001)) as u64).into());
}

fn windows(side: &Side, elapsed: f64, put: &mut impl FnMut(&'static str, Field)) {
    put("max_win_adv", side.window_max.into());
    put("min_win_adv", side.window_min.into());
    put("zero_win_adv", side.window_zero.into());
    let counted = side.scaled_packets.unwrap_or(side.packets);
    put("avg_win_adv", if side.acks == 0 || counted == 0 { 0 } else { side.window_sum / counted }.into());
    put("max_owin", side.owin_max.into());
    put("min_non_zero_owin", side.owin_min.into());
    put("avg_owin", side.owin_sum.checked_div(side.owin_count).unwrap_or(0).into());
    put("wavg_owin", (elapsed > 0.0).then(|| (side.owin_weighted as f64 / elapsed) as u64).into());
    put("initial_window_bytes", side.initial_bytes.into());
    put("initial_window_pkts", side.initial_packets.into());
}

fn streams(side: &Side, elapsed: f64, put: &mut impl FnMut(&'static str, Field)) {
    let end = if side.resets > 0 { side.latest } else { side.fin };
    let stream = match side.syn {
        Some(syn) if side.fins > 0 => Some(end - syn - 1),
        _ => None,
    };
    put("ttl_stream_length", stream.map_or(Field::Missing, Field::Signed));
    let missed = stream.map(|stream| stream - side.unique_bytes.cast_signed());
    put("missed_data", missed.map_or(Field::Missing, Field::Signed));
    put("truncated_data", side.truncated_bytes.into());
    put("truncated_packets", side.truncated_packets.into());
    let sending = crate::tcp::history::elapsed_us(side.first_data, side.last_data);
    put("data_xmit_time", rounded(sending / 1e6, 3).into());
    put("idletime_max_ms", if side.packets == 0 { Field::Missing } else { ms(side.idle_max_us) });
    put("hardware_dups", side.hardware.duplicates.into());
    put("throughput", (elapsed > 0.0).then(|| rounded(side.unique_bytes as f64 / elapsed, 0) as u64).into());
}

fn round_trips(side: &Side, put: &mut impl FnMut(&'static str, Field)) {
    let history = &side.history;
    let rtt = &history.rtt;
    put("rtt_samples", rtt.count.into());
    put("rtt_min_ms", ms(rtt.min));
    put("rtt_max_ms", ms(rtt.max));
    put("rtt_avg_ms", ms(rtt.mean()));
    put("rtt_stdev_ms", ms(rtt.deviation()));
    put("rtt_from_3whs_ms", ms(side.handshake_us));
    put("post_loss_acks", history.no_sample.into());
    let last: &Samples = &history.rtt_last_copy;
    put("ambiguous_acks", last.count.into());
    put("rtt_min_last_ms", ms(last.min));
    put("rtt_max_last_ms", ms(last.max));
    put("rtt_avg_last_ms", ms(last.mean()));
    put("rtt_sdv_last_ms", ms(last.deviation()));
    put("segs_cum_acked", history.cumulative.into());
    put("duplicate_acks", history.duplicates.into());
    put("triple_dupacks", history.triples.into());
    put("max_retrans", u64::from(history.most_copies).into());
    let resend = &history.resend;
    put("min_retr_time_ms", ms(resend.min));
    put("max_retr_time_ms", ms(resend.max));
    put("avg_retr_time_ms", ms(resend.mean()));
    put("sdv_retr_time_ms", ms(resend.deviation()));
}

/// Values that tcptrace does not have, or gets wrong.
fn beyond(side: &Side, elapsed: f64, put: &mut impl FnMut(&'static str, Field)) {
    let scoreboard = &side.scoreboard;
    let bits = 8.0 * side.unique_bytes as f64;
    let sending = seconds(side.last_data.saturating_sub(side.first_data));
    put("goodput_bps", (elapsed > 0.0).then(|| bits / elapsed).into());
    put("goodput_sending_bps", (sending > 0.0).then(|| bits / sending).into());
    put("ip_bytes", side.wire_bytes.into());
    let spread = |put: &mut dyn FnMut(&'static str, Field), names: [&'static str; 4], spread: &Spread| {
        put(names[0], (spread.count > 0).then(|| seconds(spread.min)).into());
        put(names[1], spread.mean().map(|nanos| nanos / 1e9).into());
        put(names[2], (spread.count > 0).then(|| seconds(spread.max)).into());
        put(names[3], spread.deviation().map(|nanos| nanos / 1e9).into());
    };
    spread(put, ["rtt_min_s", "rtt_mean_s", "rtt_max_s", "rtt_stdev_s"], &side.rtt);
    spread(put, ["echo_rtt_min_s", "echo_rtt_mean_s", "echo_rtt_max_s", "echo_rtt_stdev_s"], &side.echo_rtt);
    put("srtt_s", (side.rtt.count > 0).then_some(side.srtt / 1e9).into());
    let full = &side.history.full;
    let us = |value: f64| Field::Real(value / 1e6);
    put("rtt_full_size_bytes", side.history.full_size.cast_unsigned().into());
    put("rtt_full_size_samples", full.count.into());
    let any = full.count > 0;
    put("rtt_full_size_min_s", if any { us(full.min) } else { Field::Missing });
    put("rtt_full_size_mean_s", if any { us(full.sum / full.count as f64) } else { Field::Missing });
    put("rtt_full_size_max_s", if any { us(full.max) } else { Field::Missing });
    let area = &side.area;
    let lasting = area.nanos.saturating_sub(side.first_data) as f64;
    let mean = |sum: f64| (side.data_packets > 0 && lasting > 0.0).then(|| sum / lasting);
    put("outstanding_max_bytes", area.outstanding_max.into());
    put("outstanding_mean_bytes", mean(area.outstanding_sum).into());
    put("in_flight_max_bytes", area.in_flight_max.into());
    put("in_flight_mean_bytes", mean(area.in_flight_sum).into());
    put("rexmt_fast_pkts", scoreboard.fast.into());
    put("rexmt_timeout_pkts", scoreboard.timeout.into());
    put("rexmt_spurious_pkts", scoreboard.spurious.into());
    put("fast_recoveries", scoreboard.fast_recoveries.into());
    put("timeouts", scoreboard.timeouts.into());
    put("window_probes", side.window_probes.into());
    put("keep_alives", side.keep_alives.into());
    put("zero_window_s", seconds(side.zero_nanos).into());
    put("ecn_ce_pkts", side.marked.into());
    put("idle_periods", side.idle_periods.into());
    put("idle_s", seconds(side.idle_nanos).into());
    let limits = &side.limits;
    let all = limits.application as f64 + limits.receiver as f64 + limits.congestion as f64 + limits.unknown as f64;
    let share = |part: u64| (all > 0.0).then(|| part as f64 / all);
    put("limited_by_application", share(limits.application).into());
    put("limited_by_receiver", share(limits.receiver).into());
    put("limited_by_congestion", share(limits.congestion).into());
    put("limited_by_unknown", share(limits.unknown).into());
}
