//! The receive window in an ACK, in packets.
//!
//! The header field counts bytes, shifted by the connection's scale (RFC 7323, section 2); the schemes count packets. A
//! rewritten window is never above what the receiver offered and never below one segment, unless the receiver itself
//! offered less.
//!
//! A window may shrink below what is in flight, as in the papers, whose connections carry data one way. On a connection
//! that carries data both ways, a window is never taken back (RFC 9293, section 3.8.6): it shrinks only as the data
//! that it allowed arrives. The reason is a deadlock: Linux, when its window has been taken back, numbers its ACKs by
//! the end of that window; if the other end's window has been taken back too, it ignores these ACKs as old, and both
//! wait for ever.

use wifair_config::Limit;
use wifair_packet::{Kind, Packet, entry, flag};
use wifair_units::{Duration, Time};

use super::counter::FlowCounter;

/// Segment size of a connection that was not introduced and has sent no data yet (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// IP and TCP headers, in bytes: added to the payload of each segment where a buffer counts bytes.
const HEADERS: u64 = 40;

#[derive(Clone, Copy, Debug, Default)]
struct TrackedConnection {
    mss: u16,
    scale: u8,
    /// For each direction (that of the data first): whether its segments carry payload, and the offset up to which the
    /// opposite direction has allowed it to send.
    carries: [bool; 2],
    allowed: [u64; 2],
}

/// The facts about each connection that are needed to change its windows.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    connections: Vec<TrackedConnection>,
}

impl Windows {
    /// Sets the segment size in bytes and the window scale of a connection; `mss` is 0 for a new connection, of which
    /// nothing is known yet.
    pub fn introduce(&mut self, flow: u32, mss: u16, scale: u8) {
        let connection = self.connection(flow);
        if mss == 0 {
            *connection = TrackedConnection::default();
        }
        (connection.mss, connection.scale) = (mss, scale.min(14));
    }

    fn connection(&mut self, flow: u32) -> &mut TrackedConnection {
        entry(&mut self.connections, flow as usize)
    }

    /// Handles a packet that passes. For a connection that was not introduced, the largest payload counts as its
    /// segment size.
    pub fn watch(&mut self, packet: &Packet) {
        let connection = self.connection(packet.flow);
        if packet.kind == Kind::Data {
            connection.mss = connection.mss.max(packet.payload);
        }
        connection.carries[usize::from(packet.kind == Kind::Ack)] |= packet.payload > 0;
    }

    fn mss(&mut self, flow: u32) -> u16 {
        match self.connection(flow).mss {
            0 => DEFAULT_MSS,
            mss => mss,
        }
    }

    /// The number of packets of `flow` that fill a buffer.
    pub fn buffer(&mut self, flow: u32, limit: Limit) -> f64 {
        match limit {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(bytes) => bytes.0 as f64 / (u64::from(self.mss(flow)) + HEADERS) as f64,
        }
    }

    /// Limits the window in the ACK to `packets`, rounded down, but at least one; returns that number.
    pub fn clamp(&mut self, ack: &mut Packet, packets: f64) -> u64 {
        // The tolerance keeps a share of 12 from becoming 11 by rounding.
        let packets = ((packets + 1e-9).floor() as u64).max(1);
        let mss = u64::from(self.mss(ack.flow));
        let scale = self.connection(ack.flow).scale;
        let least = mss.div_ceil(1 << scale);
        let field = (packets.saturating_mul(mss) >> scale).max(least);
        let offered = ack.window;
        ack.window = offered.min(u16::try_from(field).unwrap_or(u16::MAX));
        let connection = self.connection(ack.flow);
        let allowed = &mut connection.allowed[usize::from(ack.kind == Kind::Data)];
        if connection.carries == [true; 2] {
            let kept = allowed.saturating_sub(ack.ack).div_ceil(1 << scale);
            ack.window = ack.window.max(offered.min(u16::try_from(kept).unwrap_or(u16::MAX)));
        }
        *allowed = (*allowed).max(ack.ack + (u64::from(ack.window) << scale));
        packets
    }
}

/// The state of every scheme that sets windows from the number of flows and a buffer.
#[derive(Clone, Debug)]
pub struct WindowControl {
    buffer: Limit,
    pub counter: FlowCounter,
    windows: Windows,
    window: u64,
}

impl WindowControl {
    /// `buffer` is what the flows share; a flow counts for `period` after it was last seen.
    pub fn new(buffer: Limit, period: Duration) -> Self {
        Self { buffer, counter: FlowCounter::new(period), windows: Windows::default(), window: 0 }
    }

    /// Sets the segment size in bytes and the window scale of a connection.
    pub fn introduce(&mut self, flow: u32, mss: u16, scale: u8) {
        self.windows.introduce(flow, mss, scale);
    }

