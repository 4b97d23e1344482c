//! Round-trip times as an access point can determine them.
//!
//! The access point is in the middle of a connection; the round-trip time is the sum of those from the access point to
//! either end. There are three ways to determine it:
//!
//! - `handshake`: the time from the SYN (or the first data, if there is none) to its ACK is the receiver's side; the
//!   time from that ACK to what the sender then sends is the sender's side. Later packets measure the receiver's side
//!   again and again, but not the sender's: once data is in flight, the access point cannot tell which ACK it answers.
//! - `ping`: an ICMP echo to each end when the flow appears, through the queue like every packet. A lost echo is
//!   repeated after a second.
//! - `given`: set in the scenario.
//!
//! Measured times include the queueing delay of the moment. Of several measurements the smallest is kept, because the
//! scheme of lee2007 needs propagation and service time only; the first or the latest can be chosen instead.

use wifair_config::choice;
use wifair_packet::{Kind, Packet, entry, flag};
use wifair_units::{Duration, Time};

use super::{Passage, Request, Toward};

choice! {
    /// How the round-trip time of a flow is determined.
    pub enum RttSource {
        /// From the SYN, its ACK, and what follows; without a SYN, from the first data.
        Handshake = "handshake",
        /// By ICMP echo to both ends, through the queue.
        Ping = "ping" from "E. Lee et al., 2007, section 5.2",
        /// Given.
        Given = "given",
    }
}

choice! {
    /// Which of several measurements is used.
    pub enum Keep {
        /// The smallest.
        Minimum = "minimum",
        /// The first.
        First = "first",
        /// The latest.
        Latest = "latest",
    }
}

/// An ICMP echo as `ping` sends it: 56 B of data, 8 B of ICMP, 20 B of IP.
const ECHO_SIZE: u16 = 84;
/// The time after which a lost echo is repeated.
const ECHO_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
enum TimingPhase {
    /// The next new segment of the data sender will be timed.
    #[default]
    Idle,
    /// The segment that ends at `end` passed at time `at`.
    Timing { end: u64, syn: bool, at: Time },
}

#[derive(Clone, Copy, Debug, Default)]
struct SideRtt {
    rtt: Option<Duration>,
}

