//! Connections as real hosts have them, put together from what applications write: segments, ACKs, pauses, losses.
//!
//! Behind each end is a bottleneck, which spaces the segments and delays those that wait for it. The window begins with
//! ten segments (RFC 6928) and grows by one with each segment that is acknowledged, up to what the path and a buffer of
//! twenty segments hold; segments leave when ACKs allow them. A receiver acknowledges every second segment and the
//! last. Hosts push the last segment of a write, as Linux, Windows and macOS do.

use crate::common::talk::{MS, Step};
use wifair_capture::frame::{IpHeader, Tcp};
use wifair_capture::{Address, Endpoint, TcpOptions, flag};

pub const S: u64 = 1_000 * MS;
const MSS: u32 = 1_448;

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Client,
    Server,
}
pub use self::Host::{Client, Server};

/// A connection in progress: its segments, as they pass the capture point.
pub struct Talk {
    pub steps: Vec<Step>,
    ends: [Endpoint; 2],
    /// Next sequence number of each end.
    next: [u32; 2],
    /// The time of the last event.
    pub now: u64,
    /// One-way delay, and its part between client and capture point.
    delay: u64,
    near: u64,
    /// Bits per second of the bottleneck.
    rate: u64,
    /// Congestion windows, in segments.
    windows: [u64; 2],
    window: u16,
}

impl Talk {
    /// A path with this round-trip time and rate, captured at `point` per cent of the way from the client; from `now`.
    pub fn new(point: u64, now: u64, client: [u8; 2], server: [u8; 2], rtt: u64, rate: u64) -> Self {
        let end = |[host, port]: [u8; 2], base: u16| Endpoint {
            address: Address::v4(0x0a00_0000 | u32::from(host)),
            port: base + u16::from(port),
        };
        Self {
            steps: Vec::new(),
            ends: [end(client, 40_000), end(server, 0)],
            next: [1_000, 5_000],
            now,
            delay: rtt / 2,
            near: rtt / 2 * point / 100,
            rate,
            windows: [10, 10],
            window: 60_000,
        }
    }

    fn pass(&mut self, from: Host, at: u64, tcp: Tcp) {
        self.pass_late(from, at, 0, tcp);
    }

    /// A segment that leaves at `at` and waits for `late` at the bottleneck, which lies before the capture point unless
    /// that is at the sender.
    fn pass_late(&mut self, from: Host, at: u64, late: u64, tcp: Tcp) {
        let side = from as usize;
        let way = if from == Client { self.near } else { self.delay - self.near };
        let passes = at + way + if way > 0 { late } else { 0 };
        let id = (self.steps.len() as u16).wrapping_add(u16::from(from == Server) * 20_000);
        let [source, destination] = [self.ends[side], self.ends[1 - side]];
        let ip = IpHeader { id, ..IpHeader::between(source, destination) };
        self.steps.push((passes, Tcp { ip, ..tcp }));
    }

    fn segment(&self, from: Host, flags: u8, payload: u32) -> Tcp {
        let side = from as usize;
        Tcp {
            seq: self.next[side],
            ack: self.next[1 - side],
            flags,
            window: self.window,
            payload: payload as u16,
            options: TcpOptions::default(),
            ..Tcp::between(self.ends[side], self.ends[1 - side])
        }
    }

    /// The handshake; `opener` sends the SYN.
    pub fn open(mut self, opener: Host) -> Self {
        let other = other(opener);
        let options = TcpOptions { mss: Some(MSS as u16), sack_permitted: true, ..TcpOptions::default() };
        let syn = Tcp { ack: 0, options, ..self.segment(opener, flag::SYN, 0) };
        self.pass(opener, self.now, syn);
        self.next[opener as usize] += 1;
        let answer = Tcp { options, ..self.segment(other, flag::SYN | flag::ACK, 0) };
        self.pass(other, self.now + self.delay, answer);
        self.next[other as usize] += 1;
        self.now += 2 * self.delay;
        let ack = self.segment(opener, flag::ACK, 0);
        self.pass(opener, self.now, ack);
        self
    }

    pub fn wait(mut self, time: u64) -> Self {
        self.now += time;
        self
    }