    /// Handles a packet that passes. If it acknowledges (an ACK, or a segment of a connection that carries data both
    /// ways), returns the number of packets of its flow that fill the buffer.
    pub fn see(&mut self, now: Time, packet: &Packet) -> Option<f64> {
        if matches!(packet.kind, Kind::Data | Kind::Ack) {
            self.counter.see(now, packet.flow);
            self.windows.watch(packet);
        }
        acknowledges(packet).then(|| self.windows.buffer(packet.flow, self.buffer))
    }

    /// The number of active flows.
    pub fn n(&self) -> f64 {
        f64::from(self.counter.count())
    }

    /// Limits the window in the ACK to `packets`.
    pub fn clamp(&mut self, ack: &mut Packet, packets: f64) {
        self.window = self.windows.clamp(ack, packets);
    }

    /// Reports state variables by name.
    pub fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("n", self.n());
        see("window_packets", self.window as f64);
    }
}

/// Whether a packet advertises a window. Data segments of simulated connections, which carry data one way, do not.
fn acknowledges(packet: &Packet) -> bool {
    packet.kind == Kind::Ack || (packet.kind == Kind::Data && packet.has(flag::ACK) && packet.window > 0)
}

#[cfg(test)]
mod tests {
    use wifair_units::Bytes;

    use super::*;

    fn clamped(mss: u16, scale: u8, offered: u16, packets: f64) -> u16 {
        let mut windows = Windows::default();
        windows.introduce(3, mss, scale);
        let mut ack = Packet { flow: 3, window: offered, kind: Kind::Ack, ..Packet::default() };
        windows.clamp(&mut ack, packets);
        ack.window
    }

    #[test]
    fn the_window_field_is_in_bytes() {
        assert_eq!(clamped(1000, 0, 60_000, 15.73), 15_000);
        assert_eq!(clamped(1460, 0, 65_535, 12.5), 17_520);
    }

    /// 15 packets of 1448 B are 21,720 B, or 169.7 units of 128 B.
    #[test]
    fn the_window_scale_is_respected() {
        assert_eq!(clamped(1448, 7, 1000, 15.0), 169);
        assert_eq!(clamped(1448, 7, 100, 15.0), 100, "not above what was offered");
    }

    /// Another flow arrives and halves the share of a 20-packet buffer: the window falls at once where data goes one
    /// way, and as the allowed data arrives where it goes both ways.
    #[test]
    fn windows_are_not_taken_back_on_two_way_connections() {
        for (payload, expected) in [(0, [20_000, 10_000, 10_000, 10_000]), (1000, [20_000, 20_000, 15_000, 10_000])] {
            let mut windows = Windows::default();
            windows.introduce(3, 1000, 0);
            let ack = Packet { flow: 3, window: 60_000, kind: Kind::Ack, payload, ..Packet::default() };
            windows.watch(&Packet { flow: 3, payload: 1000, ..Packet::default() });
            windows.watch(&ack);
            let mut seen = vec![];
            for (acknowledged, packets) in [(0, 20.0), (0, 10.0), (5000, 10.0), (12_000, 10.0)] {
                let mut passing = ack;
                passing.ack = acknowledged;
                windows.clamp(&mut passing, packets);
                seen.push(passing.window);
            }
            assert_eq!(seen, expected, "payload {payload}");
        }
    }

    /// A segment of a connection that carries data both ways also acknowledges; one without a window does not.
    #[test]
    fn acknowledging_segments_count() {
        let mut control = WindowControl::new(Limit::Packets(20), Duration::from_secs(5));
        let segment = Packet { payload: 1000, flags: flag::ACK, window: 60_000, ..Packet::default() };
        assert_eq!(control.see(Time::ZERO, &segment), Some(20.0));
        assert_eq!(control.see(Time::ZERO, &Packet { window: 0, ..segment }), None);
        assert_eq!(control.see(Time::ZERO, &Packet { flags: 0, ..segment }), None);
    }

    #[test]
    fn the_window_is_at_least_one_segment() {
        assert_eq!(clamped(1000, 0, 60_000, 0.3), 1000);
        assert_eq!(clamped(1000, 14, 3, 0.3), 1, "one unit of 16 KiB");
        assert_eq!(clamped(1000, 9, 60, 1.0), 2, "1000 B are not less than two units of 512 B");
        assert_eq!(clamped(1000, 0, 400, 5.0), 400, "unless the receiver offered less");
        assert_eq!(clamped(1000, 0, 0, 5.0), 0, "a closed window stays closed");
    }

    #[test]
    fn the_segment_size_is_learnt_from_data() {
        let mut windows = Windows::default();
        windows.watch(&Packet { flow: 1, payload: 960, ..Packet::default() });
        let mut ack = Packet { flow: 1, window: 60_000, kind: Kind::Ack, ..Packet::default() };
        windows.clamp(&mut ack, 10.0);
        assert_eq!(ack.window, 9600);
        assert!((windows.buffer(1, Limit::Bytes(Bytes(100_000))) - 100.0).abs() < 1e-12);
    }
}
