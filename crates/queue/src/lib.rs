//! Queue disciplines: which packet is sent next, and which is dropped.
//!
//! A discipline is a state machine over packet numbers. It may look into packets and mark them; it reports what it
//! drops in [`Dropped`] and never frees a packet itself. It sees only the packets of its own queue and what the channel
//! reports in [`AirUse`]; it has no clock but the `now` argument of its calls.
//!
//! To add a discipline, write a file with its source, definition, departures, parameters and tests, and add a line to
//! the list at the end of this module. The variants, the names, the reference and the property tests are generated from
//! that list.

/// The methods of [`Discipline`] that count packets, for a discipline with a field that keeps the counts.
macro_rules! counted_by {
    ($($field:ident).+) => {
        fn len(&self) -> usize {
            self.$($field).+.len()
        }

        fn is_full(&self) -> bool {
            self.$($field).+.is_full()
        }

        fn marks(&self) -> u64 {
            self.$($field).+.marks()
        }
    };
}

mod airtime;
mod bounded;
mod cake;
mod codel;
mod contention_red;
mod drr;
mod dual;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_paced;
mod fq_pie;
mod gauge;
mod heap;
mod las;
mod lines;
mod linux;
mod linux_red;
mod linux_wifi;
mod paced;
mod per_flow;
mod pie;
pub mod python;
mod ranked;
mod red;
pub mod replay;
mod room;
mod routing_first;
mod scfq;
mod sfq;
mod shared;
mod sjf;
mod spm;
mod tbf;
#[cfg(test)]
mod testing;
mod vq_red;

use std::fmt;

use wifair_config::{choice, table};
use wifair_engine::Stream;
use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_units::{BitRate, Duration, Time};

pub use airtime::Airtime;
pub use cake::Cake;
pub use codel::{Codel, CodelArithmetic};
pub use contention_red::ContentionRed;
pub use drr::Drr;
pub use dual::Dual;
pub use dualpi2::DualPi2;
pub use fifo::Fifo;
pub use fq_codel::FqCodel;
pub use fq_paced::FqPaced;
pub use fq_pie::FqPie;
pub use gauge::Gauge;
pub use las::Las;
pub use linux_red::LinuxRed;
pub use linux_wifi::{LinuxWifi, Params as LinuxWifiParams, SparseStations, UpperQueue, WifiDriver, WifiPeer};
pub use paced::Paced;
pub use per_flow::PerFlow;
pub use pie::Pie;
pub use python::Python;
pub use red::Red;
pub use room::Room;
pub use routing_first::RoutingFirst;
pub use scfq::Scfq;
pub use sfq::Sfq;
pub use sjf::Sjf;
pub use spm::Spm;
pub use tbf::Tbf;
pub use vq_red::VqRed;
pub use wifair_config::Limit;

use wifair_packet::BROADCAST;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full.
    Overflow,
    /// Dropped before the queue was full, by active queue management or by a scheme of the access point.
    Early,
    /// Its lifetime in the MAC has ended, in the queue or between two attempts.
    Expired,
    /// It arrived after its recipient had stopped waiting for it (`aggregation.reorder_timeout`).
    Late,
}

/// Packets that a discipline has dropped; the world empties the list and frees the packets.
pub type Dropped = Vec<(PacketId, Cause)>;

/// How a packet used the air. The channel reports this to the queues at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirUse {
    /// The station at the other end.
    pub peer: u32,
    /// True if this station sent it, false if it received it.
    pub sent: bool,
    /// Air time of its attempts not yet reported: RTS, CTS, data and ACK frames without the gaps between them.
    pub air: Duration,
    /// The number of its attempts; 0 if it is to be sent again. Under block ACK each exchange is reported by itself,
    /// and the last one counts those without response before it.
    pub attempts: u32,
    /// Whether it was delivered.
    pub delivered: bool,
    /// Rate of the data, from 802.11n on.
    pub rate: Option<BitRate>,
}

