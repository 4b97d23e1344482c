//! Congestion controls, one file each.
//!
//! An algorithm is a state machine. Its inputs are ACKs, losses and sent segments; its output is a window and, if it
//! paces, a rate. It has no access to socket, clock or queue. Windows are in segments, as in the papers; the sender
//! alone converts them to bytes. The sender also handles inflation during fast recovery, limited transmit, proportional
//! rate reduction and the bound `max_cwnd`.
//!
//! To add an algorithm, write a file with `Params`, `new` and tests, and add its `mod` line and an entry to the list
//! `algorithms!` below.

use std::fmt;
use std::sync::Arc;

use wifair_config::choice;
use wifair_units::{Duration, Time};

pub mod hystart;
mod round;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod window;

pub mod ack_loss;
pub mod areno;
pub mod bbr;
pub mod bbr3;
mod bbr_model;
pub mod bic;
pub mod compound;
pub mod compound_plus;
pub mod ctcp_tube;
pub mod cubic;
mod cubic_whole;
pub mod dctcp;
pub mod fast;
pub mod fusion;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod ledbat;
pub mod linux;
pub mod prague;
pub mod python;
pub mod reno;
pub mod scalable;
pub mod shimonishi;
pub mod tahoe;
pub mod tsunami;
pub mod udt;
pub mod vegas;
pub mod vegas_adaptive;
pub mod vegas_fair;
pub mod veno;
pub mod westwood;
pub mod westwood_plus;
pub mod yeah;

pub use round::{Round, RttSamples, backlog};
pub use window::Window;

/// An ACK, and the sender's state after processing it.
///
/// The algorithm gets every ACK, duplicates included, in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time of arrival.
    pub now: Time,
    /// Segments by which the ACK may let the window grow: newly and cumulatively acknowledged, limited by the sender's
    /// byte counting (ns-2: one per ACK; RFC 3465: at most two in slow start). Zero for a duplicate.
    pub segments: f64,
    /// Payload newly and cumulatively acknowledged, in bytes.
    pub bytes: u64,
    /// RTT sample of this ACK, if it gave one.
    pub rtt: Option<Duration>,
    /// One-way delay from sender to receiver by timestamps (RFC 7323), up to a constant; `None` without them.
    pub one_way_delay: Option<Duration>,
    /// SRTT (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT so far; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// SND.UNA: the first offset not acknowledged.
    pub una: u64,
    /// End of the data sent so far; never decreases, not even after a timeout.
    pub nxt: u64,
    /// Segments in flight after this ACK.
    pub in_flight: f64,
    /// Bytes delivered so far, cumulatively or by SACK.
    pub delivered: u64,
    /// Segments newly considered lost.
    pub lost: f64,
    /// Delivery rate sample, if [`CongestionControl::wants_rate_samples`].
    pub rate: Option<RateSample>,
    /// Whether the window limited what was sent, rather than the application or the receiver. An unused window must not
    /// grow; stacks that still let it grow (ns-2) always pass `true`.
    pub window_limited: bool,
    /// Whether the ACK echoes a congestion mark (RFC 3168, section 6.1.3), or counts new ones (RFC 9768).
    pub ecn_echo: bool,
    /// Payload newly reported as marked, in bytes; with echoes, all that an ACK with ECE acknowledges.
    pub marked_bytes: u64,
    /// Whether the sender was in fast recovery when the ACK arrived; the window must not grow then.
    pub in_recovery: bool,
    /// Whether it is a duplicate ACK (RFC 5681, section 2).
    pub duplicate: bool,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Whether the sender paces.
    pub paced: bool,
}

impl Ack {
    /// Whether the window may grow: outside of recovery, if it limits what is sent.
    #[inline]
    pub const fn may_grow(&self) -> bool {
        !self.in_recovery && self.window_limited
    }
}

/// Delivery rate sample (Y. Cheng et al., draft-cheng-iccrg-delivery-rate-estimation-02, section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Delivery rate, in bytes per second.
    pub rate: f64,
    /// Bytes that had been delivered when the acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Whether the sample is application-limited: data was lacking when the segment was sent.
    pub app_limited: bool,
}

/// Initial state of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Initial window in segments, at least one.
    pub window: f64,
    /// Initial slow-start threshold in segments; infinite if not set.
    pub ssthresh: f64,
    /// Payload of a full segment, in bytes.
    pub mss: f64,
    /// Seed of the connection, for algorithms with random choices (BBR's first phase).
    pub seed: u64,
}

