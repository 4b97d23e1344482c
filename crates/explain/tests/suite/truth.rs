//! What each sentence claims, computed again from the rows of the run alone.

use wifair_explain::Fact;
use wifair_metrics::{Supply, max_min_shares};
use wifair_sim::record::{FlowOutcome, StationOutcome};
use wifair_sim::scenario::{Node, Transport, Workload};

use crate::support::Told;

fn require(is_so: bool, why: impl Into<String>) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(why.into()) }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || a == b
}

fn figure(fact: &Fact, name: &str) -> Result<f64, String> {
    fact.get(name).ok_or_else(|| format!("no figure {name}"))
}

/// A number of the text, with its unit: all that follow `before`.
fn numbers_after(text: &str, before: &str) -> Vec<f64> {
    text.match_indices(before)
        .filter_map(|(at, _)| {
            let rest = &text[at + before.len()..];
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(rest.len());
            rest[..end].trim_end_matches(['.', ',']).replace(',', "").parse().ok()
        })
        .collect()
}

struct Truth<'a> {
    told: &'a Told,
    flows: &'a [FlowOutcome],
    stations: &'a [StationOutcome],
}

impl Truth<'_> {
    fn flow(&self, name: &str) -> Result<usize, String> {
        self.flows.iter().position(|flow| flow.name == name).ok_or_else(|| format!("no flow {name}"))
    }

    fn station(&self, name: &str) -> Result<&StationOutcome, String> {
        self.stations.iter().find(|one| one.name == name).ok_or_else(|| format!("no station {name}"))
    }

    fn is_udp(&self, flow: usize) -> bool {
        matches!(self.group(flow).transport, Transport::Udp(_))
    }

    fn group(&self, flow: usize) -> &wifair_sim::scenario::Flows {
        let known = self.told.scenario.network.flows.iter().find(|one| one.name == self.flows[flow].name);
        self.told.scenario.flows_of(known.expect("a flow of the scenario"))
    }

    /// Always more to send, and less than all that was asked for, in the same time as others of the kind.
    fn wants_more(&self, flow: usize) -> bool {
        let file = &self.told.scenario.file;
        let (begin, end) = (file.warm_up.nearest_secs(), file.duration.nearest_secs());
        let is_late = |at: usize| self.group(at).start.nearest_secs() > begin + 0.05 * (end - begin);
        let endless = |at: usize| {
            let (own, group) = (&self.flows[at], self.group(at));
            let satisfied = self.is_udp(at) && own.goodput_bps >= 0.95 * own.asked_bps;
            group.workload == Workload::Persistent && group.stop.is_none() && !satisfied
        };
        endless(flow) && (!is_late(flow) || (0..self.flows.len()).all(|at| !endless(at) || is_late(at)))
    }

    fn access_point(&self) -> Option<&StationOutcome> {
        self.stations.iter().find(|one| one.name == self.told.scenario.name_of(Node::Ap(0)))
    }
}

/// Whether the sentence is true of the run.
pub fn check(told: &Told, fact: &Fact) -> Result<(), String> {
    let truth = Truth { told, flows: told.flows(), stations: &told.outcomes[0].stations };
    let text = &fact.text;
    require(fact.holds(), "its figures do not meet its conditions")?;
    require(!text.contains("NaN") && !text.contains("inf "), "a figure is not known")?;
    require(text.ends_with('.') && !text.contains("..") && !text.contains("  "), "bad form")?;
    for (name, value) in &fact.figures {
        require(!name.contains("share") || (0.0..=1.0 + 1e-9).contains(value), format!("{name} is no share"))?;
    }
    match fact.rule {
        "shares" => shares(&truth, fact),
        "starved" => starved(&truth, fact),
        "late" => late(&truth, fact),
        "directions" => directions(&truth, fact),
        "controls" => controls(&truth, fact),
        "dropped_acks" => dropped_acks(&truth, fact),
        "acks_dropped_at_stations" => acks_at_stations(&truth, fact),
        "dropped_data" => dropped_data(&truth, fact),
        "timeouts" => timeouts(&truth, fact),
        "waiting" => waiting(&truth, fact),
        "queue" => queue(&truth, fact),
        "calls" => calls(&truth, fact),
        "overloads" => overloads(&truth, fact),
        "wires" => wires(&truth, fact),
        "limits" => limits(&truth, fact),
        "sessions" => sessions(&truth, fact),
        "radio" => radio(&truth, fact),
        "hidden" => hidden(&truth, fact),
        "capture_effect" => capture_effect(&truth, fact),
        "protection" => protection(&truth, fact),
        "small_aggregates" => small_aggregates(&truth, fact),
        "slow_stations" => slow_stations(&truth, fact),
        "slow_receivers" => slow_receivers(&truth, fact),
        "air" => air(&truth, fact),
        other => Err(format!("nobody checks {other}")),
    }
}

