//! Proportional rate reduction: how much may leave for each ACK in recovery.
//!
//! Source: M. Mathis, N. Cardwell, Y. Cheng and N. Dukkipati, RFC 9937, 2025, section 6.2. While more is in flight than
//! the window after the loss, `ssthresh / RecoverFS` of what is delivered is sent; below that what is delivered, and a
//! segment more for each ACK that moves on without a further loss.

/// State of a recovery. All sizes are in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// What was in flight when recovery began, less what had arrived before.
    flight: u64,
    /// The window after the loss.
    target: u64,
    delivered: u64,
    out: u64,
    /// What may leave now.
    allowed: u64,
}

impl Prr {
    /// Recovery begins with `flight` bytes between `SND.UNA` and `SND.NXT` that had not arrived before the ACK that
    /// began it.
    pub fn new(flight: u64, target: u64) -> Self {
        Self { flight: flight.max(1), target, ..Self::default() }
    }

    /// An ACK delivered `delivered` bytes and left `in_flight`; it is `safe` when it moves on and tells of no loss.
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
            // The first lost segment is sent again at once.
            self.allowed = self.allowed.max(mss);
        }
    }

    /// What may leave now.
    pub const fn allowed(&self) -> u64 {
        self.allowed
    }

    /// `bytes` have left.
    pub fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowed = self.allowed.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 segments in flight, segment 0 lost, two more sent by limited transmit, the window after the loss 10: half as
    /// many leave as are delivered, from the ACK of segment 3 on, until 10 are in flight.
    #[test]
    fn above_the_target_a_share_of_what_is_delivered_leaves() {
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

    /// RFC 6937, section 3.1, second example: of 20 segments the first 15 are lost; what leaves at the ACKs of 17, 18
    /// and 19, and what is in flight then. Conservative bound: 1, 1, 1 at 4, 4, 4; slow-start bound: 2, 2, 2 at 4, 5,
    /// 6.
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