impl Start {
    /// An initial window of `window` segments of 1000 bytes, an infinite threshold.
    pub const fn with_window(window: f64) -> Self {
        Self { window, ssthresh: f64::INFINITY, mss: 1000.0, seed: 0 }
    }
}

/// A congestion control.
///
/// The window is finite and at least one segment, whatever the order of calls. In `on_loss`, `on_rto` and `on_ecn`,
/// `in_flight` is RFC 5681's FlightSize in segments, before lost segments are subtracted. With `reduce_from =
/// "window"`, as in ns-2 and Linux, it is the window instead; with `"pipe"`, as in ns-3, it is what may still be in the
/// network.
pub trait CongestionControl: fmt::Debug + Send {
    /// An ACK arrived, possibly a duplicate or in recovery. If it reveals a loss, `on_loss` follows.
    fn on_ack(&mut self, ack: &Ack);

    /// Fast recovery (or Tahoe's fast retransmit) begins, and no mark has reduced this window of data.
    fn on_loss(&mut self, in_flight: f64);

    /// The retransmission timer expired. Not called for further timeouts of the same segment, because RFC 5681, section
    /// 3.1, keeps `ssthresh`, except in ns-2.
    fn on_rto(&mut self, in_flight: f64);

    /// The retransmission timer expired, and this window of data has reduced `ssthresh` already, by a mark or, with
    /// `reduce_once`, by a loss: `ssthresh` stays, the window falls to one segment. What
    /// [`CongestionControl::on_spurious`] restores stays, too.
    fn on_rto_again(&mut self) {
        self.on_idle_restart(1.0);
    }

    /// A data segment was sent, new or retransmitted, that ends at offset `end`. Called only if
    /// [`CongestionControl::wants_sends`].
    fn on_send(&mut self, now: Time, payload: u64, end: u64) {
        let _ = (now, payload, end);
    }

    /// Fast recovery ended with an ACK for all that was outstanding when it began; the window has to be at most
    /// `at_most` segments (RFC 6582, section 3.2, step 3), which may be infinite.
    fn on_recovery_exit(&mut self, at_most: f64) {
        let _ = at_most;
    }

    /// Nothing was sent for an RTO: the window falls to `at_most` segments (RFC 5681, section 4.1).
    fn on_idle_restart(&mut self, at_most: f64);

    /// The receiver echoed a congestion mark. Called at most once per window (RFC 3168, section 6.1.2).
    fn on_ecn(&mut self, in_flight: f64) {
        self.on_loss(in_flight);
    }

    /// Whether a congestion mark, as answered by [`CongestionControl::on_ecn`], counts as a loss: losses of data sent
    /// before it then reduce the window no further (RFC 3168, section 6.1.2). Not where each mark counts (RFC 8257,
    /// section 3.5) or none does.
    fn takes_marks_for_losses(&self) -> bool {
        !self.wants_mark_per_packet()
    }

    /// The last loss or timeout was spurious: undoes its effect (RFC 4015).
    fn on_spurious(&mut self) {}

    /// Congestion window in segments, at least one.
    fn cwnd(&self) -> f64;

    /// Slow-start threshold in segments; infinite before the first loss.
    fn ssthresh(&self) -> f64;

    /// The delay-based part of the window in segments, if there is one (Compound).
    fn delay_window(&self) -> f64 {
        0.0
    }

    /// The window during recovery with `tcp-linux`, in segments: the flight shrinks to it, and the end of recovery
    /// lifts the window to the threshold (Linux 2.6, `min_cwnd`).
    fn least_in_recovery(&self) -> f64 {
        self.cwnd()
    }

    /// With `tcp-linux` recovery or the repair of a timeout ended below the threshold: the window rises to it, but to
    /// no more than `at_most` segments.
    fn on_repaired(&mut self, at_most: f64) {
        self.on_recovery_exit(at_most);
    }

    /// Pacing rate in bytes per second; `None` sends as soon as the window allows.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether each ACK must carry an RTT sample, as in stacks that record all transmission times (Linux, ns-2's
    /// Vegas). Otherwise one timed segment at a time is enough (Karn's algorithm).
    fn wants_every_rtt(&self) -> bool {
        true
    }

    /// Whether [`Ack::rate`] is needed.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether [`CongestionControl::on_send`] is to be called. Asked once, at the start.
    fn wants_sends(&self) -> bool {
        false
    }