fn shares(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let counts = |flow: &&FlowOutcome| t.group(t.flow(&flow.name).unwrap()).workload != ping();
    let sum: f64 = t.flows.iter().filter(counts).map(|flow| flow.goodput_bps).sum();
    require((figure(fact, "goodput_bps")? - sum).abs() <= 1e-6 * sum.max(1.0), "another sum")?;
    let hungry = |flow: &&FlowOutcome| {
        !fact.about.contains(&flow.name) && t.group(t.flow(&flow.name).unwrap()).workload != ping()
    };
    let mut others: Vec<&FlowOutcome> = t.flows.iter().filter(hungry).collect();
    others.sort_by(|a, b| a.goodput_bps.total_cmp(&b.goodput_bps));
    if fact.text.contains("about the same") {
        let (few, most) = (others[0].goodput_bps, others[others.len() - 1].goodput_bps);
        require(most <= 1.1 * few, "they do not get the same")?;
    }
    if let Some((_, rest)) = fact.text.split_once(" least with ") {
        let _ = rest;
        let named = fact.text.split(" least with ").next().and_then(|text| text.rsplit(' ').next()).unwrap_or_default();
        let flow = &t.flows[t.flow(named)?];
        require(flow.goodput_bps <= others[0].goodput_bps, format!("{named} does not get least"))?;
    }
    if fact.text.contains("ask for") || fact.text.contains("asks for") {
        for name in t.flows.iter().map(|flow| &flow.name).filter(|name| fact.about.contains(name)) {
            let flow = &t.flows[t.flow(name)?];
            require(flow.goodput_bps >= 0.95 * flow.asked_bps, format!("{name} does not get what it asks for"))?;
        }
    }
    Ok(())
}

fn ping() -> Workload {
    Workload::named("ping").expect("ping is a workload")
}

fn starved(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    for flow in t.flows {
        let is_named = fact.about.contains(&flow.name);
        require(is_named == (flow.starved == 1), format!("{} is named or not against its column", flow.name))?;
    }
    // A persistent flow that starts with the run has the mean of what is divided as its share, or less.
    let all_same = (0..t.flows.len()).all(|flow| {
        let group = t.group(flow);
        group.workload == Workload::Persistent && group.start.as_nanos() == 0 && !t.is_udp(flow)
    });
    if all_same {
        let supplies: Vec<Supply> = t.flows.iter().map(|flow| Supply::endless(flow.goodput_bps)).collect();
        for (flow, share) in t.flows.iter().zip(max_min_shares(&supplies)) {
            let starves = flow.goodput_bps < 0.1 * share || flow.goodput_bps == 0.0;
            require(starves == fact.about.contains(&flow.name), format!("{} against its share", flow.name))?;
        }
    }
    Ok(())
}

fn late(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let file = &t.told.scenario.file;
    let (begin, end) = (file.warm_up.nearest_secs(), file.duration.nearest_secs());
    for (flow, own) in t.flows.iter().enumerate() {
        let is_late = t.group(flow).start.nearest_secs() > begin + 0.05 * (end - begin);
        require(is_late == fact.about.contains(&own.name), format!("{} is late or not", own.name))?;
    }
    Ok(())
}

