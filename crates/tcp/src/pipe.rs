//! A path for tests: one rate and one delay in each direction, with scripted losses, extra delays, copies and marks.

use std::collections::BTreeMap;

use wifair_config::{Document, Source};
use wifair_packet::{Packet, flag};
use wifair_units::{BitRate, Duration, Time};

use crate::{Receiver, Sender, TcpSettings};

/// Sender and receiver with the settings in `text`.
pub fn ends(text: &str) -> (Sender, Receiver) {
    let (sender, receiver) = Document::parse(Source::file("tcp.toml", text))
        .read::<TcpSettings>()
        .unwrap_or_else(|problems| panic!("{problems}"))
        .resolve();
    (Sender::new(&sender, 0), Receiver::new(&receiver, 0))
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
pub struct SegmentFate {
    /// How many copies arrive; a lost packet takes no time on the link.
    pub copies: u8,
    /// Extra delay.
    pub detour: Duration,
    /// Whether a router marks it, if it is ECN-capable.
    pub marked: bool,
}

impl SegmentFate {
    pub const ARRIVES: Self = Self { copies: 1, detour: Duration::ZERO, marked: false };
    pub const LOST: Self = Self { copies: 0, ..Self::ARRIVES };
}

/// A packet offered to the link.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Whether it travels towards the receiver.
    pub forward: bool,
    /// Its number in this direction, from 0.
    pub n: u64,
}

type FateScript = Box<dyn FnMut(Offer) -> SegmentFate>;

/// Both ends, and a link with a queue each way.
pub struct Pipe {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    rate: BitRate,
    delay: Duration,
    /// Decides the fate of each packet.
    script: FateScript,
    /// Packets due within this interval arrive at its end instead, in order.
    pub silence: (Time, Time),
    /// Packets in transit, keyed by arrival and order; `true` is towards the receiver.
    travelling: BTreeMap<(Time, u64), (bool, Packet)>,
    free: [Time; 2],
    offered: [u64; 2],
    order: u64,
    /// Every packet that the sender put on the link, in order.
    pub log: Vec<(Time, Packet)>,
    /// Every ACK that reached the sender.
    pub acks: Vec<(Time, Packet)>,
    /// Called with the sender after each segment that it sent for the first time.
    pub watch: fn(&Sender, &Packet),
}

impl Pipe {
    pub fn new((sender, receiver): (Sender, Receiver), rate: BitRate, delay: Duration) -> Self {
        Self {
            sender,
            receiver,
            now: Time::ZERO,
            rate,
            delay,
            script: Box::new(|_| SegmentFate::ARRIVES),
            silence: (Time::NEVER, Time::NEVER),
            travelling: BTreeMap::new(),
            free: [Time::ZERO; 2],
            offered: [0; 2],
            order: 0,
            log: Vec::new(),
            acks: Vec::new(),
            watch: |_, _| {},
        }
    }

    pub fn with_script(mut self, script: impl FnMut(Offer) -> SegmentFate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    /// Drops the sender's packets with these numbers, counted from 0.
    pub fn with_losses(self, losses: &[u64]) -> Self {
        let losses = losses.to_vec();
        self.with_script(
            move |o| if o.forward && losses.contains(&o.n) { SegmentFate::LOST } else { SegmentFate::ARRIVES },
        )
    }

    fn offer(&mut self, forward: bool, mut packet: Packet) {
        let way = usize::from(forward);
        let fate = (self.script)(Offer { forward, n: self.offered[way] });
        self.offered[way] += 1;
        if fate.marked && packet.has(flag::ECT) {
            packet.flags |= flag::CE;
        }
        for _ in 0..fate.copies {
            self.free[way] = self.free[way].max(self.now) + self.rate.time_for(packet.bytes());
            self.order += 1;
            let arrival = self.free[way] + self.delay + fate.detour;
            let silent = (self.silence.0..self.silence.1).contains(&arrival);
            let arrival = if silent { self.silence.1 } else { arrival };
            self.travelling.insert((arrival, self.order), (forward, packet));
        }
    }

    fn flush(&mut self) {
        let (before, mut again) = (self.log.len(), self.sender.counts().retransmissions);
        while let Some(packet) = self.sender.poll(self.now) {
            assert!(self.log.len() - before < 100_000, "a burst ends");
            let sent_again = self.sender.counts().retransmissions;
            if sent_again == again {
                (self.watch)(&self.sender, &packet);
            }
            again = sent_again;
            self.log.push((self.now, packet));
            self.offer(true, packet);
        }
        while let Some(packet) = self.receiver.poll(self.now) {
            self.offer(false, packet);
        }
    }

    /// Runs until nothing is left to do, or until `end`.
    pub fn run(&mut self, end: Time) {
        for step in 0.. {
            assert!(step < 1_000_000, "the ends come to rest");
            self.flush();
            let arrival = self.travelling.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let next = arrival.min(self.sender.deadline()).min(self.receiver.deadline());
            if next > end || next == Time::NEVER {
                self.now = self.now.max(end);
                return;
            }
            assert!(next >= self.now, "time does not run backwards");
            self.now = next;
            if next == arrival {
                let (_, (forward, packet)) = self.travelling.pop_first().expect("it was just looked at");
                if forward {
                    self.receiver.on_packet(next, &packet);
                } else {
                    self.acks.push((next, packet));
                    self.sender.on_packet(next, &packet);
                }
            } else {
                if self.receiver.deadline() == next {
                    self.receiver.on_timer(next);
                }
                if self.sender.deadline() == next {
                    self.sender.on_timer(next);
                }
            }
        }
    }

    /// `(time in us, segment number)` of each data segment of 1000 bytes; a SYN is segment 0, as ns-2 counts.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        let syns = u64::from(self.log.first().is_some_and(|(_, p)| p.has(flag::SYN)));
        self.log
            .iter()
            .filter(|(_, p)| p.payload > 0 || p.has(flag::SYN))
            .map(|(t, p)| (t.as_nanos() / 1000, if p.has(flag::SYN) { 0 } else { p.seq / 1000 + syns }))
            .collect()
    }
}
