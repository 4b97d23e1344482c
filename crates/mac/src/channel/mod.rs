//! The channels that stations share, as one type.
//!
//! [`Medium`] is an enum rather than a trait object, so that the choice of the channel is a branch and not a virtual call.

mod edca;
mod shared;
mod slots;
mod spatial;

pub use edca::{Edca, EdcaSettings};
pub use shared::Cell;
pub use spatial::{Hearing, Links, RateSettings, SignalSettings, Space};

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::Time;

use crate::category::Category;
use crate::{AirTime, Counters, Heard, Tap};
use wifair_queue::{Discipline, Dropped, Gauge, Queue};

/// The air, and the stations on it.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Medium {
    /// Everybody hears everybody: the fast one.
    Cell(Cell),
    /// Who hears whom follows from links.
    Space(Space),
    /// Everybody hears everybody, and contends with parameters of its own.
    Edca(Edca),
}

macro_rules! each {
    ($self:ident, $medium:ident => $call:expr) => {
        // One comparison for the fast medium.
        if let Self::Cell($medium) = $self {
            $call
        } else {
            match $self {
                Self::Space($medium) => $call,
                Self::Edca($medium) => $call,
                Self::Cell(_) => unreachable!("it was handled above"),
            }
        }
    };
}

impl Medium {
    /// When [`Medium::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        if let Self::Cell(cell) = self { cell.next() } else { self.next_of_others() }
    }

    #[inline(never)]
    fn next_of_others(&self) -> Time {
        each!(self, medium => medium.next())
    }

    /// `station` gets a packet to send. `receiver` tells the station to which a packet goes next. Returns whether
    /// [`Medium::next`] may have changed.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        station: u32,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) -> bool {
        if let Self::Cell(cell) = self {
            return cell.offer(now, station, id, packets, dropped, receiver);
        }
        each!(self, medium => { medium.offer(now, station, id, packets, dropped, receiver); });
        true
    }

    /// See [`Cell::take_in`]: what only the fast medium does.
    #[inline(always)]
    pub fn take_in(&mut self, station: u32, id: PacketId, packets: &mut Packets) -> bool {
        if let Self::Cell(cell) = self { cell.take_in(station, id, packets) } else { false }
    }

    /// Goes on at the time of [`Medium::next`], which is `now`, and then on and on before `bound`, until something was
    /// received or lost. Moves `now`, and returns how many steps were taken. Packets that were given up at a retry limit
    /// are added to `given_up` with their sender.
    #[inline(always)]
    pub fn advance(
        &mut self,
        now: &mut Time,
        bound: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> (Heard, u64) {
        if let Self::Cell(cell) = self {
            return cell.go_on(now, bound, packets, dropped, given_up, receiver);
        }
        let mut steps = 1;
        let heard = self.advance_slowly(now, bound, &mut steps, packets, dropped, given_up, receiver);
        (heard, steps)
    }

    /// The same for all but the fast medium, which add to `steps` those after the first.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn advance_slowly(
        &mut self,
        now: &mut Time,
        bound: Time,
        steps: &mut u64,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> Heard {
        if let Self::Space(space) = self {
            let (heard, taken) = space.go_on(now, bound, packets, dropped, given_up, receiver);
            *steps = taken;
            return heard;
        }
        each!(self, medium => loop {
            let heard = medium.advance(*now, packets, dropped, given_up, &receiver);
            let next = medium.next();
            if heard != Heard::Nothing || next >= bound || !dropped.is_empty() || !given_up.is_empty() {
                return heard;
            }
            *now = next;
            *steps += 1;
        })
    }

    /// The fast one, if it is that.
    #[inline]
    pub fn as_cell(&mut self) -> Option<&mut Cell> {
        if let Self::Cell(cell) = self { Some(cell) } else { None }
    }

    /// Keeps records of frames and backoffs, or not.
    pub fn set_tap(&mut self, on: bool) {
        each!(self, medium => medium.set_tap(on));
    }

    /// What was recorded, if records are kept.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        each!(self, medium => medium.tap())
    }

    /// The same, to be read only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        each!(self, medium => medium.records())
    }

    /// Who received the broadcast that was reported last.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        each!(self, medium => medium.receivers())
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        each!(self, medium => medium.queue(station))
    }

    /// Packets that wait in a station, in whichever queue.
    #[must_use]
    pub fn waiting(&self, station: u32) -> usize {
        let more = if let Self::Edca(edca) = self { edca.first_queue(station).len() } else { 0 };
        self.queue(station).len() + more
    }

    /// The access point contends by other parameters from its next frame on.
    ///
    /// # Panics
    /// If the medium has no access categories.
    pub fn set_hub(&mut self, category: &Category) {
        let Self::Edca(edca) = self else { panic!("access parameters change only where there are categories") };
        edca.set_hub(category);
    }

    /// What every station did, in their order.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        match self {
            Self::Cell(cell) => cell.all_counters(),
            Self::Space(space) => space.all_counters().to_vec(),
            Self::Edca(edca) => edca.all_counters().to_vec(),
        }
    }

    /// The lengths of the access points' queues over time.
    #[must_use]
    pub fn hub_queues(&self) -> &[Gauge] {
        match self {
            Self::Cell(cell) => std::slice::from_ref(cell.hub_queue()),
            Self::Space(space) => space.hub_queues(),
            Self::Edca(edca) => std::slice::from_ref(edca.hub_queue()),
        }
    }

    /// The lengths of the access points' queues over time.
    pub fn hub_queues_mut(&mut self) -> &mut [Gauge] {
        match self {
            Self::Cell(cell) => std::slice::from_mut(cell.hub_queue_mut()),
            Self::Space(space) => space.hub_queues_mut(),
            Self::Edca(edca) => std::slice::from_mut(edca.hub_queue_mut()),
        }
    }

    /// What the air was used for until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        each!(self, medium => medium.air_time(now))
    }

    /// Packets in the queues and in the hands of all stations.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        if let Self::Edca(edca) = self {
            return edca.packets_held();
        }
        let stations = 0..u32::try_from(self.all_counters().len()).expect("stations can be numbered");
        let held = |station| {
            let in_hand = each!(self, medium => medium.in_hand(station));
            self.queue(station).len() + usize::from(in_hand.is_some())
        };
        stations.map(held).sum()
    }
}