fn directions(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let of = |way: &str| {
        let flows: Vec<f64> = (0..t.flows.len())
            .filter(|flow| t.flows[*flow].direction == way && t.wants_more(*flow))
            .map(|flow| t.flows[flow].goodput_bps)
            .collect();
        flows.iter().sum::<f64>() / flows.len() as f64
    };
    let ratio = of("up") / of("down");
    require(near(figure(fact, "per_flow_ratio")?, ratio), format!("the ratio is {ratio}"))?;
    let same = fact.text.contains("about the same");
    require(same == (1.0 / 1.1 < ratio && ratio < 1.1), "about the same, or not")?;
    require(!fact.text.contains("times less") || ratio > 1.0, "downloads do not get less")?;
    require(!fact.text.contains("times more") || ratio < 1.0, "downloads do not get more")?;
    if fact.text.contains("no more often than each station") {
        let ap = t.access_point().ok_or("no access point")?;
        let busiest = t.stations.iter().filter(|one| one.name != ap.name).map(|one| one.attempts).max().unwrap_or(0);
        require(ap.attempts as f64 <= 1.2 * busiest as f64, "the access point sends more often")?;
    }
    if fact.text.contains("never full") {
        let cell = &t.told.outcomes[0].cell;
        require(
            cell.ap_drops_ack + cell.ap_drops_data == 0 && cell.ap_queue_full_fraction == 0.0,
            "it is full, or drops",
        )?;
    }
    Ok(())
}

