//! Accurate ECN in a capture: what one end reports about marks (RFC 9768).
//!
//! The counters on the wire have 3 and 24 bits. Bytes are exact while less than 2^23 lie between two options. Packets
//! are exact while fewer than eight marks lie between two segments of this end; beyond that the bytes tell how often
//! the counter has wrapped, as far as the marked packets are full.

use crate::segment::{AccEcnCounters, Segment, TcpOptions, flag};

/// Values of the counters of packets and of bytes with CE before anything has arrived (section 3.2.1).
const FIRST_ACE: u64 = 5;

/// What one end has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccEcnReports {
    /// Whether its SYN asked for accurate ECN, and whether both ends agreed on it.
    asked: bool,
    agreed: bool,
    /// Whether it is the client, whose first segment after its SYN reflects how the SYN-ACK arrived.
    is_client: bool,
    segments: u64,
    /// The furthest acknowledgement so far.
    ack: Option<i64>,
    /// Packets of this end that arrived here with CE.
    pub marked: u64,
    /// Segments with an option.
    pub options: u64,
    /// Packets and bytes reported as marked.
    pub packets: u64,
    pub bytes: u64,
}

impl AccEcnReports {
    /// Whether both ends agreed on accurate ECN.
    #[cfg(test)]
    pub const fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// Takes a segment of this end that acknowledges up to `ack`; `other` is the opposite end, whose largest payload is
    /// `full`.
    pub fn take(&mut self, other: &mut Self, segment: &Segment<'_>, options: &TcpOptions, ack: Option<i64>, full: u32) {
        let ace = segment.ace();
        self.marked += u64::from(segment.marked);
        self.options += u64::from(options.acc_ecn.is_some());
        if segment.has(flag::SYN) {
            if !segment.has(flag::ACK) {
                (self.asked, self.is_client) = (self.asked || !matches!(ace, 0 | 3), true);
            } else if other.asked && !matches!(ace, 0 | 1 | 7) {
                (self.agreed, other.agreed) = (true, true);
            }
            return;
        }
        let is_first = self.segments == 0;
        self.segments += 1;
        let reflects = is_first && self.is_client && segment.payload == 0;
        // A segment that is overtaken says nothing new.
        let is_old = ack.is_none() || ack < self.ack;
        if !self.agreed || reflects || is_old || segment.has(flag::RST) {
            return;
        }
        self.ack = ack;
        let mut packets = u64::from(ace).wrapping_sub(FIRST_ACE + self.packets) & 7;
        if let Some(ce) = options.acc_ecn.and_then(|counters: AccEcnCounters| counters.ce()) {
            let new = u64::from(ce).wrapping_sub(self.bytes) & 0xff_ffff;
            if new < 1 << 23 {
                self.bytes += new;
                packets += new.div_ceil(u64::from(full.max(1))).saturating_sub(packets) & !7;
            }
        }
        self.packets += packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u8, ae: bool, payload: u32) -> Segment<'static> {
        Segment {
            source: crate::Endpoint::default(),
            destination: crate::Endpoint::default(),
            seq: 0,
            ack: 0,
            flags,
            ae,
            window: 0,
            urgent: 0,
            payload,
            missing: 0,
            ip_id: 0,
            ttl: 64,
            marked: false,
            length: 40 + payload,
            options: &[],
        }
    }

    /// A connection by hand: both flags in the handshake, then ACE 7 (two marks), 0 (one more) and an old 6.
    #[test]
    fn counts_by_hand() {
        let (mut client, mut server) = (AccEcnReports::default(), AccEcnReports::default());
        let none = TcpOptions::default();
        client.take(&mut server, &segment(flag::SYN | flag::ECE | flag::CWR, true, 0), &none, None, 1500);
        server.take(&mut client, &segment(flag::SYN | flag::ACK | flag::CWR, false, 0), &none, Some(0), 1500);
        client.take(&mut server, &segment(flag::ACK | flag::CWR, false, 0), &none, Some(0), 1500);
        assert!(client.is_agreed() && server.is_agreed());
        let counters = AccEcnCounters { ect1_first: true, counters: [1, 3000, 1], fields: 3 };
        let with = TcpOptions { acc_ecn: Some(counters), ..none };
        server.take(&mut client, &segment(flag::ACK | flag::ECE | flag::CWR, true, 0), &with, Some(1000), 1500);
        server.take(&mut client, &segment(flag::ACK, false, 0), &none, Some(2000), 1500);
        server.take(&mut client, &segment(flag::ACK | flag::CWR, true, 0), &none, Some(500), 1500);
        assert_eq!((server.packets, server.bytes, server.options), (3, 3000, 1));
        assert_eq!((client.packets, client.bytes), (0, 0));
        // An ACK for nine marked packets of 1500 bytes: the counter has moved on by one.
        let counters = AccEcnCounters { counters: [1, 3000 + 9 * 1500, 1], ..counters };
        let with = TcpOptions { acc_ecn: Some(counters), ..none };
        server.take(&mut client, &segment(flag::ACK | flag::ECE, false, 0), &with, Some(9000), 1500);
        assert_eq!((server.packets, server.bytes), (12, 16_500));
    }

    /// A server of RFC 3168 answers with ECE alone.
    #[test]
    fn echoes_are_no_counts() {
        let (mut client, mut server) = (AccEcnReports::default(), AccEcnReports::default());
        let none = TcpOptions::default();
        client.take(&mut server, &segment(flag::SYN | flag::ECE | flag::CWR, true, 0), &none, None, 1500);
        server.take(&mut client, &segment(flag::SYN | flag::ACK | flag::ECE, false, 0), &none, Some(0), 1500);
        server.take(&mut client, &segment(flag::ACK | flag::ECE, false, 0), &none, Some(1000), 1500);
        assert_eq!((server.is_agreed(), server.packets), (false, 0));
    }
}
