//! A user-defined discipline, written as a Python class.
//!
//! Scenarios name the class; the caller who runs them passes the queue to the world with
//! [`Queue::custom`](super::Queue::custom). Where only the choice is examined, a drop-tail FIFO takes its place.

use wifair_config::{Free, table};
use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::{Discipline, Dropped, Fifo, Site, fifo};

table! {
    /// A class of your own in Python; `discipline = "module:Class"` is equivalent.
    pub struct Params {
        /// Location of the class, as in `my_module:MyQueue`: a subclass of `wifair.QueueDiscipline`.
        pub class: String, "module:Class" => |class| class.split_once(':').is_some_and(|(module, name)| {
            !module.is_empty() && !name.is_empty()
        });
        /// Passed to the class as keyword arguments.
        pub parameters: Free = Free::default();
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Python {
    fifo: Fifo,
}

impl Python {
    /// An empty queue.
    pub fn new(_: &Params, site: &Site<'_>) -> Self {
        Self { fifo: Fifo::new(&fifo::Params::default(), site) }
    }
}

impl Discipline for Python {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.fifo.enqueue(now, id, to, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        self.fifo.dequeue(now, packets, dropped)
    }

    counted_by!(fifo);
}
