//! Queue disciplines: who is sent next, and who is dropped.
//!
//! A discipline is a state machine over packet numbers. It may look into packets and mark them; it reports
//! what it drops in [`Dropped`] and never frees a packet itself.

mod fifo;
mod gauge;

use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

pub use fifo::Fifo;
pub use gauge::Gauge;

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(u64),
    /// At most so many bytes of IP packets.
    Bytes(u64),
}

/// Why a queue let go of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full.
    Overflow,
    /// Dropped ahead of congestion, by an active discipline.
    Early,
}

/// What a discipline dropped since it was last emptied; the world gives the packets back to the arena.
pub type Dropped = Vec<(PacketId, Cause)>;

/// What every discipline does.
pub trait Discipline {
    /// Takes in a packet at `now`, and perhaps drops this or others.
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped);

    /// Hands out the packet to send next, and perhaps drops others.
    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId>;

    /// Packets inside.
    fn len(&self) -> usize;

    /// Whether another full-size packet would make it drop something for want of room.
    fn is_full(&self) -> bool;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A discipline, chosen once; no box on the way of a packet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Queue {
    /// First in, first out.
    Fifo(Fifo),
}

impl Discipline for Queue {
    #[inline]
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        match self {
            Self::Fifo(queue) => queue.enqueue(now, id, packets, dropped),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        match self {
            Self::Fifo(queue) => queue.dequeue(now, packets, dropped),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.len(),
        }
    }
    #[inline]
    fn is_full(&self) -> bool {
        match self {
            Self::Fifo(queue) => queue.is_full(),
        }
    }
}
