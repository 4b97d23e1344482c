//! Congestion controls, one file each.
//!
//! An algorithm is a state machine that sees ACKs, losses and sent segments, and answers with a window and,
//! where it paces, a rate. It sees no socket, clock or queue. Windows are in segments, as in the papers; the
//! sender alone turns them into bytes. Inflation of the window during fast recovery, limited transmit,
//! proportional rate reduction and the bound `max_cwnd` belong to the sender as well.
//!
//! To add one: a file with `Params`, `ABOUT`, `new` and tests, its `mod` line, and one line in the table at
//! the foot of this file.

use std::fmt;

use wifair_units::{Duration, Time};

mod round;
mod shim;
#[cfg(test)]
mod testing;
mod window;

pub mod highspeed;
pub mod linux;
pub mod newreno;
pub mod reno;
pub mod scalable;
pub mod tahoe;
pub mod vegas;
pub mod vegas_fair;
pub mod westwood;
pub mod westwood_nr;
pub mod westwood_plus;

pub use round::{Delays, Round, backlog};
pub use window::Window;

/// What an ACK says, and what the sender knows when it has processed it.
///
/// There is one for every ACK that comes in, duplicates included, in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came in.
    pub now: Time,
    /// Segments that count for the growth of the window: newly and cumulatively acknowledged ones, after the
    /// sender's rule for byte counting (ns-2: one an ACK; RFC 3465: at most two in slow start). Zero for a
    /// duplicate.
    pub segments: f64,
    /// Newly acknowledged payload, cumulatively, in bytes.
    pub bytes: u64,
    /// Round-trip time that this ACK measured, where it measured one.
    pub rtt: Option<Duration>,
    /// One-way delay from sender to receiver by timestamps (RFC 7323), up to a constant; `None` without them.
    pub one_way_delay: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), zero before the first sample.
    pub srtt: Duration,
    /// Smallest round-trip time so far, [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// First offset not yet acknowledged.
    pub una: u64,
    /// The offset behind the highest byte sent so far; it never goes back, not even after a timeout.
    pub nxt: u64,
    /// Segments in flight after this ACK.
    pub in_flight: f64,
    /// Bytes delivered so far, cumulatively or by SACK.
    pub delivered: u64,
    /// Segments newly marked as lost.
    pub lost: f64,
    /// Delivery rate sample, where the algorithm asked for them ([`CongestionControl::wants_rate_samples`]).
    pub rate: Option<RateSample>,
    /// The window, not the application or the receiver, limited what was sent. A window that is not used does
    /// not grow; stacks that let it grow all the same (ns-2) always say `true`.
    pub window_limited: bool,
    /// The ACK echoes a congestion mark (RFC 3168, section 6.1.3).
    pub ecn_echo: bool,
    /// The sender was in fast recovery when the ACK came in: the window does not grow.
    pub in_recovery: bool,
    /// It repeats an acknowledgement (RFC 5681, section 2).
    pub duplicate: bool,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
}

/// A sample of the delivery rate (N. Cardwell et al., draft-cheng-iccrg-delivery-rate-estimation-02, section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Delivery rate, in bytes per second.
    pub rate: f64,
    /// Bytes that had been delivered when the acknowledged segment was sent.
    pub prior_delivered: u64,
    /// The application did not fill the window when the segment was sent.
    pub app_limited: bool,
}

/// What a connection starts from.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Initial window, in segments, at least one.
    pub window: f64,
    /// Initial slow-start threshold, in segments; infinite where nothing is known.
    pub ssthresh: f64,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Seed of the connection, for the few algorithms that draw (BBR's first phase).
    pub seed: u64,
}

impl Start {
    /// An initial window of `window` segments of 1000 bytes, an infinite threshold.
    #[must_use]
    pub const fn with_window(window: f64) -> Self {
        Self { window, ssthresh: f64::INFINITY, mss: 1000.0, seed: 0 }
    }
}

/// A congestion control.
///
/// The window is finite and at least one segment, whatever the order of calls. In `on_loss`, `on_rto` and
/// `on_ecn`, `in_flight` is `FlightSize` of RFC 5681 in segments, before the lost segments are taken off it;
/// the `ns2` profile hands over the window instead, as ns-2 does.
pub trait CongestionControl: fmt::Debug + Send {
    /// An ACK came in: also a duplicate, also in recovery. Comes before the `on_loss` that it gives rise to.
    fn on_ack(&mut self, ack: &Ack);

    /// Fast recovery (or Tahoe's fast retransmit) begins.
    fn on_loss(&mut self, in_flight: f64);

    /// The retransmission timer expired. For further timeouts of the same segment the sender does not call
    /// again, because RFC 5681, section 3.1, keeps `ssthresh`; ns-2 does.
    fn on_rto(&mut self, in_flight: f64);

    /// A data segment was handed down; `end` is the offset behind its last byte, retransmissions included.
    fn on_send(&mut self, now: Time, payload: u64, end: u64) {
        let _ = (now, payload, end);
    }

    /// Fast recovery ends by an ACK for all that was sent before it; the window shall be `at_most` segments
    /// (RFC 6582, section 3.2, step 3), infinite where there is no such bound.
    fn on_recovery_exit(&mut self, at_most: f64) {
        let _ = at_most;
    }

    /// Nothing was sent for a timeout: the window falls to `at_most` segments (RFC 5681, section 4.1).
    fn on_idle_restart(&mut self, at_most: f64);

    /// The receiver echoes a congestion mark, at most once a window (RFC 3168, section 6.1.2).
    fn on_ecn(&mut self, in_flight: f64) {
        self.on_loss(in_flight);
    }

