//! A sender whose window somebody else chooses.

use std::collections::VecDeque;
use std::time::Duration;

use wifair_link::LinkHost;

use crate::PAYLOAD;

/// A datagram counts as lost when three later ones have been acknowledged (RFC 5681, section 3.2).
const REORDERING: u64 = 3;
/// Without an acknowledgment for this long all that is under way counts as lost (RFC 6298, section 2.1).
const TIMEOUT: Duration = Duration::from_secs(1);

/// What a sender saw during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Acknowledged payload [bit/s].
    pub goodput_bps: f64,
    /// Mean round-trip time of what was acknowledged [s]; the last known without any, 0 before the first.
    pub rtt_mean_s: f64,
    /// Shortest round-trip time so far [s]; 0 before the first.
    pub rtt_min_s: f64,
    /// Datagrams found to be lost per datagram that ended.
    pub loss: f64,
    /// Datagrams under way at the end.
    pub in_flight: f64,
    /// The window [datagrams].
    pub window: f64,
}

/// A datagram that is neither acknowledged nor lost.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: Duration,
}

#[derive(Debug)]
pub(crate) struct Agent {
    pub source: LinkHost,
    pub destination: LinkHost,
    window: f64,
    next: u64,
    /// In the order of their numbers.
    under_way: VecDeque<Sent>,
    heard: Duration,
    rtt_min: Option<Duration>,
    rtt_last: Duration,
    acknowledged: u64,
    lost: u64,
    rtt_sum: Duration,
}

impl Agent {
    pub fn new(source: LinkHost, destination: LinkHost) -> Self {
        Self {
            source,
            destination,
            window: 1.0,
            next: 0,
            under_way: VecDeque::new(),
            heard: Duration::ZERO,
            rtt_min: None,
            rtt_last: Duration::ZERO,
            acknowledged: 0,
            lost: 0,
            rtt_sum: Duration::ZERO,
        }
    }

    pub fn begin_step(&mut self, window: f64) {
        self.window = window.max(1.0);
        (self.acknowledged, self.lost, self.rtt_sum) = (0, 0, Duration::ZERO);
    }

    /// The number of the next datagram, if the window allows one.
    pub fn poll(&mut self, now: Duration) -> Option<u64> {
        if self.under_way.len() as f64 >= self.window.floor() {
            return None;
        }
        if self.under_way.is_empty() {
            self.heard = now;
        }
        let number = self.next;
        self.next += 1;
        self.under_way.push_back(Sent { number, at: now });
        Some(number)
    }

    pub fn on_ack(&mut self, now: Duration, number: u64) {
        self.heard = now;
        let Ok(place) = self.under_way.binary_search_by_key(&number, |sent| sent.number) else { return };
        let sent = self.under_way.remove(place).expect("it was found");
        let rtt = now - sent.at;
        self.acknowledged += 1;
        self.rtt_sum += rtt;
        self.rtt_last = rtt;
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        while self.under_way.front().is_some_and(|first| first.number + REORDERING <= number) {
            self.under_way.pop_front();
            self.lost += 1;
        }
    }

    pub fn check_timeout(&mut self, now: Duration) {
        if !self.under_way.is_empty() && now - self.heard >= TIMEOUT {
            self.lost += self.under_way.len() as u64;
            self.under_way.clear();
        }
    }

    pub fn observation(&self, step: Duration) -> Observation {
        let acknowledged = self.acknowledged as f64;
        let mean = if self.acknowledged == 0 {
            self.rtt_last.as_secs_f64()
        } else {
            self.rtt_sum.as_secs_f64() / acknowledged
        };
        Observation {
            goodput_bps: acknowledged * 8.0 * PAYLOAD as f64 / step.as_secs_f64(),
            rtt_mean_s: mean,
            rtt_min_s: self.rtt_min.unwrap_or_default().as_secs_f64(),
            loss: self.lost as f64 / (self.acknowledged + self.lost).max(1) as f64,
            in_flight: self.under_way.len() as f64,
            window: self.window,
        }
    }
}
