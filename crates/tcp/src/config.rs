//! What a connection does in each case where implementations differ, and the named profiles of such habits.
//!
//! Figures of the `ns2` profile were read off ns-2 2.35 (its own defaults, and traces of two nodes and a link).

use wifair_units::Duration;

use crate::cc;
use crate::rtt::RttConfig;

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// It is established from the start.
    None,
    /// A SYN and its ACK, without options and without the third segment (ns-2's one-way TCP).
    OneWay,
    /// SYN, SYN-ACK, ACK (RFC 9293, section 3.5).
    ThreeWay,
}

/// What happens to the window when nothing was sent for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Nothing.
    Never,
    /// It falls to the initial window when nothing was sent for a timeout (RFC 5681, section 4.1).
    Rfc5681,
    /// The retransmission timer runs on; at its end the window falls to one segment, `ssthresh` stays (ns-2).
    TimerRunsOn,
}

/// Whether the first two duplicate ACKs send a segment each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedTransmit {
    /// No.
    Off,
    /// One that was not sent before (RFC 3042).
    Rfc3042,
    /// The next one in any case, also when a timeout made the sender go back (ns-2).
    Ns2,
}

/// By how much an ACK lets the window grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// As for one segment, whatever it acknowledges (ns-2).
    PerAck,
    /// As for the bytes that it acknowledges, at most so many segments (RFC 5681, equation 2, has one; RFC 3465 two).
    Bytes {
        /// Segments at most.
        limit: f64,
    },
}

/// How lost segments are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from the lost segment on (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery until the first new ACK (RFC 2581).
    Reno,
    /// Fast recovery until all is acknowledged that was in flight (RFC 6582).
    NewReno,
    /// By a scoreboard of selective ACKs (RFC 6675).
    Sack,
    /// By the times of transmission, with tail loss probes (RFC 8985).
    Rack,
}

impl From<cc::Recovery> for Recovery {
    fn from(recovery: cc::Recovery) -> Self {
        match recovery {
            cc::Recovery::Tahoe => Self::Tahoe,
            cc::Recovery::Reno => Self::Reno,
            cc::Recovery::NewReno => Self::NewReno,
        }
    }
}

/// A sender, resolved: no setting depends on another one any more.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Which congestion control.
    pub cc: cc::Choice,
    /// All else.
    pub habits: Habits,
}

/// What a sender does where implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Payload of a full segment, in bytes.
    pub mss: u16,
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// TCP options add to the size of segments.
    pub count_options: bool,
    /// How the connection begins.
    pub handshake: Handshake,
    /// A FIN follows the last byte after [`crate::Sender::close`].
    pub fin: bool,
    /// Initial window, in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold, in segments; infinite where nothing is known.
    pub initial_ssthresh: f64,
    /// Bound of the window, inflation included, in segments; infinite where there is none.
    pub max_cwnd: f64,
    /// Receive window known from the start, in bytes. The header field then is not looked at (ns-2).
    pub fixed_window: Option<u64>,
    /// Shift of the receive window in the header field (RFC 7323, section 2).
    pub window_scale: u8,
    /// Timeout and measurement of the round-trip time.
    pub rtt: RttConfig,
    /// Timestamps in every segment (RFC 7323, section 3).
    pub timestamps: bool,
    /// How lost segments are found and repaired.
    pub recovery: Recovery,
    /// Duplicate ACKs that start fast retransmit.
    pub dup_threshold: u32,
    /// Whether the duplicate ACKs before that send a segment each.
    pub limited_transmit: LimitedTransmit,
    /// By how much an ACK lets the window grow.
    pub growth: Growth,
    /// The window grows only while it limits what is sent (RFC 7661, section 4.3, in its simplest form).
    pub validate_window: bool,
    /// On loss the window is reduced from `min(cwnd, receive window)` instead of `FlightSize`, the ACK that ends
    /// recovery lets the window grow, and further timeouts of a segment reduce it again (ns-2).
    pub reduce_window_not_flight: bool,
    /// On a partial ACK after the first one the retransmission timer runs on (RFC 6582, section 4, Impatient).
    pub impatient: bool,
    /// What happens when nothing was sent for a while.
    pub idle_restart: IdleRestart,
    /// Proportional rate reduction (RFC 9937) with [`Recovery::Sack`] and [`Recovery::Rack`].
    pub prr: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// Spreads segments over the round trip also where the congestion control does not ask for it.
    pub pacing: bool,
}