    /// Whether the receiver must echo each mark, as DCTCP requires (RFC 8257, section 3.2).
    fn wants_mark_per_packet(&self) -> bool {
        false
    }

    /// Whether the sender checks a finer retransmission timer at duplicate ACKs and at the first two ACKs after a
    /// retransmission (L. Brakmo and L. Peterson, 1995).
    fn wants_fine_timer(&self) -> bool {
        false
    }

    /// Whether `cwnd` also applies in recovery, without inflation or rate reduction (BBR).
    fn rules_recovery(&self) -> bool {
        false
    }
}

/// Factory of congestion controls defined outside this crate; called at the start of each connection.
#[derive(Clone)]
pub struct CustomControl {
    make: Arc<dyn Fn(Start) -> Box<dyn CongestionControl> + Send + Sync>,
    /// [`CongestionControl::wants_mark_per_packet`] of every control that it makes, which the receiver must know in
    /// advance.
    pub wants_mark_per_packet: bool,
}

impl CustomControl {
    /// A factory that calls `make`.
    pub fn new(
        wants_mark_per_packet: bool,
        make: impl Fn(Start) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), wants_mark_per_packet }
    }

    /// Creates the state of a connection.
    pub fn start(&self, start: Start) -> Algorithm {
        Algorithm::Custom((self.make)(start))
    }
}

impl fmt::Debug for CustomControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomControl").finish_non_exhaustive()
    }
}

/// Two custom controls are equal if they have the same factory.
impl PartialEq for CustomControl {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

/// Default recovery of a sender without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultRecovery {
    /// Fast retransmit, then slow start from the lost segment (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery until the first new ACK (4.3BSD-Reno; RFC 2581).
    Reno,
    /// Fast recovery until everything in flight at the loss is acknowledged (RFC 6582).
    NewReno,
}

