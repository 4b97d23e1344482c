//! The flows of a test, as connections of the simulated world.

use std::collections::BTreeMap;

use wifair_sim::world::World;
use wifair_units::{Duration, Time};

/// A flow without datagrams for this long is forgotten, so that its number can be used again.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// Which connection of the world carries which flow.
#[derive(Debug, Default)]
pub(crate) struct FlowConnections {
    /// By path between two hosts, flow and access category: the connection, and when it was last used.
    connections: BTreeMap<(usize, u16, usize), (u32, Time)>,
    swept: Time,
}

impl FlowConnections {
    /// The connection for a datagram that is sent now, opened if need be.
    pub fn connection(&mut self, world: &mut World, path: usize, flow: u16, category: usize) -> u32 {
        let now = world.now();
        if now.saturating_since(self.swept) >= Duration::from_secs(1) {
            self.swept = now;
            self.connections.retain(|_, (connection, last)| {
                let stays = now.saturating_since(*last) < FORGET_AFTER;
                if !stays {
                    world.close(*connection);
                }
                stays
            });
        }
        let open = || (world.open(path, category), now);
        let (connection, last) = self.connections.entry((path, flow, category)).or_insert_with(open);
        *last = now;
        *connection
    }
}
