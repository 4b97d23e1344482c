//! What happens without being an event of its own, for it concerns nothing but counters.
//!
//! Datagrams that come to a full queue which only they enter (see [`Feed`]) are put off until somebody looks, or the queue runs
//! dry. Wires to a busy access point are looked at late as well: see [`super::late`]. What arrives at the far end of a wire may do so
//! before its time: see [`super::early`].
//!
//! Results are those that events would give; where packets are looked at on their way (see [`super::watch`]), or access points
//! have schemes, nothing is put off.

use wifair_mac::Feed;
use wifair_queue::Discipline;
use wifair_units::Time;

use super::World;
use super::flow::{Ends, datagram};
use super::late::Late;
use super::link::Early;
use super::measure::Loss;
use super::plan::{Hop, Transport, Workload};

impl World {
    /// Finds out what may be put off.
    pub(super) fn find_deferrable(&mut self) {
        if self.attended || self.routing.is_some() {
            return;
        }
        for flow in 0..self.flows.len() {
            let state = &self.flows[flow];
            if matches!(state.transport, Transport::Udp { .. }) && state.workload == Workload::Endless {
                self.flows[flow].alone_at = self.alone_at(flow);
            }
        }
        self.find_early();
        self.find_late();
    }

    /// The medium and station that a flow starts from, if no other way leads through that queue.
    fn alone_at(&self, flow: usize) -> Option<(usize, u32)> {
        let Hop::Air { medium, from, .. } = self.hops[self.flows[flow].forward as usize] else { return None };
        let through = |hop: &&Hop| matches!(hop, Hop::Air { medium: m, from: f, .. } if (*m, *f) == (medium, from));
        (self.hops.iter().filter(through).count() == 1).then_some((usize::from(medium), from))
    }

    /// From now on everything is an event; called before anything has happened.
    pub(super) fn defer_nothing(&mut self) {
        for flow in &mut self.flows {
            flow.alone_at = None;
        }
        for link in &mut self.links {
            link.set_early(Early::Never);
        }
        self.late = Late::never();
    }

    /// A source of datagrams of which the next comes at `next` is left to the queue that it has filled, if it has. Returns
    /// whether it is; if not it needs a timer.
    #[inline]
    pub(super) fn leave_to_queue(&mut self, index: usize, next: Time) -> bool {
        let flow = self.connections[index].flow as usize;
        let Some((medium, station)) = self.flows[flow].alone_at else { return false };
        self.media[medium].queue(station).is_full() && self.begin_feed(index, next, medium, station)
    }

    fn begin_feed(&mut self, index: usize, next: Time, medium: usize, station: u32) -> bool {
        let connection = &self.connections[index];
        let flow = &self.flows[connection.flow as usize];
        let (Ends::Udp { draws, sent }, Transport::Udp { payload, size, interval, jitter }) =
            (&connection.ends, &flow.transport)
        else {
            return false;
        };
        let Some(cell) = self.media[medium].as_cell().filter(|cell| cell.can_feed(station)) else { return false };
        let packet = datagram(flow, index, *sent, *payload, *size);
        let (interval, jitter, draws) = (*interval, *jitter, draws.clone());
        cell.feed(station, Feed { packet, next, interval, jitter, draws, came: 0, refused: 0 });
        true
    }

    /// Stations have nothing more to send that were not told of everything.
    #[inline]
    pub(super) fn wake_sources(&mut self, medium: usize) {
        while let Some(station) = self.media[medium].as_cell().and_then(|cell| cell.take_dry()) {
            self.ran_dry(medium, station);
        }
    }

    /// The source that filled its queue sets its timer again, or wires tell of what they bring.
    #[inline(never)]
    fn ran_dry(&mut self, medium: usize, station: u32) {
        if self.late.is_on && self.late.lead_to(medium, station) {
            self.be_in_time();
        } else {
            self.end_feed(medium, station);
        }
    }

    /// A flow that was left to its queue is stopped: nothing of it comes any more.
    pub(super) fn take_back(&mut self, flow: usize) {
        if let Some((medium, station)) = self.flows[flow].alone_at {
            self.end_feed(medium, station);
        }
    }

    /// The source of a station's datagrams is an ordinary one again.
    #[inline(never)]
    fn end_feed(&mut self, medium: usize, station: u32) {
        let Some(feed) = self.media[medium].as_cell().and_then(|cell| cell.take_feed(station)) else { return };
        self.book_feed(feed.packet.flow, feed.came, feed.refused);
        let index = feed.packet.flow as usize;
        if let Ends::Udp { draws, sent } = &mut self.connections[index].ends {
            *draws = feed.draws;
            *sent = feed.packet.seq;
        }
        self.set_timer(2 * index, feed.next);
    }

    fn book_feed(&mut self, connection: u32, came: u64, refused: u64) {
        let counters = &mut self.connections[connection as usize].counters;
        counters.data_sent += came;
        counters.data_lost[Loss::StationQueue as usize] += refused;
        self.events += came;
    }

    /// Whatever was put off and happens before `end` happens now.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, end: Time) {
        if self.late.is_on {
            self.make_up(end);
        }
        for index in 0..self.media.len() {
            let Some(cell) = self.media[index].as_cell() else { continue };
            cell.pour(end, &mut self.packets);
            let done: Vec<_> = cell
                .feeds()
                .map(|feed| (feed.packet.flow, std::mem::take(&mut feed.came), std::mem::take(&mut feed.refused)))
                .collect();
            for (connection, came, refused) in done {
                self.book_feed(connection, came, refused);
            }
        }
    }
}
