//! The receive window in an ACK, in packets.
//!
//! The header field counts bytes, shifted by the connection's scale (RFC 7323, section 2); the schemes count packets.
//! A rewritten window is never above what the receiver offered and, where it offered as much, never below a segment.

use wifair_config::Limit;
use wifair_packet::{Kind, Packet};
use wifair_units::{Duration, Time};

use super::counter::FlowCounter;

/// Segment size of a connection that was not introduced and sent no data yet (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// IP and TCP headers, in bytes: what a segment takes beyond its payload where a buffer counts bytes.
const HEADERS: u64 = 40;

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    mss: u16,
    scale: u8,
}

/// What must be known of the connections to change their windows.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    connections: Vec<Connection>,
}

impl Windows {
    /// A connection has `mss` bytes a segment and this window scale.
    pub fn introduce(&mut self, flow: u32, mss: u16, scale: u8) {
        *self.connection(flow) = Connection { mss, scale: scale.min(14) };
    }

    fn connection(&mut self, flow: u32) -> &mut Connection {
        if self.connections.len() <= flow as usize {
            self.connections.resize(flow as usize + 1, Connection::default());
        }
        &mut self.connections[flow as usize]
    }

    /// A packet passes; of a connection that was not introduced the largest payload is taken for its segment size.
    pub fn watch(&mut self, packet: &Packet) {
        if packet.kind == Kind::Data {
            let connection = self.connection(packet.flow);
            connection.mss = connection.mss.max(packet.payload);
        }
    }

    fn mss(&mut self, flow: u32) -> u16 {
        match self.connection(flow).mss {
            0 => DEFAULT_MSS,
            mss => mss,
        }
    }

    /// How many packets of `flow` fill a buffer.
    #[allow(clippy::cast_precision_loss)]
    pub fn buffer(&mut self, flow: u32, limit: Limit) -> f64 {
        match limit {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(bytes) => bytes.0 as f64 / (u64::from(self.mss(flow)) + HEADERS) as f64,
        }
    }

    /// Lets the ACK offer no more than `packets`, and says how many that are: the whole number below, one at least.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn clamp(&mut self, ack: &mut Packet, packets: f64) -> u64 {
        // A share that is 12 but for rounding is 12.
        let packets = ((packets + 1e-9).floor() as u64).max(1);
        let mss = u64::from(self.mss(ack.flow));
        let scale = self.connection(ack.flow).scale;
        let least = mss.div_ceil(1 << scale);
        let field = (packets.saturating_mul(mss) >> scale).max(least);
        ack.window = ack.window.min(u16::try_from(field).unwrap_or(u16::MAX));
        packets
    }
}

/// What every scheme keeps that sets windows by the number of flows and a buffer.
#[derive(Clone, Debug)]
pub struct WindowControl {
    buffer: Limit,
    pub counter: FlowCounter,
    windows: Windows,
    window: u64,
}

impl WindowControl {
    /// With this buffer, and flows that count for `period` after they were seen.
    pub fn new(buffer: Limit, period: Duration) -> Self {
        Self { buffer, counter: FlowCounter::new(period), windows: Windows::default(), window: 0 }
    }

    /// A connection has `mss` bytes a segment and this window scale.
    pub fn introduce(&mut self, flow: u32, mss: u16, scale: u8) {
        self.windows.introduce(flow, mss, scale);
    }

    /// A packet passes. How many packets of its flow fill the buffer, if it is an ACK.
    pub fn see(&mut self, now: Time, packet: &Packet) -> Option<f64> {
        if matches!(packet.kind, Kind::Data | Kind::Ack) {
            self.counter.see(now, packet.flow);
            self.windows.watch(packet);
        }
        (packet.kind == Kind::Ack).then(|| self.windows.buffer(packet.flow, self.buffer))
    }

    /// Flows that are active.
    pub fn n(&self) -> f64 {
        f64::from(self.counter.count())
    }

    /// Lets the ACK offer no more than `packets`.
    pub fn clamp(&mut self, ack: &mut Packet, packets: f64) {
        self.window = self.windows.clamp(ack, packets);
    }

    /// Shows its state by name.
    pub fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("n", self.n());
        see("window_packets", self.window as f64);
    }
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
    fn the_field_is_in_bytes() {
        assert_eq!(clamped(1000, 0, 60_000, 15.73), 15_000);
        assert_eq!(clamped(1460, 0, 65_535, 12.5), 17_520);
    }

    /// 15 packets of 1448 B are 21,720 B, or 169.7 units of 128 B.
    #[test]
    fn the_scale_is_respected() {
        assert_eq!(clamped(1448, 7, 1000, 15.0), 169);
        assert_eq!(clamped(1448, 7, 100, 15.0), 100, "not above what was offered");
    }

    #[test]
    fn one_segment_is_left() {
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
