//! The part of the JSON report about datagrams and echoes.

use wifair_metrics::{Histogram, call_rating, mean_opinion_score};
use wifair_units::Duration;

use crate::analysis::Analysis;
use crate::datagrams::{DatagramFlow, protocol_name};
use crate::json::JsonWriter;
use crate::tcp::history::seconds;
use crate::tcp::side::{Spread, StationDirection};

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Analysis {
    /// Flows of datagrams, echoes, and packets of protocols that are not analysed.
    pub(crate) fn datagrams_json(&self, json: &mut JsonWriter) {
        json.objects("datagrams", &self.datagrams.flows.entries, |json, flow| self.flow_json(flow, json));
        json.objects("echoes", &self.datagrams.echoes.entries, |json, pair| {
            let [asking, asked] = pair.hosts.map(|host| std::net::IpAddr::from(host).to_string());
            json.put("from", asking);
            json.put("to", asked);
            json.put("identifier", pair.identifier);
            json.put("interface", pair.interface);
            json.put("requests", pair.requests);
            json.put("replies", pair.replies);
            let lost = pair.requests.saturating_sub(pair.replies);
            json.put("loss_fraction", (pair.requests > 0).then(|| lost as f64 / pair.requests as f64));
            json.put("first_ns", pair.first);
            json.put("duration_s", seconds(pair.last.saturating_sub(pair.first)));
            spread(json, "rtt", &pair.rtt);
        });
        json.object("not_analysed", |json| {
            for (protocol, packets) in &self.datagrams.protocols {
                json.put(&protocol_name(*protocol), *packets);
            }
            let counts = &self.counts;
            for (name, packets) in [
                ("fragments of incomplete IP packets", counts.fragments),
                ("frames without an IP packet", counts.not_ip),
                ("encrypted 802.11 frames", counts.protected),
                ("802.11 frames with a wrong check sequence", counts.bad_fcs),
                ("packets captured too short", counts.short),
                ("A-MSDU frames captured without their last packets", counts.cut_amsdus),
                ("packets with contradictory lengths", counts.malformed),
                ("packets of a link that is not understood", counts.unknown_link),
                ("datagrams of too many flows", self.datagrams.left_out),
            ] {
                if packets > 0 {
                    json.put(name, packets);
                }
            }
        });
    }

    fn flow_json(&self, flow: &DatagramFlow, json: &mut JsonWriter) {
        let lasting = seconds(flow.last.saturating_sub(flow.first));
        json.put("from", flow.ends[0].to_string());
        json.put("to", flow.ends[1].to_string());
        json.put("kind", self.datagrams.kind(flow));
        json.put("interface", flow.interface);
        json.put("way", self.way(&flow.ends, flow.way).map(StationDirection::name));
        json.put("packets", flow.packets);
        json.put("bytes", flow.bytes);
        json.put("first_ns", flow.first);
        json.put("duration_s", lasting);
        json.put("rate_bps", (lasting > 0.0).then(|| 8.0 * flow.bytes as f64 / lasting));
        json.put("longest_gap_s", seconds(flow.longest_gap));
        let numbered = flow.numbering.found().map(|(_, sequence)| sequence);
        let losses = numbered.map(crate::numbering::Sequence::lost);
        let loss = losses.map(|(lost, expected)| lost as f64 / expected as f64);
        json.put("lost", losses.map(|(lost, _)| lost));
        json.put("loss_fraction", loss);
        json.put("out_of_order", numbered.map(|sequence| sequence.out_of_order));
        json.put("duplicates", numbered.map(|sequence| sequence.duplicates));
        json.put("jitter_s", numbered.map(|sequence| sequence.jitter.seconds()));
        let delays = numbered.filter(|sequence| sequence.has_delays()).map(|sequence| &sequence.delays);
        let percentile = |p: f64| move |delays: &Histogram| delays.percentile(p).map(Duration::nearest_secs);
        json.put("owd_idle_s", delays.map(|delays| delays.minimum().nearest_secs()));
        json.put("owd_mean_s", delays.map(Histogram::mean));
        json.put("owd_p50_s", delays.and_then(percentile(0.5)));
        json.put("owd_p95_s", delays.and_then(percentile(0.95)));
        json.put("owd_p99_s", delays.and_then(percentile(0.99)));
        json.put("owd_max_s", delays.map(|delays| delays.maximum().nearest_secs()));
        let rating = delays.map(|delays| call_rating(delays, loss.unwrap_or(0.0)));
        json.put("r_factor", rating);
        json.put("mos", rating.map(mean_opinion_score));
        let quic = &flow.quic;
        let is_quic = quic.version.is_some();
        json.put("quic_version", quic.version);
        json.put("destination_connection_id", is_quic.then(|| hexadecimal(&quic.destination_id)));
        json.put("source_connection_id", is_quic.then(|| hexadecimal(&quic.source_id)));
        json.put("long_headers", is_quic.then_some(quic.long_headers));
        let spins = self.datagrams.kind(flow) == "quic" && quic.spins();
        let none = Spread::default();
        spread(json, "spin_rtt", if spins { &quic.spin_rtt } else { &none });
    }
}

fn spread(json: &mut JsonWriter, name: &str, times: &Spread) {
    json.put(&format!("{name}_samples"), times.count);
    json.put(&format!("{name}_min_s"), times.shortest());
    json.put(&format!("{name}_mean_s"), times.mean());
    json.put(&format!("{name}_max_s"), times.longest());
}
