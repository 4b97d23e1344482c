//! Proportional rate reduction (PRR): how much may be sent for each ACK in recovery.
//!
//! Source: M. Mathis, N. Cardwell, Y. Cheng and N. Dukkipati, RFC 9937, 2025, section 6.2. While more is in flight than
//! `ssthresh`, each delivered byte allows `ssthresh / RecoverFS` bytes. Otherwise each delivered byte allows one byte,
//! plus one segment for each ACK that advances without reporting a further loss.

/// State of PRR in one recovery. All sizes are in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// RecoverFS: in flight when recovery began, less what had arrived before.
    flight: u64,
    /// Window after the loss (`ssthresh`).
    target: u64,
    delivered: u64,
    out: u64,
    /// What may be sent now.
    allowed: u64,
}

impl Prr {
    /// Starts recovery with `flight` bytes between SND.UNA and SND.NXT that had not arrived before the ACK that started
    /// it.
    pub fn new(flight: u64, target: u64) -> Self {
        Self { flight: flight.max(1), target, ..Self::default() }
    }

    /// Processes an ACK that delivered `delivered` bytes and left `in_flight`; it is `safe` if it advances and reports
    /// no loss.
    pub fn on_ack(&mut self, delivered: u64, in_flight: u64, safe: bool, mss: u64) {
        if delivered == 0 && self.out > 0 {
            return; // section 6.2: an ACK that delivers nothing changes nothing
        }
        self.delivered += delivered;
        self.allowed = if in_flight > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            let share = u64::try_from(share.div_ceil(u128::from(self.flight))).unwrap_or(u64::MAX);
            share.saturating_sub(self.out)
        } else {
            let banked = self.delivered.saturating_sub(self.out).max(delivered);
            (banked + if safe { mss } else { 0 }).min(self.target - in_flight)
        };
        if self.out == 0 {
            // The first lost segment is retransmitted at once.
            self.allowed = self.allowed.max(mss);
        }
    }

    /// What may be sent now, in bytes.
    pub const fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Accounts for `bytes` sent.
    pub fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowed = self.allowed.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 segments in flight, segment 0 lost, two more sent by limited transmit, a window of 10 after the loss: one
    /// segment leaves for every two delivered, starting with the ACK of segment 3, until 10 are in flight.
    #[test]
    fn above_the_target_a_share_of_the_delivered_data_is_sent() {
        let mut prr = Prr::new(20, 10);
        let (mut in_flight, mut sent) = (18, Vec::new());
        for ack in 3..20 {
            in_flight -= u64::from(ack > 3);
            prr.on_ack(1, in_flight, false, 1);
            if prr.allowed() > 0 {
                in_flight += prr.allowed();
                prr.on_send(prr.allowed());
                sent.push(ack);
            }
        }
        assert_eq!((sent, in_flight), (vec![3, 5, 7, 9, 11, 13, 15, 17], 10));
    }

    /// RFC 6937, section 3.1, second example: the first 15 of 20 segments are lost. Segments sent at the ACKs of 17, 18
    /// and 19, and segments then in flight: 1, 1, 1 at 4, 4, 4 with the conservative bound; 2, 2, 2 at 4, 5, 6 with the
    /// slow-start bound.
    #[test]
    fn below_the_target_the_bounds_are_those_of_the_example() {
        for (safe, expected) in [(false, [(4, 1), (4, 1), (4, 1)]), (true, [(4, 2), (5, 2), (6, 2)])] {
            let mut prr = Prr::new(20, 10);
            let mut in_flight = 4;
            let got = [17, 18, 19].map(|ack| {
                in_flight -= u64::from(ack > 17);
                prr.on_ack(1, in_flight, safe, 1);
                let (before, sent) = (in_flight, prr.allowed());
                prr.on_send(sent);
                in_flight += sent;
                (before, sent)
            });
            assert_eq!(got, expected);
        }
    }
}