/// A receiver, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// TCP options add to the size of segments.
    pub count_options: bool,
    /// Receive buffer, in bytes.
    pub buffer: u64,
    /// Shift of the window in the header field (RFC 7323, section 2).
    pub window_scale: u8,
    /// Segments that one ACK may cover; 1 acknowledges each at once.
    pub ack_every: u32,
    /// The longest time by which an ACK is delayed.
    pub ack_delay: Duration,
    /// ACKs at the start of a connection that are not delayed (Linux).
    pub quick_acks: u32,
    /// Selective ACKs (RFC 2018), with duplicates reported (RFC 2883).
    pub sack: bool,
    /// Timestamps are echoed (RFC 7323, section 4).
    pub timestamps: bool,
    /// Congestion marks are echoed (RFC 3168).
    pub ecn: bool,
    /// Each mark is echoed as it came (RFC 8257, section 3.2), instead of until the sender confirms.
    pub echo_each_mark: bool,
}

/// Sets the habits that are not set one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// ns-2 2.35's one-way TCP.
    Ns2,
    /// What the RFCs on the standards track ask for.
    #[default]
    Rfc,
    /// What Linux does today.
    Modern,
}

impl Stack {
    /// Sender and receiver with this profile's habits for a congestion control, with segments of `mss` bytes.
    #[must_use]
    pub fn resolve(self, cc: cc::Choice, mss: u16) -> (SenderConfig, ReceiverConfig) {
        let ms = Duration::from_millis;
        let bytes = |packets: u64| packets * u64::from(mss);
        let recovery = cc.recovery().into();
        let rfc = Habits {
            mss,
            header: 40,
            count_options: true,
            handshake: Handshake::ThreeWay,
            fin: true,
            initial_window: bytes(rfc_5681_initial_window(mss)),
            initial_ssthresh: f64::INFINITY,
            max_cwnd: f64::INFINITY,
            fixed_window: None,
            window_scale: 0,
            rtt: RttConfig {
                initial_rto: ms(1000),
                min_rto: ms(1000),
                max_rto: ms(60_000),
                tick: Duration::ZERO,
                min_rto_on_variance: false,
                forget_after: u32::MAX,
            },
            timestamps: false,
            recovery,
            dup_threshold: 3,
            limited_transmit: LimitedTransmit::Rfc3042,
            growth: Growth::Bytes { limit: 1.0 },
            validate_window: false,
            reduce_window_not_flight: false,
            impatient: true,
            idle_restart: IdleRestart::Rfc5681,
            prr: false,
            ecn: false,
            pacing: false,
        };
        let rfc_receiver = ReceiverConfig {
            header: 40,
            count_options: true,
            buffer: 65_535,
            window_scale: 0,
            ack_every: 2,
            ack_delay: ms(200),
            quick_acks: 0,
            sack: false,
            timestamps: false,
            ecn: false,
            echo_each_mark: false,
        };
        let (habits, receiver) = match self {
            Self::Rfc => (rfc, rfc_receiver),
            Self::Ns2 => (
                Habits {
                    count_options: false,
                    handshake: Handshake::OneWay,
                    fin: false,
                    initial_window: bytes(2),
                    initial_ssthresh: 20.0,
                    fixed_window: Some(bytes(20)),
                    rtt: RttConfig {
                        initial_rto: ms(3000),
                        min_rto: ms(200),
                        tick: ms(10),
                        forget_after: 4,
                        ..rfc.rtt
                    },
                    limited_transmit: LimitedTransmit::Ns2,
                    growth: Growth::PerAck,
                    reduce_window_not_flight: true,
                    idle_restart: IdleRestart::TimerRunsOn,
                    ..rfc
                },
                ReceiverConfig {
                    count_options: false,
                    buffer: u64::MAX,
                    ack_every: 1,
                    ack_delay: ms(100),
                    ..rfc_receiver
                },
            ),
            Self::Modern => (
                Habits {
                    initial_window: bytes(10),
                    window_scale: 7,
                    rtt: RttConfig { min_rto: ms(200), max_rto: ms(120_000), min_rto_on_variance: true, ..rfc.rtt },
                    timestamps: true,
                    growth: Growth::Bytes { limit: f64::INFINITY },
                    validate_window: true,
                    prr: true,
                    ..rfc
                },
                ReceiverConfig {
                    buffer: 6_000_000,
                    window_scale: 7,
                    ack_delay: ms(40),
                    quick_acks: 16,
                    sack: true,
                    timestamps: true,
                    ..rfc_receiver
                },
            ),
        };
        (SenderConfig { cc, habits }, receiver)
    }
}

/// RFC 5681, section 3.1: two to four segments, in segments.
#[must_use]
pub const fn rfc_5681_initial_window(mss: u16) -> u64 {
    match mss {
        2191.. => 2,
        1096..=2190 => 3,
        _ => 4,
    }
}
