//! A path for tests: one rate, one delay, scripted losses, both ways.

use std::collections::VecDeque;

use wifair_packet::{Packet, flag};
use wifair_units::{BitRate, Duration, Time};

use crate::{Receiver, Sender};

/// Both ends, and a link with a queue each way.
pub struct Pipe {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    rate: BitRate,
    delay: Duration,
    /// Segments (by the order in which they leave, from 1) that are lost before they reach the link.
    losses: Vec<u64>,
    forward: VecDeque<(Time, Packet)>,
    back: VecDeque<(Time, Packet)>,
    forward_free: Time,
    back_free: Time,
    offered: u64,
    /// What the sender put on the link, in order.
    pub log: Vec<(Time, Packet)>,
    /// ACKs as they came in.
    pub acks: Vec<(Time, Packet)>,
}

impl Pipe {
    pub fn new(sender: Sender, receiver: Receiver, rate: BitRate, delay: Duration, losses: &[u64]) -> Self {
        Self {
            sender,
            receiver,
            now: Time::ZERO,
            rate,
            delay,
            losses: losses.to_vec(),
            forward: VecDeque::new(),
            back: VecDeque::new(),
            forward_free: Time::ZERO,
            back_free: Time::ZERO,
            offered: 0,
            log: Vec::new(),
            acks: Vec::new(),
        }
    }

    fn flush(&mut self) {
        while let Some(packet) = self.sender.poll(self.now) {
            self.log.push((self.now, packet));
            self.offered += 1;
            if !self.losses.contains(&self.offered) {
                self.forward_free = self.forward_free.max(self.now) + self.rate.time_for(packet.bytes());
                self.forward.push_back((self.forward_free + self.delay, packet));
            }
        }
        while let Some(packet) = self.receiver.poll(self.now) {
            self.back_free = self.back_free.max(self.now) + self.rate.time_for(packet.bytes());
            self.back.push_back((self.back_free + self.delay, packet));
        }
    }

    /// Runs until nothing is left to happen, or to `end`.
    pub fn run(&mut self, end: Time) {
        loop {
            self.flush();
            let forward = self.forward.front().map_or(Time::NEVER, |f| f.0);
            let back = self.back.front().map_or(Time::NEVER, |b| b.0);
            let timers = self.sender.deadline().min(self.receiver.deadline());
            let next = forward.min(back).min(timers);
            if next > end || next == Time::NEVER {
                self.now = end;
                return;
            }
            self.now = next;
            if next == forward {
                let (_, packet) = self.forward.pop_front().expect("it was just looked at");
                self.receiver.on_packet(next, &packet);
            } else if next == back {
                let (_, packet) = self.back.pop_front().expect("it was just looked at");
                self.acks.push((next, packet));
                self.sender.on_packet(next, &packet);
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

    /// `(time in us, segment number)` of each data segment, with the SYN as segment 0 as ns-2 counts.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        self.log
            .iter()
            .filter(|(_, p)| p.payload > 0 || p.has(flag::SYN))
            .map(|(t, p)| (t.as_nanos() / 1000, if p.has(flag::SYN) { 0 } else { p.seq / 1000 + 1 }))
            .collect()
    }
}