fn controls(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let way = if fact.text.starts_with("Of the up") { "up" } else { "down" };
    let mut groups: std::collections::BTreeMap<&str, Vec<f64>> = std::collections::BTreeMap::new();
    for flow in (0..t.flows.len()).filter(|flow| t.flows[*flow].direction == way && t.wants_more(*flow)) {
        if let Transport::Tcp(tcp) = &t.group(flow).transport {
            groups.entry(tcp.cc.name()).or_default().push(t.flows[flow].goodput_bps);
        }
    }
    let means: Vec<f64> = groups.values().map(|all| all.iter().sum::<f64>() / all.len() as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    require(groups.len() > 1 && most >= 2.0 * least, format!("{most} and {least} differ less"))?;
    require(near(figure(fact, "most_bps")?, most) && near(figure(fact, "least_bps")?, least), "other means")
}

fn dropped_acks(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let dropped: u64 = t.flows.iter().map(|flow| flow.ack_drops_ap_queue).sum();
    let cell = &t.told.outcomes[0].cell;
    require(cell.ap_drops_ack > 0 && cell.ap_drops_ack <= dropped.max(cell.ap_drops_ack), "no ACK is dropped")?;
    if fact.text.contains("one with a small window") {
        let of = |hit: bool| {
            let all: Vec<f64> = t
                .flows
                .iter()
                .filter(|f| f.cwnd_mean.is_finite() && (f.timeouts > 0) == hit)
                .map(|f| f.cwnd_mean)
                .collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        require(of(true) < of(false), format!("windows of {} and {}", of(true), of(false)))?;
    }
    require(!fact.text.contains("no timer expires") || cell.timeouts == 0, "timers expire")?;
    require(!fact.text.contains("its queue is full") || cell.ap_queue_full_fraction > 0.0, "the queue is never full")
}

fn acks_at_stations(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    for name in &fact.about {
        let flow = &t.flows[t.flow(name)?];
        require(flow.ack_drops_station_queue as f64 > 0.05 * flow.data_packets_sent as f64, format!("few of {name}"))?;
    }
    let (mpdus, ppdus) = t.stations.iter().fold((0, 0), |sum, one| (sum.0 + one.mpdus, sum.1 + one.ppdus));
    require(!fact.text.contains("aggregate") || mpdus > 2 * ppdus, "no aggregates")
}

fn dropped_data(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let sum = |part: fn(&FlowOutcome) -> u64| t.flows.iter().map(part).sum::<u64>() as f64;
    for (name, count) in &fact.figures {
        let known = match name.as_str() {
            "data_drops_ap_queue" => sum(|flow| flow.data_drops_ap_queue),
            "data_drops_station_queue" => sum(|flow| flow.data_drops_station_queue),
            "data_drops_link_queue" => sum(|flow| flow.data_drops_link_queue),
            "data_drops_retry_limit" => sum(|flow| flow.data_drops_retry_limit),
            "data_drops_ap_scheme" => sum(|flow| flow.data_drops_ap_scheme),
            "data_drops_no_route" => sum(|flow| flow.data_drops_no_route),
            "data_drops_lifetime" => sum(|flow| flow.data_drops_lifetime),
            "data_drops_late" => sum(|flow| flow.data_drops_late),
            other => return Err(format!("no place {other}")),
        };
        require(near(*count, known) && known > 0.0, format!("{name}: {known}"))?;
    }
    Ok(())
}

fn timeouts(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let total: u64 = t.flows.iter().map(|flow| flow.timeouts).sum();
    require(near(figure(fact, "timeouts")?, total as f64) && total > 0, format!("{total} timeouts"))?;
    for flow in t.flows {
        require((flow.timeouts > 0) == fact.about.contains(&flow.name), format!("timeouts of {}", flow.name))?;
    }
    if fact.text.contains("Flows with timeouts get") {
        let of = |hit: bool| {
            let flows = (0..t.flows.len()).filter(|flow| t.wants_more(*flow) && !t.is_udp(*flow));
            let all: Vec<f64> =
                flows.map(|flow| &t.flows[flow]).filter(|f| (f.timeouts > 0) == hit).map(|f| f.goodput_bps).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        require(of(true) < of(false), "those with timeouts do not get less")?;
    }
    Ok(())
}

fn waiting(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let idle = figure(fact, "rtt_idle_s")?;
    // Twice the delay of the wires, at least, is no waiting.
    let delay = t.told.scenario.file.servers[0].delay.nearest_secs();
    require(idle >= 2.0 * delay, "less than the wires take")?;
    let known: Vec<&FlowOutcome> = t
        .flows
        .iter()
        .filter(|flow| {
            flow.rtt_mean_s.is_finite()
                && flow.rtt_idle_s.is_finite()
                && t.group(t.flow(&flow.name).unwrap()).workload != ping()
        })
        .collect();
    let mean = known.iter().map(|flow| flow.rtt_mean_s).sum::<f64>() / known.len() as f64;
    require(near(figure(fact, "rtt_mean_s")?, mean), format!("round trips of {mean} s"))?;
    // The mean of the shortest ones, each of all flows of its station.
    let group = |flow: &FlowOutcome| t.group(t.flow(&flow.name).unwrap()).station.clone();
    let shortest = |of: &FlowOutcome| {
        let same = t
            .flows
            .iter()
            .filter(|flow| group(flow) == group(of) && t.group(t.flow(&flow.name).unwrap()).workload != ping());
        same.map(|flow| flow.rtt_idle_s).fold(f64::INFINITY, f64::min)
    };
    let expected = known.iter().map(|flow| shortest(flow)).sum::<f64>() / known.len() as f64;
    require(near(idle, expected), format!("the shortest round trips take {expected} s"))?;
    require(mean >= 2.0 * idle, "no waiting")
}

fn queue(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let text = t.told.scenario.to_toml();
    let discipline = fact.text.split('(').nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    require(text.contains(&format!("discipline = \"{discipline}\"")), format!("no queue is {discipline}"))?;
    let limit = figure(fact, "limit_packets")?;
    require(text.contains(&format!("limit = \"{limit} packets\"")), "another limit")?;
    // More than one queue holds, or all of them together, never waits in them.
    let most = t.told.outcomes[0].cell.ap_queue_max_packets as f64;
    let categories = 4.0;
    require(most <= limit * figure(fact, "queues")? * categories + 1.0, format!("{most} packets were there"))
}

fn calls(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    for name in &fact.about {
        let at = t.flow(name)?;
        let flow = &t.flows[at];
        require(t.is_udp(at) && flow.asked_bps <= 128e3, format!("{name} is no call"))?;
        require(flow.r_factor < 70.0, format!("{name} sounds well"))?;
    }
    Ok(())
}

fn overloads(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    for name in &fact.about {
        let at = t.flow(name)?;
        let flow = &t.flows[at];
        require(t.is_udp(at) && flow.asked_bps > 128e3 && flow.loss_fraction >= 0.02, format!("{name} loses little"))?;
    }
    Ok(())
}

fn wires(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let rate = t.told.scenario.file.servers[0].rate.as_bps() as f64;
    let way = if fact.text.contains("downlink flows") { "down" } else { "up" };
    let used: f64 = t.flows.iter().filter(|flow| flow.direction == way).map(|flow| flow.throughput_bps).sum();
    require(near(figure(fact, "throughput_bps")?, used) && used >= 0.9 * rate, format!("{used} of {rate}"))?;
    require(used <= 1.02 * rate, "a wire carries more than its rate")
}

fn limits(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let mut most: f64 = 0.0;
    for (at, flow) in t.flows.iter().enumerate() {
        let Transport::Tcp(tcp) = &t.group(at).transport else { continue };
        if !t.wants_more(at) || !flow.cwnd_mean.is_finite() {
            continue;
        }
        let bound = match tcp.receive_window {
            wifair_config::Limit::Packets(packets) => packets as f64,
            wifair_config::Limit::Bytes(bytes) => bytes.0 as f64 / tcp.mss.0 as f64,
        };
        most = most.max(flow.cwnd_mean / bound.floor());
        if fact.about.contains(&flow.name) {
            require(flow.cwnd_mean >= 0.9 * bound.floor(), format!("{} is not at its bound", flow.name))?;
        }
    }
    require(!fact.text.starts_with("Congestion control") || most < 0.5, format!("a window is at {most} of its bound"))
}

fn sessions(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let index = t.told.outcomes[0].cell.instantaneous_fairness;
    require(near(figure(fact, "instantaneous_fairness")?, index), "another index")?;
    let has_transfers = (0..t.flows.len()).any(|flow| match &t.group(flow).workload {
        Workload::Transfer(_) => true,
        Workload::Periodic(periodic) => periodic.length.0 > 1000,
        _ => false,
    });
    require(has_transfers, "there are no transfers")
}

fn radio(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    for name in &fact.about {
        let one = t.station(name)?;
        require(one.errors as f64 >= 0.02 * one.attempts as f64, format!("{name} has few errors"))?;
    }
    let noisy = t.told.scenario.file.wlan.as_ref().is_some_and(|wlan| wlan.data_error > 0.0);
    require(noisy || t.told.scenario.file.space.is_some(), "there can be no errors")
}

fn hidden(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let place = |name: &str| {
        let group = t.told.scenario.file.stations.iter().find(|group| group.name == name).expect("a station");
        group.position.map(|metres| metres.0)
    };
    let (a, b) = fact.text.split_once(" send to").and_then(|(pair, _)| pair.split_once(" and ")).ok_or("no pair")?;
    let ([ax, ay], [bx, by]) = (place(a), place(b));
    let distance = (ax - bx).hypot(ay - by);
    // Two stations at one place hear each other; ns-2's radios sense up to 550 m in the open.
    let reach = if t.told.scenario.to_toml().contains("two-ray") { 549.0 } else { 20.0 };
    let is_deaf = t.told.scenario.file.space.as_ref().is_some_and(|space| space.paths.iter().any(|path| path.deaf));
    require(distance > reach || is_deaf, format!("{a} and {b} are only {distance} m apart"))?;
    let share = |name: &str| t.station(name).map(|one| one.collisions as f64 / one.attempts as f64);
    require(share(a)?.max(share(b)?) >= 0.1, "they hardly collide")
}

fn capture_effect(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let share = |name: &String| t.station(name).map(|one| one.collisions as f64 / one.attempts as f64);
    require(share(&fact.about[0])? > 2.0 * share(&fact.about[1])?, "they collide as often")
}

fn protection(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    require(t.told.outcomes[0].cell.air_rts_cts >= 0.05, "it takes little time")?;
    let old = t.told.scenario.file.stations.iter().any(|group| group.dsss_only && group.count > 0);
    require(fact.text.contains("802.11b") == old, "old stations, or not")?;
    let rts = t.told.scenario.file.wlan.as_ref().is_some_and(|wlan| wlan.rts_threshold.0 == 0);
    require(old || rts, "neither old stations nor RTS")
}

fn small_aggregates(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let name = fact.text.strip_prefix("A PPDU of ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let one = t.station(name)?;
    let each = one.mpdus as f64 / one.ppdus as f64;
    require(near(figure(fact, "mpdus_per_ppdu")?, each) && each <= 16.0, format!("{each} packets in each"))?;
    for name in &fact.about {
        require(t.wants_more(t.flow(name)?), format!("{name} has no more to send"))?;
    }
    Ok(())
}

fn slow_stations(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let slow = t.station(&fact.about[0])?;
    let each = |one: &StationOutcome| one.air_data_s / one.delivered as f64;
    // It really costs others time: of its own frames and those of the other uploads it takes more than its part.
    let uploads = |one: &&StationOutcome| {
        t.told.scenario.network.flows.iter().enumerate().any(|(at, flow)| {
            t.told.scenario.name_of(flow.from) == one.name && t.flows[at].direction == "up" && t.wants_more(at)
        })
    };
    let others: Vec<&StationOutcome> = t.stations.iter().filter(uploads).filter(|one| one.delivered >= 100).collect();
    let fastest = others.iter().map(|one| each(one)).fold(f64::INFINITY, f64::min);
    require(slow.delivered >= 100 && each(slow) >= 2.0 * fastest, "it is not slow")?;
    let busy: Vec<&&StationOutcome> = others
        .iter()
        .filter(|one| one.delivered as f64 > 0.02 * t.stations.iter().map(|one| one.delivered).sum::<u64>() as f64)
        .collect();
    let air = slow.air_data_s / busy.iter().map(|one| one.air_data_s).sum::<f64>();
    let frames = slow.delivered as f64 / busy.iter().map(|one| one.delivered).sum::<u64>() as f64;
    require(air > frames, format!("{air} of the air for {frames} of the frames"))
}

fn slow_receivers(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let slow = t.station(&fact.about[0])?;
    let measured = t.told.outcomes[0].measured_s;
    require(slow.air_to_station_s >= 0.05 * measured, "it takes hardly any time")?;
    let goodput = |name: &str| {
        let scenario = &t.told.scenario;
        let to = scenario.network.flows.iter().enumerate().filter(|(_, flow)| scenario.name_of(flow.to) == name);
        to.map(|(at, _)| t.flows[at].goodput_bps).sum::<f64>()
    };
    let each = slow.air_to_station_s / goodput(&slow.name);
    let downloads = t.stations.iter().filter(|one| goodput(&one.name) > 0.0);
    let best = downloads.map(|one| one.air_to_station_s / goodput(&one.name)).fold(f64::INFINITY, f64::min);
    require(each >= 2.0 * best, "a bit to it takes no longer")?;
    require(figure(fact, "air_share")? >= figure(fact, "goodput_share")?, "it takes less than its part")
}

fn air(t: &Truth<'_>, fact: &Fact) -> Result<(), String> {
    let cell = &t.told.outcomes[0].cell;
    let said = numbers_after(&fact.text, "Data takes ");
    require(said.len() == 1 && (said[0] - 100.0 * cell.air_data).abs() <= 0.05 + 1e-9, "another share of data")?;
    let sum = cell.air_data
        + cell.air_ack
        + cell.air_rts_cts
        + cell.air_collision
        + cell.air_error
        + cell.air_reuse
        + cell.air_idle;
    require((sum - 1.0).abs() < 1e-6, format!("shares add up to {sum}"))
}