impl SideRtt {
    fn learn(&mut self, sample: Duration, keep: Keep) {
        self.rtt = Some(match (self.rtt, keep) {
            (Some(rtt), Keep::Minimum) => rtt.min(sample),
            (Some(rtt), Keep::First) => rtt,
            (None, _) | (_, Keep::Latest) => sample,
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct FlowTiming {
    known: bool,
    phase: TimingPhase,
    /// The highest offset of data that passed.
    highest: u64,
    /// When the ACK passed whose first answer from the sender is awaited.
    answered: Option<Time>,
    /// The sides of data sender and receiver; for pings the wireless and the wired side.
    sides: [SideRtt; 2],
    /// Whether an echo reply is awaited from the wireless and from the wired side.
    awaited: [bool; 2],
    /// When the next echo is due.
    due: Time,
}

impl Default for FlowTiming {
    fn default() -> Self {
        Self {
            known: false,
            phase: TimingPhase::Idle,
            highest: 0,
            answered: None,
            sides: [SideRtt::default(); 2],
            awaited: [false; 2],
            due: Time::NEVER,
        }
    }
}

/// The round-trip times of all flows.
#[derive(Clone, Debug)]
pub struct RttMeter {
    source: RttSource,
    keep: Keep,
    given: Option<Duration>,
    every: Option<Duration>,
    flows: Vec<FlowTiming>,
    /// The earliest time at which an echo is due.
    next: Time,
}

impl RttMeter {
    /// A meter that knows nothing yet. Pings are repeated at the interval `every`, if given.
    pub const fn new(source: RttSource, keep: Keep, given: Option<Duration>, every: Option<Duration>) -> Self {
        Self { source, keep, given, every, flows: vec![], next: Time::NEVER }
    }

    fn flow(&mut self, flow: u32) -> &mut FlowTiming {
        entry(&mut self.flows, flow as usize)
    }

    /// The round-trip time of a flow, if it is known.
    pub fn rtt(&self, flow: u32) -> Option<Duration> {
        if self.source == RttSource::Given {
            return self.given;
        }
        let [a, b] = self.flows.get(flow as usize)?.sides;
        Some(a.rtt? + b.rtt?)
    }

    /// Handles a packet that passes. Returns true if it is an echo reply, which is not forwarded.
    pub fn watch(&mut self, at: &Passage, packet: &Packet, requests: &mut Vec<Request>) -> bool {
        match self.source {
            RttSource::Given => false,
            RttSource::Handshake => {
                self.time(at.now, packet);
                false
            }
            RttSource::Ping if packet.kind == Kind::Icmp => self.on_echo_reply(at, packet),
            RttSource::Ping => {
                if matches!(packet.kind, Kind::Data | Kind::Ack) && !self.flow(packet.flow).known {
                    self.flow(packet.flow).known = true;
                    self.send_echoes(at.now, packet.flow, requests);
                }
                false
            }
        }
    }

    fn time(&mut self, now: Time, packet: &Packet) {
        let keep = self.keep;
        let flow = self.flow(packet.flow);
        match packet.kind {
            Kind::Data => {
                let syn = packet.has(flag::SYN);
                let is_new = packet.end() > flow.highest || (syn && flow.highest == 0);
                if let Some(acked) = flow.answered
                    && is_new
                    && !syn
                {
                    flow.sides[0].learn(now.saturating_since(acked), keep);
                    flow.answered = None;
                }
                match flow.phase {
                    TimingPhase::Idle if is_new => flow.phase = TimingPhase::Timing { end: packet.end(), syn, at: now },
                    // A retransmission: it is not known which copy an ACK answers (Karn). A SYN is timed anew.
                    TimingPhase::Timing { end, syn: false, .. } if packet.seq < end && !is_new => {
                        flow.phase = TimingPhase::Idle
                    }
                    TimingPhase::Timing { syn: true, .. } if syn => {
                        flow.phase = TimingPhase::Timing { end: packet.end(), syn, at: now };
                    }
                    _ => {}
                }
                flow.highest = flow.highest.max(packet.end());
            }
            Kind::Ack => {
                if let TimingPhase::Timing { end, syn, at } = flow.phase
                    && packet.ack >= end
                    && (!syn || packet.has(flag::SYN))
                {
                    flow.sides[1].learn(now.saturating_since(at), keep);
                    flow.phase = TimingPhase::Idle;
                    if flow.sides[0].rtt.is_none() {
                        flow.answered = Some(now);
                    }
                }
            }
            _ => {}
        }
    }

    const fn side(toward: Toward) -> usize {
        match toward {
            Toward::Air => 0,
            Toward::Wired => 1,
        }
    }

    /// Sends an echo to both ends of a flow.
    fn send_echoes(&mut self, now: Time, number: u32, requests: &mut Vec<Request>) {
        for toward in [Toward::Air, Toward::Wired] {
            let packet =
                Packet { flow: number, seq: now.as_nanos(), size: ECHO_SIZE, kind: Kind::Icmp, ..Packet::default() };
            requests.push(Request::Echo { packet, toward });
        }
        let flow = self.flow(number);
        flow.awaited = [true; 2];
        flow.due = now + ECHO_AGAIN;
        self.next = self.next.min(now + ECHO_AGAIN);
    }

    /// Handles an echo reply, which arrives from one side on its way to the other. Returns false for other packets.
    fn on_echo_reply(&mut self, at: &Passage, packet: &Packet) -> bool {
        if !packet.has(flag::ACK) {
            return false;
        }
        let (keep, every) = (self.keep, self.every);
        let side = if at.toward == Toward::Air { Self::side(Toward::Wired) } else { Self::side(Toward::Air) };
        let flow = self.flow(packet.flow);
        flow.sides[side].learn(at.now.saturating_since(Time::from_nanos(packet.seq)), keep);
        flow.awaited[side] = false;
        if flow.awaited == [false; 2] {
            flow.due = every.map_or(Time::NEVER, |every| at.now + every);
            self.next = self.next.min(self.flows[packet.flow as usize].due);
        }
        true
    }

    /// When [`RttMeter::on_timer`] must be called.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Sends echoes that are due: repeats of unanswered ones, and periodic ones. Inactive flows are removed.
    pub fn on_timer(&mut self, now: Time, is_active: impl Fn(u32) -> bool, requests: &mut Vec<Request>) {
        self.next = Time::NEVER;
        for number in 0..self.flows.len() as u32 {
            let flow = self.flow(number);
            if flow.known && flow.due <= now {
                if is_active(number) {
                    self.send_echoes(now, number, requests);
                } else {
                    *flow = FlowTiming::default();
                }
            }
            self.next = self.next.min(self.flow(number).due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(source: RttSource, keep: Keep, every: Option<Duration>) -> RttMeter {
        RttMeter::new(source, keep, Some(Duration::from_millis(100)), every)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn at(now: Time, toward: Toward) -> Passage {
        Passage { now, toward, station: 1, queued: 0 }
    }

    fn packet(kind: Kind, seq: u64, payload: u16, ack: u64, flags: u8) -> Packet {
        Packet { kind, seq, payload, ack, flags, ..Packet::default() }
    }

    /// Passes packets at their times, and lists the known round-trip time after each, in ms.
    fn follow(meter: &mut RttMeter, packets: &[(u64, Packet)]) -> Vec<Option<u64>> {
        let mut known = vec![];
        for (time, packet) in packets {
            meter.watch(&at(ms(*time), Toward::Air), packet, &mut vec![]);
            known.push(meter.rtt(0).map(|rtt| rtt.as_nanos() / 1_000_000));
        }
        known
    }

    /// SYN at 10 ms, SYN-ACK at 17 ms (7 ms to the receiver and back), first data at 30 ms (13 ms to the sender and
    /// back): 20 ms. Then data sent at 30 ms is acknowledged at 35 ms: 5 + 13.
    #[test]
    fn a_handshake_shows_both_sides() {
        let trace = [
            (10, packet(Kind::Data, 0, 0, 0, flag::SYN)),
            (17, packet(Kind::Ack, 0, 0, 0, flag::SYN | flag::ACK)),
            (30, packet(Kind::Data, 0, 1000, 0, 0)),
            (35, packet(Kind::Ack, 0, 0, 1000, 0)),
        ];
        let run = |keep| follow(&mut meter(RttSource::Handshake, keep, None), &trace);
        assert_eq!(run(Keep::Minimum), [None, None, Some(20), Some(18)]);
        assert_eq!(run(Keep::First), [None, None, Some(20), Some(20)]);
    }

    /// Two segments are sent at once; the first is acknowledged after 7 ms, and the data that this ACK releases comes
    /// 13 ms later.
    #[test]
    fn without_handshake_the_first_data_is_timed() {
        let trace = [
            (10, packet(Kind::Data, 0, 1000, 0, 0)),
            (11, packet(Kind::Data, 1000, 1000, 0, 0)),
            (17, packet(Kind::Ack, 0, 0, 1000, 0)),
            (18, packet(Kind::Ack, 0, 0, 2000, 0)),
            (30, packet(Kind::Data, 2000, 1000, 0, 0)),
        ];
        let known = follow(&mut meter(RttSource::Handshake, Keep::Minimum, None), &trace);
        assert_eq!(known, [None, None, None, None, Some(20)]);
    }

    /// The first segment is retransmitted at 50 ms, so the ACK at 55 ms is ambiguous. The next new segment is timed.
    #[test]
    fn a_retransmitted_segment_is_not_timed() {
        let trace = [
            (10, packet(Kind::Data, 0, 1000, 0, 0)),
            (50, packet(Kind::Data, 0, 1000, 0, 0)),
            (55, packet(Kind::Ack, 0, 0, 1000, 0)),
            (60, packet(Kind::Data, 1000, 1000, 0, 0)),
            (67, packet(Kind::Ack, 0, 0, 2000, 0)),
            (80, packet(Kind::Data, 2000, 1000, 0, 0)),
        ];
        let known = follow(&mut meter(RttSource::Handshake, Keep::Latest, None), &trace);
        assert_eq!(known, [None, None, None, None, None, Some(20)]);
    }

    /// Echoes are sent at 5 ms; the station answers after 3 ms, the server after 40 ms.
    #[test]
    fn pings_to_both_ends_add_up() {
        let mut meter = meter(RttSource::Ping, Keep::Minimum, Some(Duration::from_secs(3)));
        let mut requests = vec![];
        assert!(!meter.watch(&at(ms(5), Toward::Air), &packet(Kind::Data, 0, 1000, 0, 0), &mut requests));
        let echoes: Vec<_> = requests
            .iter()
            .map(|request| match request {
                Request::Echo { packet, toward } => (*packet, *toward),
                Request::Contend { .. } => panic!("only echoes are sent"),
            })
            .collect();
        assert_eq!(echoes.iter().map(|(_, toward)| *toward).collect::<Vec<_>>(), [Toward::Air, Toward::Wired]);
        assert!(!meter.watch(&at(ms(5), Toward::Air), &echoes[0].0, &mut requests), "the echo itself goes on");
        let answer = |echo: Packet| Packet { flags: flag::ACK, ..echo };
        assert!(meter.watch(&at(ms(8), Toward::Wired), &answer(echoes[0].0), &mut requests), "the answer does not");
        assert_eq!((meter.rtt(0), meter.next()), (None, ms(1005)));
        assert!(meter.watch(&at(ms(45), Toward::Air), &answer(echoes[1].0), &mut requests));
        assert_eq!(meter.rtt(0), Some(Duration::from_millis(43)));

        // Nothing is due at the first deadline any more; the next echoes are sent 3 s after the replies.
        meter.on_timer(ms(1005), |_| true, &mut requests);
        assert_eq!((requests.len(), meter.next()), (2, ms(3045)));
        meter.on_timer(ms(3045), |_| true, &mut requests);
        assert_eq!((requests.len(), meter.next()), (4, ms(4045)));
        meter.on_timer(ms(4045), |_| false, &mut requests);
        assert_eq!((requests.len(), meter.rtt(0), meter.next()), (4, None, Time::NEVER), "a silent flow is forgotten");
    }

    #[test]
    fn a_lost_echo_is_sent_again() {
        let mut meter = meter(RttSource::Ping, Keep::Minimum, None);
        let mut requests = vec![];
        meter.watch(&at(ms(5), Toward::Air), &packet(Kind::Ack, 0, 0, 0, 0), &mut requests);
        meter.on_timer(ms(1005), |_| true, &mut requests);
        assert_eq!(requests.len(), 4);
    }

    #[test]
    fn a_given_time_is_known_at_once() {
        assert_eq!(meter(RttSource::Given, Keep::Minimum, None).rtt(7), Some(Duration::from_millis(100)));
    }
}