/// The interface of every discipline.
pub trait Discipline: fmt::Debug + Send {
    /// Adds a packet whose next station is `to`; may drop that packet or others.
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped);

    /// Removes the packet to send next; may drop others.
    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId>;

    /// Removes a packet to extend an aggregate to the station `to`; may drop others. `is_to` tells whether a packet
    /// goes to that station. A discipline that can look ahead returns its next packet to that station, or `None` if
    /// there is none of at most `room` bytes. Any other discipline returns its next packet, if any; if that goes to
    /// another station, the caller must send it next.
    fn dequeue_for(
        &mut self,
        now: Time,
        to: u32,
        room: u64,
        is_to: &dyn Fn(&Packet) -> bool,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        let _ = (to, room, is_to);
        self.dequeue(now, packets, dropped)
    }

    /// Packets in the queue.
    fn len(&self) -> usize;

    /// Whether another full-size packet would cause a drop for lack of room.
    fn is_full(&self) -> bool;

    /// Packets marked as having met congestion (RFC 3168).
    fn marks(&self) -> u64 {
        0
    }

    /// Whether the queue is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The earliest time to call [`Discipline::dequeue`] again after it returned nothing although packets are waiting:
    /// a discipline that is not work conserving holds them back until then.
    fn ready(&self) -> Time {
        Time::ZERO
    }

    /// When to call [`Discipline::dequeue`] again after it returned nothing at `now` although packets are waiting: at
    /// [`Discipline::ready`] if that is later than `now`, else after a millisecond.
    fn retry_at(&self, now: Time) -> Time {
        if self.ready() > now { self.ready() } else { now + Duration::from_millis(1) }
    }

    /// Whether [`Discipline::on_air`] must be called. Asked once, at the start.
    fn wants_air_use(&self) -> bool {
        false
    }

    /// A packet from this queue, or one received by its station, has used the air.
    fn on_air(&mut self, now: Time, used: &AirUse) {
        let _ = (now, used);
    }

    /// Reports state variables by name, for time series.
    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

table! {
    /// A queue of packets for the air or for a wired link. The packet being sent is not part of it.
    pub struct QueueSettings {
        /// Which packet is sent next, and which is dropped.
        pub discipline: Chosen = Chosen::Fifo(fifo::Params::default());
        /// Capacity. From 802.11n on a sender has a queue for each access category, and an access point with
        /// `queue_per_station` one for each station and category: each has this capacity.
        pub limit: Limit = Limit::Packets(50), "from 1 to 100000000 packets, or from 40 B to 100 GB" => |limit| match limit {
            Limit::Packets(packets) => (1..=100_000_000).contains(packets), // about a hundred bytes of memory each
            Limit::Bytes(bytes) => (40..=100_000_000_000).contains(&bytes.0),
        };
        /// An ECN-capable packet that finds more than this in the queue is marked (RFC 8257, section 3.1). Disciplines
        /// with a marking rule of their own ignore it. Like `limit` it is for each queue. If absent, nothing is marked.
        pub mark_above: Option<Limit> = None;
        /// Whether routing messages go before all others, in a separate line.
        pub routing_first: bool = false;
    }
}

/// The surroundings in which a discipline is built.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Capacity.
    pub limit: Limit,
    /// The level above which ECN-capable packets are marked.
    pub mark_above: Option<Limit>,
    /// Rate of the link or air interface that the queue feeds, if it has one.
    pub rate: Option<BitRate>,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the queue's owner, from which its random streams are named.
    pub name: &'a str,
}

impl Site<'_> {
    const fn room(&self) -> Room {
        Room::new(self.limit, self.mark_above)
    }

    fn stream(&self) -> Stream {
        wifair_engine::stream(self.seed, "queue", self.name)
    }
}

impl Queue {
    /// An empty queue of the owner `name`, which feeds a link or air interface of this `rate`.
    pub fn new(settings: &QueueSettings, rate: Option<BitRate>, seed: u64, name: &str) -> Self {
        let site = Site { limit: settings.limit, mark_above: settings.mark_above, rate, seed, name };
        Self::build(&settings.discipline, &site).behind_routing(settings)
    }

    /// A discipline from outside this crate instead of the one that `settings` choose.
    pub fn custom(settings: &QueueSettings, queue: Box<dyn Discipline>) -> Self {
        Self::Custom(queue).behind_routing(settings)
    }

    fn behind_routing(self, settings: &QueueSettings) -> Self {
        if settings.routing_first { RoutingFirst::new(self, settings.limit).into() } else { self }
    }

    /// An empty drop-tail FIFO.
    pub fn fifo(limit: Limit) -> Self {
        Self::Fifo(Fifo::new(
            &fifo::Params::default(),
            &Site { limit, mark_above: None, rate: None, seed: 0, name: "" },
        ))
    }
}

/// The flow of a packet as a small number: one for each direction of a connection, 0 for packets of no flow.
fn flow_key(packet: &Packet) -> usize {
    match packet.kind {
        _ if packet.flow == u32::MAX => 0,
        Kind::Routing => 0,
        Kind::Ack => packet.flow as usize * 2 + 2,
        Kind::Data | Kind::Udp | Kind::Icmp => packet.flow as usize * 2 + 1,
    }
}

/// A station as a small number; 0 stands for all of them (broadcast).
const fn station_key(station: u32) -> usize {
    if station == BROADCAST { 0 } else { station as usize + 1 }
}