    /// Goes back to an earlier time, at which the application wrote more.
    pub fn back_to(mut self, time: u64) -> Self {
        self.now = time;
        self
    }

    /// Writes `bytes` and waits until all is acknowledged. Afterwards the time is that of the last ACK at the sender.
    pub fn send(mut self, from: Host, bytes: u32) -> Self {
        /// Between segments that leave at once.
        const BURST: u64 = 12_000;
        let (ser, side) = (u64::from(MSS + 52) * 8 * S / self.rate, from as usize);
        let most = 2 * self.delay / ser.max(1) + 20;
        let count = u64::from(bytes.div_ceil(MSS));
        // When the ACK of each number of segments reaches the sender.
        let mut acked = vec![self.now];
        let (mut leaves, mut free) = (self.now, 0);
        for segment in 0..count {
            let window = self.windows[side];
            // Segments that must be acknowledged before: the window grows by one with each of them.
            let needed = (segment + 1).saturating_sub(most).max((segment + 2).saturating_sub(window) / 2);
            leaves = (leaves + BURST).max(acked[needed.min(segment) as usize]);
            free = leaves.max(free) + ser;
            let payload = (bytes - segment as u32 * MSS).min(MSS);
            let is_last = segment + 1 == count;
            let data = self.segment(from, flag::ACK | if is_last { flag::PSH } else { 0 }, payload);
            self.pass_late(from, leaves, free - leaves, data);
            self.next[side] = self.next[side].wrapping_add(payload);
            let back = free + 2 * self.delay;
            acked.push(back);
            if segment % 2 == 1 || is_last {
                if segment % 2 == 1 {
                    // The ACK of two segments comes with the second.
                    acked[segment as usize] = back;
                }
                let ack = self.segment(other(from), flag::ACK, 0);
                self.pass(other(from), free + self.delay, ack);
            }
        }
        self.windows[side] = (self.windows[side] + count).min(most.max(10));
        self.now = *acked.last().expect("there is a first");
        self
    }

    /// Writes short messages without waiting for ACKs in between: `count`, one each `gap`.
    pub fn stream(mut self, from: Host, count: u32, bytes: u32, gap: u64) -> Self {
        for _ in 0..count {
            let data = self.segment(from, flag::ACK | flag::PSH, bytes);
            self.pass(from, self.now, data);
            self.next[from as usize] = self.next[from as usize].wrapping_add(bytes);
            let ack = self.segment(other(from), flag::ACK, 0);
            self.pass(other(from), self.now + self.delay, ack);
            self.now += gap;
        }
        self
    }

    /// A request and its answer, which acknowledges it.
    pub fn ask(self, request: u32, answer: u32) -> Self {
        self.say(Client, request).send(Server, answer)
    }

    /// A short message. Its receiver acknowledges it with what it sends next.
    pub fn say(mut self, from: Host, bytes: u32) -> Self {
        let data = self.segment(from, flag::ACK | flag::PSH, bytes);
        self.pass(from, self.now, data);
        self.next[from as usize] = self.next[from as usize].wrapping_add(bytes);
        self.now += self.delay;
        self
    }

    /// Sends `bytes` that never arrive, and again after one second, two, four and so on.
    pub fn lose(mut self, from: Host, bytes: u32, times: u32) -> Self {
        for time in 0..times {
            let data = self.segment(from, flag::ACK | flag::PSH, bytes);
            self.pass(from, self.now, data);
            self.now += S << time;
        }
        self
    }

    /// The same data passes once more and is acknowledged; it was lost behind the capture point.
    pub fn repair(mut self, from: Host, bytes: u32) -> Self {
        let data = self.segment(from, flag::ACK | flag::PSH, bytes);
        self.pass(from, self.now, data);
        self.next[from as usize] = self.next[from as usize].wrapping_add(bytes);
        let ack = self.segment(other(from), flag::ACK, 0);
        self.pass(other(from), self.now + self.delay, ack);
        self.now += 2 * self.delay;
        self
    }