/// The algorithms: the choice in scenarios, and the states. `wifair list` shows the name, the first line of the
/// description, the source, and `outline` where only a one-line description was known.
macro_rules! algorithms {
    ($(
        $(#[doc = $doc:literal])*
        $variant:ident($state:ty $(, $params:ty)?) = $name:literal
        from $source:literal $(($outline:ident))? in $module:ident, $recovery:ident;
    )*) => {
        choice! {
            /// Congestion control.
            pub enum AlgorithmChoice {
                $($(#[doc = $doc])* $variant $(($params))? = $name from $source $(($outline))?,)*
            }
        }

        impl AlgorithmChoice {
            /// Default recovery of a sender without SACK.
            pub const fn recovery(&self) -> DefaultRecovery {
                match self {
                    $(Self::$variant { .. } => DefaultRecovery::$recovery,)*
                }
            }
        }

        /// State of an algorithm. An enum instead of a box, so that the hot loop has a single indirect jump.
        #[derive(Debug)]
        pub enum Algorithm {
            $($(#[doc = $doc])* $variant($state),)*
            /// Defined outside this crate.
            Custom(Box<dyn CongestionControl>),
        }

        impl Algorithm {
            /// Creates the algorithm of `choice` for a new connection.
            pub fn new(choice: &AlgorithmChoice, start: Start) -> Self {
                match choice {
                    $(chosen!(params, $variant $(, $params)?) =>
                        Self::$variant(begun!(params, start, $module $(, $params)?)),)*
                }
            }
        }

        macro_rules! dispatch {
            ($self:ident, $inner:ident => $call:expr) => {
                match $self {
                    $(Self::$variant($inner) => $call,)*
                    Self::Custom($inner) => $call,
                }
            };
        }
    };
}

impl AlgorithmChoice {
    /// Whether it responds to marks as RFC 9331, section 4.3, asks, and so sends ECT(1).
    pub const fn is_l4s(&self) -> bool {
        match self {
            Self::Prague(_) => true,
            Self::Bbr3(params) => params.ecn,
            _ => false,
        }
    }

    /// Linux's variant of the algorithm, except for keys the user has `written`, such as `bbr.variant`.
    pub(crate) fn of_linux(mut self, written: impl Fn(&str) -> bool) -> Self {
        fn set<T>(value: &mut T, linux: T, is_written: bool) {
            if !is_written {
                *value = linux;
            }
        }
        match &mut self {
            Self::Cubic(params) => {
                set(&mut params.hystart, hystart::HyStartVariant::Classic, written("cubic.hystart"));
                set(&mut params.whole_segments, true, written("cubic.whole_segments"));
            }
            Self::Bbr(params) => set(&mut params.variant, bbr::BbrVariant::Linux, written("bbr.variant")),
            Self::Vegas(params) => {
                set(&mut params.variant, vegas::VegasVariant::Linux, written("vegas.variant"));
                set(&mut params.alpha, 2.0, written("vegas.alpha"));
                set(&mut params.beta, 4.0, written("vegas.beta"));
            }
            Self::VegasFair(params) => {
                set(&mut params.variant, vegas::VegasVariant::Linux, written("vegas-fair.variant"))
            }
            Self::WestwoodPlus(params) => {
                set(&mut params.filter, westwood_plus::EstimateFilter::Linux, written("westwood-plus.filter"));
            }
            _ => {}
        }
        self
    }
}

/// Pattern of a choice, binding its parameters if it has any.
macro_rules! chosen {
    ($params:ident, $variant:ident) => {
        AlgorithmChoice::$variant
    };
    ($params:ident, $variant:ident, $kind:ty) => {
        AlgorithmChoice::$variant($params)
    };
}

/// Initial state of an algorithm.
macro_rules! begun {
    ($params:ident, $start:ident, $module:ident) => {
        $module::new($start)
    };
    ($params:ident, $start:ident, $module:ident, $kind:ty) => {
        $module::new($params, $start)
    };
}

algorithms! {
    /// Reno's window; fast recovery ends when all that was in flight is acknowledged.
    NewReno(reno::Reno, reno::Params) = "newreno"
        from "T. Henderson, S. Floyd, A. Gurtov and Y. Nishida, RFC 6582, 2012" in reno, NewReno;
    /// A segment more each round trip, half the window on loss; fast recovery ends at the first new ACK.
    Reno(reno::Reno, reno::Params) = "reno"
        from "M. Allman, V. Paxson and E. Blanton, RFC 5681, 2009" in reno, Reno;
    /// A segment more each round trip, slow start from one segment after any loss.
    Tahoe(tahoe::Tahoe) = "tahoe"
        from "V. Jacobson, Congestion Avoidance and Control, 1988" in tahoe, Tahoe;
    /// Keeps between alpha and beta segments in the queue, by the round-trip time.
    Vegas(vegas::Vegas, vegas::Params) = "vegas"
        from "L. Brakmo and L. Peterson, TCP Vegas, 1995" in vegas, Reno;
    /// Vegas with a higher alpha and beta for the first bytes after a pause.
    VegasFair(vegas_fair::VegasFair, vegas_fair::Params) = "vegas-fair"
        from "Y.-J. Jung and C. Y. Park, Instantaneous Fairness of TCP, 2016, Fig. 5" in vegas_fair, Reno;
    /// After a loss the window falls to measured bandwidth times smallest round-trip time.
    Westwood(westwood::Westwood, westwood::Params) = "westwood"
        from "S. Mascolo et al., TCP Westwood, 2001" in westwood, Reno;
    /// Westwood with one bandwidth sample each round trip.
    WestwoodPlus(westwood_plus::WestwoodPlus, westwood_plus::Params) = "westwood-plus"
        from "L. A. Grieco and S. Mascolo, Westwood+, 2004" in westwood_plus, NewReno;
    /// Westwood's window with NewReno's recovery.
    WestwoodNr(westwood::Westwood, westwood::Params) = "westwood-nr"
        from "S. Mascolo et al., TCP Westwood, 2001, with RFC 6582" in westwood, NewReno;
    /// Reno in whole segments, as in Linux 2.6 and ns-2's Agent/TCP/Linux.
    Linux(linux::Linux) = "linux"
        from "D. X. Wei and P. Cao, NS-2 TCP-Linux, 2006" in linux, NewReno;
    /// A window of Reno plus one that grows while no queue is seen.
    Compound(compound::Compound, compound::Params) = "compound"
        from "K. Tan et al., A Compound TCP Approach, 2006; H. Oda et al., 2012, equations 1 to 6" in compound, NewReno;
    /// Compound whose loss window stops or shrinks while its delay window is zero.
    CompoundPlus(compound_plus::CompoundPlus, compound_plus::Params) = "compound-plus"
        from "H. Oda, H. Hisamatsu and H. Noborio, Compound TCP+, 2012, equations 7 to 9" in compound_plus, NewReno;
    /// Compound that tunes gamma by the queue at its losses.
    CtcpTube(ctcp_tube::CtcpTube, ctcp_tube::Params) = "ctcp-tube"
        from "K. Tan et al., CTCP-TUBE, 2008" in ctcp_tube, NewReno;
    /// Growth and decrease depend on the window, from Reno at 38 segments up.
    HighSpeed(highspeed::HighSpeed, highspeed::Params) = "highspeed"
        from "S. Floyd, RFC 3649, 2003" in highspeed, NewReno;
    /// Binary search for the window of the last loss, then probing beyond it.
    Bic(bic::Bic, bic::Params) = "bic"
        from "L. Xu, K. Harfoush and I. Rhee, BIC, 2004; constants of Linux" in bic, NewReno;
    /// A cubic function of the time since the last loss.
    Cubic(cubic::Cubic, cubic::Params) = "cubic"
        from "L. Xu et al., RFC 9438, 2023; HyStart++: RFC 9406, 2023" in cubic, NewReno;
    /// Drives the window to where alpha segments wait in the queue.
    Fast(fast::Fast, fast::Params) = "fast"
        from "D. X. Wei et al., FAST TCP, 2006" in fast, NewReno;
    /// Scalable while the queue is short, Reno while it is long.
    Yeah(yeah::Yeah, yeah::Params) = "yeah"
        from "A. Baiocchi, A. P. Castellani and F. Vacirca, YeAH-TCP, 2007" in yeah, NewReno;
    /// Grows by the measured bandwidth while the queue is short, never slower than Reno.
    Fusion(fusion::Fusion, fusion::Params) = "fusion"
        from "K. Kaneko et al., TCP-Fusion, 2007" in fusion, NewReno;
    /// Reno's window plus one that probes, faster the less congested the path looks.
    Areno(areno::Areno, areno::Params) = "areno"
        from "H. Shimonishi, T. Hama and T. Murase, TCP-Adaptive Reno, 2006" in areno, NewReno;
    /// A hundredth of a segment more for each acknowledged one, an eighth less on loss.
    Scalable(scalable::Scalable, scalable::Params) = "scalable"
        from "T. Kelly, Scalable TCP, 2003" in scalable, NewReno;
    /// A long round-trip time does not slow the window down.
    Hybla(hybla::Hybla, hybla::Params) = "hybla"
        from "C. Caini and R. Firrincieli, TCP Hybla, 2004" in hybla, NewReno;
    /// The longer ago the last loss is, the faster the window grows.
    Htcp(htcp::Htcp, htcp::Params) = "htcp"
        from "D. Leith and R. Shorten, H-TCP, 2004; draft-leith-tcp-htcp-06" in htcp, NewReno;
    /// Loss decides when the window shrinks, delay by how much and how fast it grows.
    Illinois(illinois::Illinois, illinois::Params) = "illinois"
        from "S. Liu, T. Basar and R. Srikant, TCP-Illinois, 2008" in illinois, NewReno;
    /// Reno that treats a loss without a queue as a bit error.
    Veno(veno::Veno, veno::Params) = "veno"
        from "C. P. Fu and S. C. Liew, TCP Veno, 2003" in veno, NewReno;
    /// The window shrinks in proportion to the part of the segments that were marked.
    Dctcp(dctcp::Dctcp, dctcp::Params) = "dctcp"
        from "S. Bensley et al., RFC 8257, 2017" in dctcp, NewReno;
    /// DCTCP for the Internet (L4S): paced, with an increase that does not favour short round-trip times.
    Prague(prague::Prague, prague::Params) = "prague"
        from "K. De Schepper et al., draft-briscoe-iccrg-prague-congestion-control-04" in prague, NewReno;
    /// Fills what others leave, and keeps its queueing delay at a target.
    Ledbat(ledbat::Ledbat, ledbat::Params) = "ledbat"
        from "S. Shalunov et al., RFC 6817, 2012" in ledbat, NewReno;
    /// Paces at the bottleneck's rate with about one bandwidth-delay product in flight (version 1).
    Bbr(bbr::Bbr, bbr::Params) = "bbr"
        from "N. Cardwell et al., draft-cardwell-iccrg-bbr-congestion-control-00, 2017" in bbr, NewReno;
    /// BBR whose model also bounds what is in flight by where losses began (version 3).
    Bbr3(bbr3::Bbr3, bbr3::Params) = "bbr3"
        from "N. Cardwell et al., draft-ietf-ccwg-bbr-04, 2025" in bbr3, NewReno;
    /// UDT's rate control: steps by the unused capacity each 10 ms, a ninth less on loss.
    Udt(udt::Udt, udt::Params) = "udt"
        from "Y. Gu and R. L. Grossman, UDT, 2007; draft-gg-udt-03" in udt, NewReno;
    /// Tsunami's rate control: a target rate, slower while many segments are lost.
    Tsunami(tsunami::Tsunami, tsunami::Params) = "tsunami"
        from "M. R. Meiss, Tsunami, 2004, and the tsunami-udp program" in tsunami, NewReno;
    /// Vegas with alpha and beta that adapt, so that the queue stays at a chosen level.
    VegasAdaptive(vegas_adaptive::VegasAdaptive, vegas_adaptive::Params) = "vegas-adaptive"
        from "E. Abolfazli and V. Shah-Mansouri, 2016" (outline) in vegas_adaptive, Reno;
    /// For data centres: probes the bandwidth in two stages, then acts on a predicted round-trip time.
    Shimonishi(shimonishi::Shimonishi, shimonishi::Params) = "shimonishi"
        from "H. Shimonishi et al., 2008" (outline) in shimonishi, NewReno;
    /// NewReno that treats lost ACKs as congestion.
    AckLoss(ack_loss::AckLoss, ack_loss::Params) = "ack-loss"
        from "M. Hashimoto, G. Hasegawa and M. Murata, 2011" (outline) in ack_loss, NewReno;
    /// A class of your own in Python; `cc = "module:Class"` names it.
    Python(reno::Reno, python::Params) = "python"
        from "you; see Extending" in python, NewReno;
}

impl Algorithm {
    /// Calls [`CongestionControl::on_ack`] and returns the new window, with one jump for both. For NewReno and CUBIC,
    /// the common cases, the conversion is inlined, so that fields they do not read are not computed.
    #[inline(always)]
    pub(crate) fn process_ack<T>(&mut self, ack: T) -> f64
    where
        Ack: From<T>,
    {
        match self {
            Self::NewReno(reno) => {
                reno.on_ack(&Ack::from(ack));
                reno.cwnd()
            }
            Self::Cubic(cubic) if cubic.avoids_congestion() => {
                cubic.on_ack_in_avoidance(&Ack::from(ack));
                cubic.cwnd()
            }
            _ => self.process_any_ack(&Ack::from(ack)),
        }
    }

    #[inline(never)]
    fn process_any_ack(&mut self, ack: &Ack) -> f64 {
        dispatch!(self, cc => cc.process_ack(ack))
    }
}

/// `on_ack` and `cwnd` in one function per algorithm, so that simple algorithms do not save the registers that complex
/// ones need.
trait ProcessAck: CongestionControl {
    #[inline(never)]
    fn process_ack(&mut self, ack: &Ack) -> f64 {
        self.on_ack(ack);
        self.cwnd()
    }
}

impl<T: CongestionControl + ?Sized> ProcessAck for T {}

/// Methods of [`CongestionControl`] that the algorithm in use carries out.
macro_rules! dispatched {
    (
        changing { $($(#[$hint:meta])* $change:ident($($given:ident: $kind:ty),*);)* }
        reading { $($(#[$read_hint:meta])* $read:ident -> $value:ty;)* }
    ) => {
        $($(#[$hint])*
        fn $change(&mut self $(, $given: $kind)*) {
            dispatch!(self, cc => cc.$change($($given),*));
        })*

        $($(#[$read_hint])*
        fn $read(&self) -> $value {
            dispatch!(self, cc => cc.$read())
        })*
    };
}

impl CongestionControl for Algorithm {
    dispatched! {
        changing {
            #[inline] on_ack(ack: &Ack);
            on_loss(in_flight: f64);
            on_rto(in_flight: f64);
            on_rto_again();
            on_send(now: Time, payload: u64, end: u64);
            on_recovery_exit(at_most: f64);
            on_repaired(at_most: f64);
            on_idle_restart(at_most: f64);
            on_ecn(in_flight: f64);
            on_spurious();
        }
        reading {
            #[inline] cwnd -> f64;
            #[inline] ssthresh -> f64;
            #[inline] pacing_rate -> Option<f64>;
            takes_marks_for_losses -> bool;
            delay_window -> f64;
            least_in_recovery -> f64;
            wants_every_rtt -> bool;
            wants_rate_samples -> bool;
            wants_sends -> bool;
            wants_mark_per_packet -> bool;
            wants_fine_timer -> bool;
            rules_recovery -> bool;
        }
    }
}
