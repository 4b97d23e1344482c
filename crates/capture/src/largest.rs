//! Memory limits of an analysis: only the largest connections are kept individually, the others are counted together;
//! and the more flows there are, the wider the time bins.

use crate::analysis::Analyzer;
use crate::tcp::connection::CapturedConnection;

/// The most time bins of all flows together.
pub const MOST_FLOW_BINS: usize = 1 << 20;

/// The key by which connections are compared in size.
fn size(connection: &CapturedConnection) -> (u64, u64) {
    let sum = |of: fn(&crate::tcp::side::Side) -> u64| connection.sides.iter().map(of).sum::<u64>();
    (sum(|side| side.unique_bytes), sum(|side| side.packets))
}

fn is_over(connection: &CapturedConnection) -> bool {
    connection.sides.iter().any(|side| side.resets > 0) || connection.sides.iter().all(|side| side.fins > 0)
}

impl Analyzer {
    /// Discards connections when twice as many are open as are kept individually. Half of those kept are the most
    /// recent ones that are still open and may grow; the rest are the largest.
    #[cold]
    pub(crate) fn make_room(&mut self) {
        let most = self.settings.most_connections.max(1);
        if self.connections.len() < most.saturating_mul(2) {
            return;
        }
        let mut growing: Vec<usize> =
            (0..self.connections.len()).filter(|at| !is_over(&self.connections[*at])).collect();
        growing.sort_by_key(|at| std::cmp::Reverse((self.connections[*at].last, *at)));
        growing.truncate(most / 2);
        self.keep(most, &growing);
    }

    /// Keeps `most` connections: those of `first`, then the largest.
    pub(crate) fn keep(&mut self, most: usize, first: &[usize]) {
        if self.connections.len() <= most {
            return;
        }
        let mut stays = vec![false; self.connections.len()];
        for at in first {
            stays[*at] = true;
        }
        let mut rest: Vec<usize> = (0..stays.len()).filter(|at| !stays[*at]).collect();
        rest.sort_by_key(|at| (std::cmp::Reverse(size(&self.connections[*at])), *at));
        for at in rest.iter().take(most.saturating_sub(first.len())) {
            stays[*at] = true;
        }
        let mut numbers = Vec::with_capacity(stays.len());
        let mut next = 0;
        for (connection, stays) in self.connections.iter().zip(&stays) {
            numbers.push(stays.then_some(next));
            if *stays {
                next += 1;
            } else {
                let (bytes, packets) = size(connection);
                self.others.connections += 1;
                self.others.bytes += bytes;
                self.others.packets += packets;
            }
        }
        let mut stays = stays.into_iter();
        self.connections.retain(|_| stays.next() == Some(true));
        if let Some(rows) = &mut self.rows {
            rows.renumber(&numbers);
        }
        self.recent = None;
        self.latest.clear();
        for (at, connection) in (0..).zip(&self.connections) {
            self.latest.insert(connection.key, at);
        }
    }

    /// Whether this number of bins is too large for the number of flows.
    pub(crate) fn bound_bins(&self, bins: usize) -> bool {
        let flows =
            self.connections.iter().flat_map(|connection| &connection.sides).filter(|side| side.unique_bytes > 0);
        flows.count().saturating_mul(bins) > MOST_FLOW_BINS && bins > 1
    }
}