    /// A keep-alive with this many bytes, and its answer.
    pub fn keep_alive(mut self, from: Host, bytes: u32) -> Self {
        let ask = self.segment(from, flag::ACK, bytes);
        self.pass(from, self.now, Tcp { seq: ask.seq.wrapping_sub(1), ..ask });
        let ack = self.segment(other(from), flag::ACK, 0);
        self.pass(other(from), self.now + self.delay, ack);
        self.now += 2 * self.delay;
        self
    }

    pub fn keep_alives(self, from: Host, bytes: u32, count: u32, gap: u64) -> Self {
        (0..count).fold(self, |talk, _| talk.wait(gap).keep_alive(from, bytes))
    }

    pub fn close(mut self, from: Host) -> Self {
        for (end, at) in [(from, self.now), (other(from), self.now + self.delay)] {
            let fin = self.segment(end, flag::FIN | flag::ACK, 0);
            self.pass(end, at, fin);
            self.next[end as usize] = self.next[end as usize].wrapping_add(1);
        }
        self.now += 2 * self.delay;
        let ack = self.segment(from, flag::ACK, 0);
        self.pass(from, self.now, ack);
        self
    }

    pub fn reset(mut self, from: Host) -> Self {
        let rst = self.segment(from, flag::RST | flag::ACK, 0);
        self.pass(from, self.now, rst);
        self
    }

    /// A SYN, `times` times, after one second, two, four; with answers or none.
    pub fn syn(mut self, times: u32, is_answered: bool) -> Self {
        for time in 0..times {
            let syn = Tcp { ack: 0, ..self.segment(Client, flag::SYN, 0) };
            self.pass(Client, self.now, syn);
            if is_answered {
                let answer = Tcp { ack: syn.seq + 1, ..self.segment(Server, flag::SYN | flag::ACK, 0) };
                self.pass(Server, self.now + self.delay, answer);
            }
            self.now += S << time;
        }
        self
    }

    /// A SYN, and the RST that refuses it.
    pub fn refused(mut self) -> Self {
        self = self.syn(1, false);
        let at = self.now - S + self.delay;
        let rst = Tcp { ack: self.next[0] + 1, seq: 0, ..self.segment(Server, flag::RST | flag::ACK, 0) };
        self.pass(Server, at, rst);
        self
    }

    /// A slow reader: the sender fills a window of ten segments, waits for `pause` at window zero, and goes on.
    pub fn read_slowly(mut self, from: Host, times: u32, pause: u64) -> Self {
        for _ in 0..times {
            self = self.send(from, 10 * MSS);
            let closed = Tcp { window: 0, ..self.segment(other(from), flag::ACK, 0) };
            self.pass(other(from), self.now, closed);
            self.now += pause;
            let opened = self.segment(other(from), flag::ACK, 0);
            self.pass(other(from), self.now, opened);
            self.now += self.delay;
        }
        self
    }

    /// Adds what `other` sent on the same connection at the same time. Both acknowledge what has passed before.
    pub fn beside(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self.steps.sort_by_key(|(at, _)| *at);
        let mut next = [0, 0];
        let (client, mut own) = (self.ends[0], [None, None]);
        for (_, tcp) in self.steps.iter_mut().filter(|(_, tcp)| tcp.flags & flag::SYN == 0) {
            let side = usize::from(tcp.ip.source != client);
            tcp.seq = *own[side].get_or_insert(tcp.seq);
            own[side] = Some(tcp.seq + u32::from(tcp.payload));
            next[side] = own[side].unwrap_or(0);
            tcp.ack = next[1 - side].max(tcp.ack);
        }
        self
    }

    /// Leaves out what passed before `time`.
    pub fn since(mut self, time: u64) -> Self {
        self.steps.retain(|(at, _)| *at >= time);
        self
    }

    /// Leaves out what passed from `time` on.
    pub fn until(mut self, time: u64) -> Self {
        self.steps.retain(|(at, _)| *at < time);
        self
    }

    /// Leaves out what this end sent.
    pub fn without(mut self, from: Host) -> Self {
        let source = self.ends[from as usize];
        self.steps.retain(|(_, tcp)| tcp.ip.source != source);
        self
    }
}

fn other(from: Host) -> Host {
    if from == Client { Server } else { Client }
}
