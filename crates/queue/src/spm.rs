//! Protection of short flows: when the buffer is full, packets from the start of a flow replace others.
//!
//! Source, an outline only: M. Gong, Q. Wu and C. Williamson, "Queue Management Strategies to Improve TCP Fairness in
//! IEEE 802.11 Wireless LANs", 2006, and Q. Wu, M. Gong and C. Williamson, "TCP fairness issues in IEEE 802.11 wireless
//! LANs", 2008, known here from their abstracts: selected packets are marked (SPM), and an access point drops the
//! others first, so that short flows are protected from long ones. (Their second strategy is LAS.)
//!
//! Our reading: a FIFO. The selected packets are SYN and FIN, data that begins below `protect` bytes of its stream, and
//! ACKs up to that byte. A selected packet that finds the buffer full pushes out the latest packets that are not
//! selected. If there are none, or if the arrival is not selected, the arrival is dropped.

use wifair_config::table;
use wifair_packet::{Kind, Packet, PacketId, Packets, flag};
use wifair_units::{Bytes, Time};

use super::lines::Lines;
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Protection of short flows.
    pub struct Params {
        /// How many bytes at the start of each stream are protected.
        pub protect: Bytes = Bytes(15_000);
    }
}

const OTHER: usize = 0;
const SELECTED: usize = 1;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Spm {
    room: Room,
    protect: u64,
    /// One line for each kind, in order of arrival; the note is the number of the arrival.
    lines: Lines,
    arrivals: u64,
}

impl Spm {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self { room: site.room(), protect: params.protect.0, lines: Lines::default(), arrivals: 0 }
    }

    const fn is_selected(&self, packet: &Packet) -> bool {
        let is_early = match packet.kind {
            Kind::Data => packet.seq < self.protect,
            Kind::Ack => packet.ack <= self.protect,
            Kind::Udp | Kind::Routing | Kind::Icmp => false,
        };
        is_early || packet.has(flag::SYN) || packet.has(flag::FIN)
    }
}

impl Discipline for Spm {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        let size = packet.bytes().0;
        let line = if self.is_selected(packet) { SELECTED } else { OTHER };
        while !self.room.fits(size) {
            let may_push = line == SELECTED && self.room.could_fit(size);
            let Some(gone) = may_push.then(|| self.lines.pop_last(OTHER)).flatten() else {
                dropped.push((id, Cause::Overflow));
                return;
            };
            self.room.leave(u64::from(gone.size));
            dropped.push((gone.id, Cause::Overflow));
        }
        self.room.enter(packet);
        self.arrivals += 1;
        self.lines.push(line, id, packet.size, self.arrivals);
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let arrival = |line| self.lines.first(line).map_or(u64::MAX, |waiting| waiting.note);
        let line = if arrival(SELECTED) < arrival(OTHER) { SELECTED } else { OTHER };
        let sent = self.lines.pop_first(line)?;
        self.room.leave(u64::from(sent.size));
        Some(sent.id)
    }

    counted_by!(room);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("selected_packets", f64::from(self.lines.packets(SELECTED)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::super::testing::QueueBench;
    use super::*;

    fn data(seq: u64) -> Packet {
        Packet { seq, payload: 1000, size: 1040, ..Packet::default() }
    }

    /// Room for three, 2000 B protected. 9000, 1000 and 8000 are inside; 7000 is not selected and is dropped; 0 pushes
    /// out 8000, a SYN pushes out 9000; then nothing can give way to 1500.
    #[test]
    fn the_start_of_a_flow_takes_the_place_of_the_latest_other() {
        let params = Params { protect: Bytes(2000) };
        let mut bench =
            QueueBench::new(Spm::new(&params, &Site { limit: Limit::Packets(3), ..QueueBench::<Spm>::SITE }));
        bench.put_all([data(9000), data(1000), data(8000), data(7000), data(0)]);
        bench.put(Packet { flags: flag::SYN, ..data(20_000) });
        bench.put(data(1500));
        assert_eq!(bench.lost.iter().map(|p| p.seq).collect::<Vec<_>>(), [7000, 8000, 9000, 1500]);
        assert_eq!(bench.drain().iter().map(|p| p.seq).collect::<Vec<_>>(), [1000, 0, 20_000]);
    }

    #[test]
    fn acks_are_protected_by_what_they_acknowledge() {
        let spm = Spm::new(&Params { protect: Bytes(2000) }, &QueueBench::<Spm>::SITE);
        let ack = |ack| Packet { ack, kind: Kind::Ack, ..Packet::default() };
        assert!(spm.is_selected(&ack(2000)) && !spm.is_selected(&ack(2001)));
    }
}
