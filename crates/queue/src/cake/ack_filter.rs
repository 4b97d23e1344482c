//! CAKE's ACK filter: drops pure ACKs that a later one makes superfluous.
//!
//! Source: Linux 6.12, `net/sched/sch_cake.c`; A. Y. Kuzmanovic and others on ACK thinning, and RFC 3449, section
//! 5.2.1. When an ACK joins a line, the first earlier pure ACK of the same flow is dropped, if it acknowledges no more,
//! has no newer timestamps, its SACK blocks are covered and its ECN flags match, and a second such ACK follows. In
//! aggressive mode one is enough, if the new ACK comes next.

use wifair_config::choice;
use wifair_packet::{Kind, Packet, flag};

choice! {
    /// Whether superfluous ACKs are dropped.
    pub enum AckFilter {
        /// None is.
        Off = "off",
        /// One of three or more ACKs of a flow.
        On = "on",
        /// One of two or more.
        Aggressive = "aggressive",
    }
}

/// The SACK blocks of a packet, as absolute offsets.
fn blocks(packet: &Packet) -> impl Iterator<Item = (u64, u64)> {
    let ack = packet.ack;
    let of = move |(start, end): &(u32, u32)| (ack + u64::from(*start), ack + u64::from(*end));
    packet.sack.iter().filter(|block| **block != (0, 0)).map(of)
}

/// Whether the SACK blocks of `newer` cover those of `old`: if so, whether they hold more.
fn covers(old: &Packet, newer: &Packet) -> Option<bool> {
    let bytes = |packet| blocks(packet).map(|(start, end)| end - start).sum::<u64>();
    let covered = |(start, end)| blocks(newer).any(|(from, to)| from <= start && to >= end);
    blocks(old).all(covered).then(|| bytes(newer) > bytes(old))
}

fn echoes(packet: &Packet) -> u8 {
    packet.flags & (flag::ECE | flag::CWR)
}

fn is_pure(packet: &Packet) -> bool {
    packet.kind == Kind::Ack && packet.payload == 0 && packet.flags & (flag::SYN | flag::FIN | flag::PSH) == 0
}

impl AckFilter {
    /// The place of a superfluous ACK in a line whose last packet has just come.
    pub fn superfluous<'a>(self, line: impl ExactSizeIterator<Item = &'a Packet> + Clone) -> Option<usize> {
        let last = line.len().checked_sub(1).filter(|last| *last > 0 && self != Self::Off)?;
        let newest = line.clone().last()?;
        if newest.kind != Kind::Ack || newest.has(flag::SYN) {
            return None;
        }
        let (mut eligible, mut found) = (None, 0);
        for (place, packet) in line.enumerate().take(last) {
            if packet.kind != Kind::Ack || packet.flow != newest.flow {
                continue;
            }
            if eligible.is_some_and(|(_, flags)| flags != echoes(packet)) {
                eligible = None;
                found -= 1;
            }
            let is_older = is_pure(packet)
                && packet.ts_val <= newest.ts_val
                && packet.ts_ecr <= newest.ts_ecr
                && packet.ack <= newest.ack;
            match covers(packet, newest) {
                Some(more) if is_older && (more || packet.ack < newest.ack) => {}
                _ => continue,
            }
            let first = *eligible.get_or_insert((place, echoes(packet)));
            if found > 0 {
                return Some(first.0);
            }
            found += 1;
        }
        let (place, flags) = eligible.filter(|_| self == Self::Aggressive)?;
        (place + 1 == last && flags == echoes(newest)).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ack: u64) -> Packet {
        Packet { kind: Kind::Ack, flags: flag::ACK, ack, size: 52, ..Packet::default() }
    }

    /// By hand: the third ACK makes the first superfluous; in aggressive mode the second does. Data, another flow, a
    /// higher ACK, ECE that changes, and SACK blocks that the new ACK lacks protect an ACK.
    #[test]
    fn superfluous_acks_by_hand() {
        let found = |filter: AckFilter, line: &[Packet]| filter.superfluous(line.iter());
        assert_eq!(found(AckFilter::On, &[ack(1), ack(2), ack(3)]), Some(0));
        assert_eq!(found(AckFilter::On, &[ack(1), ack(2)]), None);
        assert_eq!(found(AckFilter::Aggressive, &[ack(1), ack(2)]), Some(0));
        assert_eq!(found(AckFilter::Off, &[ack(1), ack(2), ack(3)]), None);
        assert_eq!(found(AckFilter::On, &[Packet { payload: 9, ..ack(1) }, ack(2), ack(2), ack(3)]), Some(1));
        assert_eq!(found(AckFilter::On, &[Packet { flow: 1, ..ack(1) }, ack(2), ack(3)]), None);
        assert_eq!(found(AckFilter::On, &[ack(5), ack(2), ack(3)]), None);
        let echo = Packet { flags: flag::ACK | flag::ECE, ..ack(2) };
        assert_eq!(found(AckFilter::On, &[ack(1), echo, ack(3), ack(4)]), None);
        let sacks = |end| Packet { sack: [(10, end), (0, 0), (0, 0)], ..ack(1) };
        assert_eq!(found(AckFilter::On, &[sacks(20), ack(2), ack(3)]), None);
        assert_eq!(found(AckFilter::On, &[sacks(20), sacks(20), sacks(30)]), Some(0));
    }
}