macro_rules! disciplines {
    ($( $(#[doc = $doc:literal])* $variant:ident($type:ty), $module:ident = $name:literal
        from $source:literal $(($outline:ident))? ; )+) => {
        choice! {
            /// Which packet is sent next, and which is dropped.
            pub enum Chosen {
                $( $(#[doc = $doc])* $variant($module::Params) = $name from $source $(($outline))?, )+
            }
        }

        /// A discipline, as an enum so that dispatch is a branch. FIFO, the usual one, is not boxed.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Queue {
            $( $(#[doc = $doc])* $variant($type), )+
            /// Routing messages before all others.
            RoutingFirst(Box<RoutingFirst>),
            /// From outside this crate, such as one written in Python.
            Custom(Box<dyn Discipline>),
        }

        /// Calls a method of the discipline, whichever it is.
        macro_rules! of_any {
            ($own:expr, $queue:ident => $call:expr) => {
                match $own {
                    $( Self::$variant($queue) => $call, )+
                    Self::RoutingFirst($queue) => $call,
                    Self::Custom($queue) => $call,
                }
            };
        }

        impl Queue {
            fn build(chosen: &Chosen, site: &Site<'_>) -> Self {
                match chosen {
                    $( Chosen::$variant(params) => Self::$variant($module::$variant::new(params, site).into()), )+
                }
            }

            #[inline(never)]
            fn enqueue_in_any(
                &mut self,
                now: Time,
                id: PacketId,
                to: u32,
                packets: &mut Packets,
                dropped: &mut Dropped,
            ) {
                of_any!(self, queue => queue.enqueue(now, id, to, packets, dropped))
            }

            #[inline(never)]
            fn dequeue_from_any(
                &mut self,
                now: Time,
                packets: &mut Packets,
                dropped: &mut Dropped,
            ) -> Option<PacketId> {
                of_any!(self, queue => queue.dequeue(now, packets, dropped))
            }
        }

        impl Discipline for Queue {
            // Test for FIFO, the usual discipline, first.
            #[inline]
            fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
                if let Self::Fifo(queue) = self {
                    queue.enqueue(now, id, to, packets, dropped);
                } else {
                    self.enqueue_in_any(now, id, to, packets, dropped);
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
                if let Self::Fifo(queue) = self {
                    queue.dequeue(now, packets, dropped)
                } else {
                    self.dequeue_from_any(now, packets, dropped)
                }
            }

            fn dequeue_for(
                &mut self,
                now: Time,
                to: u32,
                room: u64,
                is_to: &dyn Fn(&Packet) -> bool,
                packets: &mut Packets,
                dropped: &mut Dropped,
            ) -> Option<PacketId> {
                of_any!(self, queue => queue.dequeue_for(now, to, room, is_to, packets, dropped))
            }

            #[inline]
            fn len(&self) -> usize {
                of_any!(self, queue => queue.len())
            }

            #[inline]
            fn is_full(&self) -> bool {
                of_any!(self, queue => queue.is_full())
            }

            #[inline]
            fn ready(&self) -> Time {
                of_any!(self, queue => queue.ready())
            }

            fn marks(&self) -> u64 {
                of_any!(self, queue => queue.marks())
            }

            fn wants_air_use(&self) -> bool {
                of_any!(self, queue => queue.wants_air_use())
            }

            fn on_air(&mut self, now: Time, used: &AirUse) {
                of_any!(self, queue => queue.on_air(now, used))
            }

            fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
                of_any!(self, queue => queue.show(see))
            }
        }
    };
}

disciplines! {
    /// First in, first out; a full queue drops the arrival, or the oldest packet.
    Fifo(Fifo), fifo = "fifo" from "drop-tail: ns-2.35; drop-head: T. V. Lakshman, A. Neidhardt and T. Ott, 1996";
    /// Least attained service: the flow that has received least goes first, the one that has received most is dropped.
    Las(Box<Las>), las = "las" from "I. Rai, G. Urvoy-Keller, M. Vernon and E. Biersack, 2004; las, section 3";
    /// Shortest packet first.
    Sjf(Box<Sjf>), sjf = "sjf" from "las, section 2" (outline);
    /// Random early detection: the longer the mean queue, the more arrivals are marked or dropped.
    Red(Box<Red>), red = "red" from "S. Floyd and V. Jacobson, 1993";
    /// Controlled delay: drops or marks departing packets while packets wait too long.
    Codel(Box<Codel>), codel = "codel" from "RFC 8289";
    /// Flow queueing with controlled delay: CoDel in many lines, those of new flows first.
    FqCodel(Box<FqCodel>), fq_codel = "fq-codel" from "RFC 8290";
    /// Common applications kept enhanced: a shaper, classes by code point, fair shares of hosts and flows, COBALT.
    Cake(Box<Cake>), cake = "cake" from "T. Høiland-Jørgensen et al., 2018; Linux 6.12, net/sched/sch_cake.c";
    /// Proportional integral controller: drops or marks arrivals with a probability that follows the delay.
    Pie(Box<Pie>), pie = "pie" from "RFC 8033; Linux 6.12, net/sched/sch_pie.c";
    /// Flow queueing with PIE: PIE in many lines, those of new flows first.
    FqPie(Box<FqPie>), fq_pie = "fq-pie" from "Linux 6.12, net/sched/sch_fq_pie.c";
    /// Coupled queues for classic and L4S traffic: short delay for flows that react to each mark.
    DualPi2(Box<DualPi2>), dualpi2 = "dualpi2" from "RFC 9332; Linux 6.17, net/sched/sch_dualpi2.c";
    /// Stochastic fairness queueing: hashed flows in turn.
    Sfq(Box<Sfq>), sfq = "sfq" from "P. McKenney, 1990; Linux 6.12, net/sched/sch_sfq.c";
    /// Fair queueing with pacing: flows in turn, each at the rate that its socket asks for.
    FqPaced(Box<FqPaced>), fq_paced = "fq" from "Linux 6.12, net/sched/sch_fq.c";
    /// RED as in Linux: in bytes, with its own random gaps.
    LinuxRed(Box<LinuxRed>), linux_red = "linux-red" from "Linux 6.12, net/sched/sch_red.c; iproute2, tc/q_red.c";
    /// A token bucket before a FIFO. Not work conserving.
    Tbf(Box<Tbf>), tbf = "tbf" from "Linux 6.12, net/sched/sch_tbf.c";
    /// Deficit round robin: flows or stations in turn, each with a quantum of bytes.
    Drr(Box<Drr>), drr = "drr" from "M. Shreedhar and G. Varghese, 1995";
    /// Self-clocked fair queueing: flows or stations in the order of service tags.
    Scfq(Box<Scfq>), scfq = "scfq" from "S. J. Golestani, 1994";
    /// Equal buffer shares: a FIFO in which flows hold equally many packets.
    PerFlow(Box<PerFlow>), per_flow = "per-flow" from "Q. Wu, M. Gong and C. Williamson, 2008" (outline);
    /// Dual queue: data and ACKs in two lines, chosen at random so that uploads and downloads get the same.
    Dual(Box<Dual>), dual = "dual" from "J. Ha, E.-C. Park, K.-J. Park and C.-H. Choi, 2009" (outline);
    /// RED on a virtual queue for each station.
    VqRed(Box<VqRed>), vq_red = "vq-red" from "X. Lin, X. Chang and J. Muppala, 2005" (outline);
    /// Protection of short flows: when the buffer is full, the start of a flow replaces other packets.
    Spm(Box<Spm>), spm = "spm" from "M. Gong, Q. Wu and C. Williamson, 2006" (outline);
    /// Not work conserving: after each packet the queue waits, and waits longer the faster it has been sending.
    Paced(Box<Paced>), paced = "paced" from "L. Yang, W. K. G. Seah and Q. Yin, 2003" (outline);
    /// Contention RED: drops by the number of MAC retries.
    ContentionRed(Box<ContentionRed>), contention_red = "contention-red" from "Z. Fu et al., 2003" (outline);
    /// Airtime fairness: stations in turn by the air time they use, with FQ-CoDel for their flows.
    Airtime(Box<Airtime>), airtime = "airtime" from "T. Høiland-Jørgensen et al., 2017; Linux, net/mac80211";
    /// A Linux device as a whole: queues above the driver, air time shared, the driver's own queues.
    LinuxWifi(Box<LinuxWifi>), linux_wifi = "linux-wifi" from "Linux 6.12, net/mac80211; T. Høiland-Jørgensen et al., 2017";
    /// A class of your own in Python; `discipline = "module:Class"` names it.
    Python(Box<Fifo>), python = "python" from "you; see Extending";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directions of a connection count as two flows; packets of no flow, such as routing messages, are flow 0.
    #[test]
    fn flows_and_stations_are_numbered() {
        let key = |kind, flow| flow_key(&Packet { kind, flow, ..Packet::default() });
        for (flow, data, acks) in [(0, 1, 2), (1, 3, 4), (5, 11, 12)] {
            assert_eq!(key(Kind::Ack, flow), acks);
            assert_eq!([Kind::Data, Kind::Udp, Kind::Icmp].map(|kind| key(kind, flow)), [data; 3]);
            assert_eq!(key(Kind::Routing, flow), 0);
        }
        assert_eq!([Kind::Ack, Kind::Icmp, Kind::Routing].map(|kind| key(kind, u32::MAX)), [0; 3]);
        assert_eq!([0, 7, BROADCAST].map(station_key), [1, 8, 0]);
    }
}
