//! What reduces the window: losses, timeouts and congestion marks, once for each window of data.
//!
//! Sources: RFC 5681, sections 3.1 and 3.2, and RFC 3168, section 6.1.2: one reduction in response to dropped and
//! marked packets of one window of data. A loss of data sent before a mark reduces nothing, and a timeout leaves
//! `ssthresh`, as in ns-2 and Linux; what was sent after the mark is another window. The loss of a retransmission is a
//! new instance of congestion, except with `reduce_once`. A reduction for a mark is not undone, nor is one for a loss
//! if a mark is echoed before the loss proves spurious (Linux).

use super::{RecoveryPhase, Sender};
use crate::cc::{Algorithm, CongestionControl};
use crate::config::{Recovery, ReduceFrom};

impl Sender {
    /// The value from which `ssthresh` is computed, in segments. ns-2 rounds `ssthresh` down if `slow_start` follows.
    pub(super) fn reduction_base(&self, in_flight: u64, slow_start: bool) -> f64 {
        match self.options.reduce_from {
            ReduceFrom::Window => {
                let window = self.cwnd().min(self.segments(self.rwnd));
                if slow_start && self.options.ns2_recovery { 2.0 * (window / 2.0).floor() } else { window }
            }
            ReduceFrom::Pipe if !slow_start => self.segments(in_flight),
            ReduceFrom::Pipe | ReduceFrom::Flight => {
                // RFC 5681, section 3.2, step 2: data sent by limited transmit does not count.
                let flight = self.segments((self.nxt - self.una).saturating_sub(u64::from(self.limited_sent)));
                // In recovery, and with selective ACKs before it, ACKs that report data as arrived let new data be
                // sent, so that more than the window is unacknowledged. Equation 4 is an upper bound, and a timeout
                // does not undo the reduction of that recovery.
                let selective = matches!(self.options.recovery, Recovery::Sack | Recovery::Rack);
                let sends_on_arrivals = selective || self.phase == RecoveryPhase::Recovery;
                if sends_on_arrivals { self.cwnd().min(flight) } else { flight }
            }
        }
    }

    /// Responds to the loss of the data from `lost` on, seen in ACKs; returns whether the window is reduced.
    pub(super) fn reduce_for_loss(&mut self, lost: u64, base: f64) -> bool {
        let again = self.marked && lost < self.reduced && self.cc.takes_marks_for_losses();
        if !again {
            self.update_cc(|cc| cc.on_loss(base));
            self.note_reduction();
        } else if self.options.recovery == Recovery::Tahoe {
            self.update_cc(Algorithm::on_rto_again); // slow start follows
        }
        self.undoes = !again;
        !again
    }

    /// Responds to a timeout.
    pub(super) fn reduce_for_timeout(&mut self) {
        let once = self.options.reduce_once;
        let marked = self.marked && self.una < self.reduced && (once || self.cc.takes_marks_for_losses());
        match self.phase {
            RecoveryPhase::Open if marked => {
                self.update_cc(Algorithm::on_rto_again);
                self.undoes = false;
            }
            RecoveryPhase::Recovery if once => self.update_cc(Algorithm::on_rto_again),
            _ => {
                let base = self.reduction_base(self.in_flight(), true);
                self.update_cc(|cc| cc.on_rto(base));
                self.undoes = true;
            }
        }
        self.note_reduction();
    }

    /// Responds to an ECN echo; returns whether the window is reduced.
    #[inline(never)]
    pub(super) fn on_echo(&mut self, in_flight: u64) -> bool {
        if !self.options.ecn {
            return false;
        }
        self.undoes = false;
        let cuts = self.una > self.reduced && self.phase == RecoveryPhase::Open;
        if cuts {
            let base = self.reduction_base(in_flight, false);
            self.update_cc(|cc| cc.on_ecn(base));
            self.note_reduction();
            self.marked = true;
        }
        cuts
    }

    /// Notes that the window of data which is outstanding has been reduced. The next new segment says so, whatever the
    /// reason.
    fn note_reduction(&mut self) {
        self.reduced = self.max;
        self.marked = false;
        self.reducing = false;
        self.ecn.cwr = self.options.ecn;
    }

    /// Undoes the last reduction if that is possible (RFC 4015).
    pub(super) fn undo_reduction(&mut self) {
        if self.undoes {
            self.update_cc(Algorithm::on_spurious);
            self.reduced = 0;
        }
    }
}