    /// The last loss or timeout turned out to be none (RFC 4015): take back what it did.
    fn on_spurious(&mut self) {}

    /// The window, in segments, at least one.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold, in segments; infinite before the first loss.
    fn ssthresh(&self) -> f64;

    /// The rate at which segments leave, in bytes per second; `None` sends them as soon as the window allows.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether [`Ack::rate`] is needed.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether the receiver shall echo each mark, as DCTCP needs (RFC 8257, section 3.2).
    fn wants_mark_per_packet(&self) -> bool {
        false
    }

    /// Whether the sender looks at a finer retransmission timer when a duplicate ACK comes in, and at the first two
    /// ACKs after a retransmission (L. Brakmo and L. Peterson, 1995, section III-A).
    fn wants_fine_timer(&self) -> bool {
        false
    }

    /// Whether `cwnd` is to be used as it is during recovery too, without inflation or rate reduction (BBR).
    fn rules_recovery(&self) -> bool {
        false
    }
}

/// How a sender without SACK recovers, unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from the lost segment (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery, left at the first new ACK (4.3BSD-Reno; RFC 2581).
    Reno,
    /// Fast recovery, left when all that was in flight is acknowledged (RFC 6582).
    NewReno,
}

/// An algorithm as it is listed to users.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What scenarios call it.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Author, title, year, and the equations or sections taken.
    pub source: &'static str,
    /// The source was known only by a one-line description, the rest is an interpretation.
    pub one_line_only: bool,
    /// How a sender without SACK recovers under it.
    pub recovery: Recovery,
}

macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($state:ty) = $module:ident;)*) => {
        /// Which algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Name {
            $($(#[$doc])* $variant,)*
        }

        /// Settings of all algorithms.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $($(#[$doc])* pub $module: $module::Params,)*
        }

        impl Name {
            /// All algorithms.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What it is and where it comes from.
            #[must_use]
            pub const fn about(self) -> &'static About {
                match self {
                    $(Self::$variant => &$module::ABOUT,)*
                }
            }
        }

        /// The state of an algorithm. An enum rather than a box, so that the hot loop jumps only once.
        #[derive(Debug)]
        pub enum Algorithm {
            $($(#[$doc])* $variant($state),)*
            /// Defined by the user.
            Custom(Box<dyn CongestionControl>),
        }

        impl Algorithm {
            /// The algorithm `name` at the start of a connection.
            #[must_use]
            pub fn new(name: Name, settings: &Settings, start: Start) -> Self {
                match name {
                    $(Name::$variant => Self::$variant($module::new(&settings.$module, start)),)*
                }
            }
        }

        macro_rules! dispatch {
            ($self:ident, $state_:ident => $call:expr) => {
                match $self {
                    $(Self::$variant($state_) => $call,)*
                    Self::Custom($state_) => $call,
                }
            };
        }
    };
}

algorithms! {
    /// 4.3BSD-Tahoe.
    Tahoe(tahoe::Tahoe) = tahoe;
    /// 4.3BSD-Reno.
    Reno(reno::Reno) = reno;
    /// NewReno (RFC 6582).
    NewReno(reno::Reno) = newreno;
    /// TCP Vegas.
    Vegas(vegas::Vegas) = vegas;
    /// TCP Vegas-Fair.
    VegasFair(vegas_fair::VegasFair) = vegas_fair;
    /// TCP Westwood.
    Westwood(westwood::Westwood) = westwood;
    /// TCP Westwood+.
    WestwoodPlus(westwood_plus::WestwoodPlus) = westwood_plus;
    /// TCP Westwood-NR.
    WestwoodNr(westwood::Westwood) = westwood_nr;
    /// Linux's Reno.
    Linux(linux::Linux) = linux;
    /// HighSpeed TCP (RFC 3649).
    HighSpeed(highspeed::HighSpeed) = highspeed;
    /// Scalable TCP.
    Scalable(scalable::Scalable) = scalable;
}

impl CongestionControl for Algorithm {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        dispatch!(self, cc => cc.on_ack(ack));
    }

    fn on_loss(&mut self, in_flight: f64) {
        dispatch!(self, cc => cc.on_loss(in_flight));
    }

    fn on_rto(&mut self, in_flight: f64) {
        dispatch!(self, cc => cc.on_rto(in_flight));
    }

    #[inline]
    fn on_send(&mut self, now: Time, payload: u64, end: u64) {
        dispatch!(self, cc => cc.on_send(now, payload, end));
    }

    fn on_recovery_exit(&mut self, at_most: f64) {
        dispatch!(self, cc => cc.on_recovery_exit(at_most));
    }

    fn on_idle_restart(&mut self, at_most: f64) {
        dispatch!(self, cc => cc.on_idle_restart(at_most));
    }

    fn on_ecn(&mut self, in_flight: f64) {
        dispatch!(self, cc => cc.on_ecn(in_flight));
    }

    fn on_spurious(&mut self) {
        dispatch!(self, cc => cc.on_spurious());
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        dispatch!(self, cc => cc.cwnd())
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        dispatch!(self, cc => cc.ssthresh())
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        dispatch!(self, cc => cc.pacing_rate())
    }

    fn wants_rate_samples(&self) -> bool {
        dispatch!(self, cc => cc.wants_rate_samples())
    }

    fn wants_mark_per_packet(&self) -> bool {
        dispatch!(self, cc => cc.wants_mark_per_packet())
    }

    fn wants_fine_timer(&self) -> bool {
        dispatch!(self, cc => cc.wants_fine_timer())
    }

    fn rules_recovery(&self) -> bool {
        dispatch!(self, cc => cc.rules_recovery())
    }
}
