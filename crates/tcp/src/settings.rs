//! TCP settings of a scenario, and the profiles (`stack`) that set their defaults.
//!
//! The values of `ns2` come from the defaults of ns-2.35 and from its traces of two nodes and a link. Those of `modern`
//! are Linux's (Documentation/networking/ip-sysctl and the sources of 6.x). `linux` adds the settings that mattered in
//! comparisons with emulated Linux hosts, including Linux's variants of congestion controls unless the user sets the
//! variant.

use wifair_config::{Limit, choice, table};
use wifair_units::{Bytes, Duration};

use crate::cc::{self, Algorithm, CongestionControl};
use crate::config::{
    AccurateEcn, Growth, Handshake, IdleRestart, LimitedTransmit, ReceiverConfig, Recovery, ReduceFrom, SenderConfig,
    StackOptions,
};
use crate::rtt::RttConfig;
use crate::sender::Sender;

choice! {
    /// Which implementation a connection imitates.
    pub enum Stack {
        /// The standards: recovery of Reno or NewReno, no TCP options, a minimum RTO of 1 s.
        Rfc = "rfc" from "RFC 5681, 6298, 6582, 9293",
        /// ns-2's one-way TCP: counts packets, clock of 10 ms, a timer that keeps running through pauses, no delayed
        /// ACKs.
        Ns2 = "ns2" from "ns-2.35, Agent/TCP and Agent/TCPSink",
        /// SACK, timestamps, RACK-TLP, PRR, an initial window of ten segments, a minimum RTO of 200 ms, and BBR as in
        /// Linux.
        Modern = "modern" from "Linux 6; RFC 6928, 8985, 9937",
        /// `modern` and more of Linux: packets of 1500 B with options, SACK compression, pacing in bursts of two
        /// segments, and Linux's variants of CUBIC, BBR, Vegas, Vegas-Fair and Westwood+.
        Linux = "linux" from "Linux 6.18, as emulated",
    }
}

impl Stack {
    const fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::Linux)
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// RFC 5681, section 3.1: an initial window of two to four segments of `mss` bytes.
const fn rfc_5681_initial_window(mss: Bytes) -> Limit {
    Limit::Packets(match mss.0 {
        2191.. => 2,
        1096..=2190 => 3,
        _ => 4,
    })
}

const fn is_window(limit: &Limit) -> bool {
    matches!(limit, Limit::Packets(1..=MOST_PACKETS) | Limit::Bytes(Bytes(1..=MOST_BYTES)))
}

/// Whether it is a slow-start threshold, which may be zero.
const fn is_threshold(limit: &Limit) -> bool {
    matches!(limit, Limit::Packets(0..=MOST_PACKETS) | Limit::Bytes(Bytes(0..=MOST_BYTES)))
}

/// Largest window, in packets; no path holds more: 100 Gb/s for two minutes.
const MOST_PACKETS: u64 = 1 << 30;

/// Largest window in bytes, 1 TiB.
const MOST_BYTES: u64 = 1 << 40;

table! {
    /// TCP of a flow. `stack` sets the defaults of all options in which implementations differ; each can be overridden.
    pub struct TcpSettings {
        /// Which implementation the connection imitates.
        pub stack: Stack = Stack::Rfc;
        /// Congestion control.
        pub cc: cc::AlgorithmChoice = match stack {
            Stack::Linux => cc::AlgorithmChoice::Cubic(cc::cubic::Params::default()).of_linux(|_| false),
            Stack::Modern => cc::AlgorithmChoice::Cubic(cc::cubic::Params::default()),
            _ => cc::AlgorithmChoice::NewReno(cc::reno::Params::default()),
        }, by stack;
        /// Payload of a full segment.
        pub mss: Bytes = match stack {
            Stack::Ns2 => Bytes(1000),
            Stack::Linux => Bytes(1448),
            _ => Bytes(1460),
        }, by stack,
            "between 1 B and 64000 B" => |mss| (1..=64_000).contains(&mss.0);
        /// IP and TCP header of a segment, without options.
        pub header: Bytes = Bytes(40), "at most 1000 B" => |header| header.0 <= 1000;
        /// IP and TCP header of an ACK, without options. ns-2's Vegas counts a header for ACKs only.
        pub ack_header: Bytes = header, by header, "at most 1000 B" => |header| header.0 <= 1000;
        /// Whether TCP options add to the size of segments.
        pub count_options: bool = stack != Stack::Ns2, by stack;
        /// How the connection is opened.
        pub handshake: Handshake = match stack { Stack::Ns2 => Handshake::OneWay, _ => Handshake::ThreeWay }, by stack;
        /// Whether a FIN follows the last byte.
        pub fin: bool = stack != Stack::Ns2, by stack;
        /// Receive window; also the size of the receive buffer.
        pub receive_window: Limit = match stack {
            Stack::Ns2 => Limit::Packets(20),
            Stack::Rfc => Limit::Bytes(Bytes(65_535)),
            Stack::Modern | Stack::Linux => Limit::Bytes(Bytes(6_000_000)),
        }, by stack, "from 1 B to 1 TiB, or 2^30 packets" => is_window;
        /// Initial congestion window: 2 to 4 segments with `rfc` (RFC 5681), 10 with `modern` and `linux` (RFC 6928).
        pub initial_window: Limit = match stack {
            Stack::Ns2 => Limit::Packets(2),
            Stack::Rfc => rfc_5681_initial_window(mss),
            Stack::Modern | Stack::Linux => Limit::Packets(10),
        }, by stack, by mss, "from 1 B to 1 TiB, or 2^30 packets" => is_window;
        /// Initial slow-start threshold. If not set, slow start lasts until a loss; with `ns2` it is the receive window
        /// at a wired sender and 20 packets at a station.
        pub initial_ssthresh: Option<Limit> = None,
            "at most 2^30 packets or 1 TiB" => |threshold| threshold.as_ref().is_none_or(is_threshold);
        /// Upper bound of the congestion window, in recovery too, with any congestion control.
        pub max_cwnd: Option<Limit> = None, "from 1 packet to 2^30 packets, or 1 TiB" => |max| max.as_ref().is_none_or(is_window);
        /// Whether ACKs are delayed.
        pub delayed_ack: bool = stack != Stack::Ns2, by stack;
        /// The longest delay of an ACK.
        pub ack_delay: Duration = match stack {
            Stack::Ns2 => ms(100),
            Stack::Rfc => ms(200),
            Stack::Modern | Stack::Linux => ms(40),
        }, by stack, "at most 500 ms (RFC 5681, section 4.2)" => |delay| *delay <= ms(500);
        /// Number of segments after which a delayed ACK is sent at once.
        pub ack_every: u32 = 2, "1 or more" => |n| *n >= 1;
        /// Number of ACKs at the start of a connection that are not delayed.
        pub quick_acks: u32 = if stack.is_modern() { 16 } else { 0 }, by stack;
        /// How long ACKs that report a gap are held back and merged, from the fourth on, at most 44 of them (SACK
        /// compression). Linux: 1 ms, or a twentieth of the RTT if that is less. 0 s sends each at once (RFC 5681,
        /// section 4.2).
        pub sack_compression: Duration = if stack == Stack::Linux { ms(1) } else { Duration::ZERO }, by stack,
            "at most 100 ms" => |delay| *delay <= ms(100);
        /// Generic receive offload (Linux): segments that arrive together, such as those of one PPDU, get one ACK.
        pub gro: bool = false;
        /// How long the receiver's network card waits for further segments (Linux: `gro_flush_timeout`); with 0 s it
        /// merges only segments that arrive at the same instant.
        pub gro_flush_timeout: Duration = Duration::ZERO, "at most 10 ms, and 0 s without `gro = true`" => |time| {
            *time <= if gro { ms(10) } else { Duration::ZERO }
        };
        /// Minimum RTO.
        pub min_rto: Duration = if stack == Stack::Rfc { ms(1000) } else { ms(200) }, by stack;
        /// RTO before the first RTT sample; 1 s in RFC 6298, rule 2.1. A value below the RTT causes spurious
        /// retransmissions.
        pub initial_rto: Duration = if stack == Stack::Ns2 { ms(3000) } else { ms(1000) }, by stack,
            "at least 1 ms" => |rto| *rto >= ms(1);
        /// Maximum RTO, backoff included.
        pub max_rto: Duration = if stack.is_modern() { ms(120_000) } else { ms(60_000) }, by stack,
            "at least min_rto and initial_rto" => |rto| *rto >= min_rto && *rto >= initial_rto;
        /// Tick of the clock that measures the RTT; 0 s is exact.
        pub tick: Duration = if stack == Stack::Ns2 { ms(10) } else { Duration::ZERO }, by stack,
            "at most 1 s" => |tick| *tick <= ms(1000);
        /// Whether the minimum RTO applies to the variance term alone, so that the RTO is at least SRTT + `min_rto`
        /// (Linux).
        pub min_rto_on_variance: bool = stack.is_modern(), by stack;
        /// Selective ACKs (RFC 2018).
        pub sack: bool = stack.is_modern(), by stack;
        /// Timestamps (RFC 7323).
        pub timestamps: bool = stack.is_modern(), by stack;
        /// How losses are repaired. If not set: with SACK, `rack` for `modern` and `linux` and `sack` for the others;
        /// without SACK, what the congestion control was published with.
        pub recovery: Option<Recovery> = None;
        /// Number of duplicate ACKs that triggers fast retransmit.
        pub dup_threshold: u32 = 3, "1 or more" => |n| *n >= 1;
        /// Whether the duplicate ACKs below `dup_threshold` send a segment each.
        pub limited_transmit: LimitedTransmit =
            match stack { Stack::Ns2 => LimitedTransmit::Ns2, _ => LimitedTransmit::Rfc3042 }, by stack;
        /// How far one ACK lets the window grow.
        pub growth: Growth = match stack {
            Stack::Ns2 => Growth::PerAck,
            Stack::Rfc => Growth::OneSegment,
            Stack::Modern | Stack::Linux => Growth::Bytes,
        }, by stack;
        /// Whether the window grows only while it limits what is sent (RFC 7661, section 4.4, in its simplest form).
        pub validate_window: bool = stack != Stack::Ns2, by stack;
        /// What the window is reduced from on loss.
        pub reduce_from: ReduceFrom =
            match stack { Stack::Rfc => ReduceFrom::Flight, _ => ReduceFrom::Window }, by stack;
        /// Whether a timeout leaves `ssthresh` as it is if recovery has reduced it and not all that was outstanding
        /// then is acknowledged (Linux). Otherwise it is reduced again (RFC 5681, section 4.3).
        pub reduce_once: bool = stack == Stack::Linux, by stack;
        /// Details of ns-2's recovery: the ACK that ends recovery lets the window grow, the reduction by partial ACKs
        /// is kept after recovery, each further timeout of a segment reduces ssthresh again.
        pub ns2_recovery: bool = stack == Stack::Ns2, by stack;
        /// Whether only the first partial ACK restarts the retransmission timer (RFC 6582, section 3.2, step 3; the
        /// Impatient variant of RFC 3782, section 4).
        pub impatient: bool = true;
        /// What happens to the congestion window after an idle period.
        pub idle_restart: IdleRestart =
            match stack {
                Stack::Ns2 => IdleRestart::TimerRunsOn,
                Stack::Rfc => IdleRestart::Rfc5681,
                Stack::Modern | Stack::Linux => IdleRestart::Rfc2861,
            }, by stack;
        /// Proportional rate reduction in recovery with SACK (RFC 9937).
        pub prr: bool = stack.is_modern(), by stack;
        /// Explicit congestion notification (RFC 3168). A congestion control of L4S sends ECT(1).
        pub ecn: bool = cc.is_l4s() && stack != Stack::Ns2, by cc, by stack;
        /// Which ends know accurate ECN (RFC 9768); with both the receiver counts marks, else it echoes them.
        pub accurate_ecn: AccurateEcn =
            if ecn && cc.is_l4s() { AccurateEcn::Both } else { AccurateEcn::None }, by cc, by ecn,
            "none without `ecn = true`" => |ends| ecn || *ends == AccurateEcn::None;
        /// Whether segments are paced even if the congestion control does not ask for it.
        pub pacing: bool = false;
        /// Segments that leave together when paced, as with segmentation offload. Linux sends two or more, TCP Prague
        /// one at rates up to one segment in 1/4096 s.
        pub pacing_burst: u32 =
            if stack == Stack::Linux && !matches!(cc, cc::AlgorithmChoice::Prague(_)) { 2 } else { 1 }, by stack, by cc, "1 or more" => |n| *n >= 1;
        /// Whether bursts hold what leaves in 1/1024 s at the pacing rate plus, for nearby receivers, 64 KiB halved for
        /// each 512 us of the minimum RTT (Linux's TSO autosizing). `pacing_burst` is then the minimum, 64 KiB the
        /// maximum. With selective ACKs the sender also forms bursts without pacing: it waits for more ACKs while the
        /// window has room for a small burst only, and the last segment of each burst has PSH, which ends a batch of
        /// `gro`. Without pacing and without selective ACKs it has no effect.
        pub tso_autosize: bool = false;
        /// TCP small queues (Linux): a sender at a station or an access point holds data back while its queue there
        /// holds more than leaves in this time at the pacing rate (twice that in recovery) and more than two bursts.
        /// Linux: 1/1024 s, with mac80211 1/128 s. 0 s is off. Servers are not limited, as their links are taken to be
        /// fast.
        pub small_queue: Duration = Duration::ZERO, "at most 1 s" => |time| *time <= ms(1000);
        /// Tail loss probes with RACK (RFC 8985, section 7).
        pub tail_loss_probes: bool = true;
        /// Linux's rule for when the window may grow: in slow start up to twice the most that was in flight, in
        /// congestion avoidance if it was full within the last round trip. Otherwise the window grows while it held
        /// back the last segment.
        pub track_use: bool = stack.is_modern(), by stack;
        /// Nagle's algorithm with Minshall's change: a short segment waits while another short one is in flight (RFC
        /// 9293, section 3.7.4). It affects only flows that write less than a segment at a time.
        pub nagle: bool = false;
        /// Forward RTO recovery (F-RTO): the ACKs after a timeout tell whether it was spurious (RFC 5682).
        pub f_rto: bool = stack.is_modern(), by stack;
        /// The Eifel algorithm: timestamps tell whether a recovery was needless, which is then undone (RFC 3522, RFC
        /// 4015). Without timestamps it has no effect.
        pub eifel: bool = true;
        /// The connection aborts when sent data stays unacknowledged for this long (RFC 5482); 0 s for never.
        pub user_timeout: Duration = Duration::ZERO;
    }
    check(tcp, at) {
        match tcp.stack {
            Stack::Linux => tcp.cc = tcp.cc.clone().of_linux(|key| at.has(key)),
            // Mainline Linux has no newer BBR, and the draft's starves beside others over aggregates.
            Stack::Modern if matches!(tcp.cc, cc::AlgorithmChoice::Bbr(_)) => {
                tcp.cc = tcp.cc.clone().of_linux(|key| at.has(key));
            }
            _ => {}
        }
        let by_sack =
            matches!(tcp.recovery, Some(Recovery::Sack | Recovery::Sack1 | Recovery::TcpLinux | Recovery::Rack));
        if by_sack && !tcp.sack {
            at.clash("this recovery needs selective ACKs: `sack = true`", &[("recovery", "by SACK"), ("sack", "off")]);
        }
    }
}

impl TcpSettings {
    /// The sender's and the receiver's configuration.
    #[must_use]
    pub fn resolve(&self) -> (SenderConfig, ReceiverConfig) {
        let mss = u16::try_from(self.mss.0).expect("a segment fits into 64000 B");
        let header = |size: Bytes| u16::try_from(size.0).expect("a header fits into 1000 B");
        let bytes = |limit: Limit| match limit {
            Limit::Packets(packets) => packets.saturating_mul(self.mss.0),
            Limit::Bytes(bytes) => bytes.0,
        };
        let segments = |limit: Option<Limit>| match limit {
            None => f64::INFINITY,
            Some(Limit::Packets(packets)) => packets as f64,
            Some(Limit::Bytes(bytes)) => bytes.0 as f64 / self.mss.0 as f64,
        };
        let counted_by_sender = self.stack == Stack::Ns2;
        let ends = self.accurate_ecn.ends(self.handshake);
        let buffer = bytes(self.receive_window).min(LARGEST_WINDOW);
        let window_scale = window_scale(buffer);
        let options = StackOptions {
            mss,
            header: header(self.header),
            count_options: self.count_options,
            handshake: self.handshake,
            fin: self.fin,
            initial_window: bytes(self.initial_window),
            initial_ssthresh: segments(self.initial_ssthresh.or(counted_by_sender.then_some(self.receive_window))),
            max_cwnd: segments(self.max_cwnd).max(1.0),
            receive_window: if counted_by_sender { bytes(self.receive_window) } else { buffer },
            window_known: counted_by_sender,
            window_scale,
            rtt: RttConfig {
                initial_rto: self.initial_rto,
                min_rto: self.min_rto,
                max_rto: self.max_rto,
                tick: self.tick,
                min_rto_on_variance: self.min_rto_on_variance,
                falls_gently: self.recovery == Some(Recovery::TcpLinux),
                forget_after: if self.stack == Stack::Ns2 { 4 } else { u32::MAX },
            },
            timestamps: self.timestamps,
            recovery: self.recovery.unwrap_or_else(|| match (self.sack, self.stack) {
                (true, Stack::Modern | Stack::Linux) => Recovery::Rack,
                (true, _) => Recovery::Sack,
                (false, _) => self.cc.recovery().into(),
            }),
            dup_threshold: self.dup_threshold,
            limited_transmit: self.limited_transmit,
            growth: self.growth,
            validate_window: self.validate_window,
            reduce_from: self.reduce_from,
            reduce_once: self.reduce_once,
            ns2_recovery: self.ns2_recovery,
            impatient: self.impatient,
            idle_restart: self.idle_restart,
            prr: self.prr,
            ecn: self.ecn,
            accurate_ecn: ends.0,
            ect1: self.cc.is_l4s(),
            pacing: self.pacing,
            pacing_burst: self.pacing_burst,
            tso_autosize: self.tso_autosize,
            small_queue: Duration::ZERO,
            tail_loss_probes: self.tail_loss_probes,
            track_use: self.track_use,
            nagle: self.nagle,
            f_rto: self.f_rto,
            eifel: self.eifel,
            user_timeout: self.user_timeout,
        };
        let algorithm = Algorithm::new(&self.cc, Sender::start(&options, 0));
        let by_ns2 = matches!(options.recovery, Recovery::Sack1 | Recovery::TcpLinux);
        let receiver = ReceiverConfig {
            header: header(self.ack_header),
            count_options: self.count_options,
            count_blocks: by_ns2,
            report_duplicates: !by_ns2,
            buffer: if counted_by_sender { u64::MAX } else { buffer },
            window_scale,
            ack_every: if self.delayed_ack { self.ack_every } else { 1 },
            ack_delay: self.ack_delay,
            quick_acks: self.quick_acks,
            sack_compression: self.sack_compression,
            gro: self.gro.then_some(self.gro_flush_timeout),
            sack: self.sack,
            timestamps: self.timestamps,
            ecn: self.ecn,
            accurate_ecn: ends.1,
            accurate_from_start: self.ecn && ends == (true, true) && self.handshake == Handshake::None,
            ect1: self.cc.is_l4s(),
            echo_each_mark: algorithm.wants_mark_per_packet(),
        };
        (SenderConfig { cc: self.cc.clone(), custom_cc: None, options }, receiver)
    }

    /// Like [`TcpSettings::resolve`], for a sender at a station, where `small_queue` applies. ns-2's `$ns run` resets
    /// the agents of wired nodes, whose initial threshold becomes the receive window; agents of mobile nodes keep their
    /// default of 20 packets.
    #[must_use]
    pub fn resolve_at_station(&self) -> (SenderConfig, ReceiverConfig) {
        let (mut sender, receiver) = self.resolve();
        sender.options.small_queue = self.small_queue;
        if self.stack == Stack::Ns2 && self.initial_ssthresh.is_none() {
            sender.options.initial_ssthresh = 20.0;
        }
        (sender, receiver)
    }
}

/// Largest receive window: 65,536 bytes shifted by 14 (RFC 7323, section 2.3).
const LARGEST_WINDOW: u64 = 1 << 30;

/// The smallest window scale with which `buffer` fits into the window field.
fn window_scale(buffer: u64) -> u8 {
    (0..14).find(|shift| buffer >> shift <= u64::from(u16::MAX)).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use wifair_config::{Document, Source, Table};

    use super::*;
    use crate::cc::hystart::HyStartVariant;

    fn read(text: &str) -> Result<TcpSettings, String> {
        Document::parse(Source::file("tcp.toml", text)).read::<TcpSettings>().map_err(|problems| problems.to_string())
    }

    #[test]
    fn linux_is_modern_with_its_variants_unless_the_user_wrote_others() {
        let cc = |text: &str| read(&format!("stack = 'linux'\n{text}")).expect("it is right").cc;
        let cubic = cc::cubic::Params::default();
        let as_in_linux = cc::cubic::Params { hystart: HyStartVariant::Classic, whole_segments: true, ..cubic.clone() };
        assert_eq!(cc(""), cc::AlgorithmChoice::Cubic(as_in_linux.clone()));
        assert_eq!(cc("cc = 'cubic'\ncubic.c = 0.4"), cc::AlgorithmChoice::Cubic(as_in_linux));
        let own = "cc = 'cubic'\ncubic.hystart = 'none'\ncubic.whole_segments = false";
        assert_eq!(cc(own), cc::AlgorithmChoice::Cubic(cubic));
        assert!(
            matches!(cc("cc = 'bbr'"), cc::AlgorithmChoice::Bbr(params) if params.variant == cc::bbr::BbrVariant::Linux)
        );
        assert!(
            matches!(cc("cc = 'vegas'"), cc::AlgorithmChoice::Vegas(params) if (params.alpha, params.beta) == (2.0, 4.0))
        );
        // The rest equals `modern`; packets have 1500 bytes with the timestamps option.
        let linux = read("stack = 'linux'").expect("it is right");
        assert_eq!(linux.mss + linux.header + Bytes(12), Bytes(1500));
        let by_hand = "stack = 'modern'\nmss = '1448 B'\nsack_compression = '1 ms'\npacing_burst = 2
            reduce_once = true\ncubic.hystart = 'classic'\ncubic.whole_segments = true";
        let modern = TcpSettings { stack: Stack::Linux, ..read(by_hand).expect("it is right") };
        assert_eq!(linux, modern);
        // Settings that are written out and read back are equal.
        assert_eq!(read(&linux.to_toml()).expect("it is right"), linux);
    }

    #[test]
    fn a_stack_sets_defaults_that_can_be_overridden() {
        let ns2 = read("stack = 'ns2'").expect("it is right");
        assert_eq!((ns2.min_rto, ns2.tick, ns2.receive_window), (ms(200), ms(10), Limit::Packets(20)));
        assert_eq!(ns2.initial_ssthresh, None);
        let own =
            read("stack = 'ns2'\nmin_rto = '1 s'\nreceive_window = '50 packets'\ncc = 'reno'").expect("it is right");
        let (sender, receiver) = own.resolve();
        assert_eq!((sender.options.rtt.min_rto, sender.options.receive_window), (ms(1000), 50_000));
        assert_eq!((sender.options.initial_ssthresh, sender.options.recovery), (50.0, Recovery::Reno));
        assert_eq!((receiver.ack_every, receiver.sack), (1, false));
    }

    /// From a trace of cwnd in ns-2.35 with a window of 60 packets: downloads from a wired server leave slow start at
    /// 60, uploads from a mobile node at 20.
    #[test]
    fn senders_of_ns2_begin_with_the_window_as_threshold_and_stations_with_20() {
        let thresholds = |text: &str| {
            let settings = read(text).expect("it is right");
            [settings.resolve(), settings.resolve_at_station()].map(|(sender, _)| sender.options.initial_ssthresh)
        };
        assert_eq!(thresholds("stack = 'ns2'\nreceive_window = '60 packets'"), [60.0, 20.0]);
        assert_eq!(thresholds("stack = 'ns2'\ninitial_ssthresh = '30 packets'"), [30.0, 30.0]);
        assert_eq!(thresholds("stack = 'modern'"), [f64::INFINITY; 2]);
    }

    /// RFC 6298: the first RTO is 1 s (rule 2.1) and the maximum at least 60 s (rule 2.5). With 1 ns for both, a sender
    /// would do nothing but retransmit.
    #[test]
    fn a_timeout_is_no_shorter_than_a_millisecond() {
        for rto in ["1 ns", "999 us"] {
            let refused = read(&format!("min_rto = '0 s'\ninitial_rto = '{rto}'\nmax_rto = '{rto}'")).unwrap_err();
            assert!(refused.contains("at least 1 ms"), "{refused}");
        }
        assert!(read("min_rto = '0 s'\nmax_rto = '1 ns'").unwrap_err().contains("at least min_rto and initial_rto"));
        assert_eq!(
            read("min_rto = '0 s'\ninitial_rto = '1 ms'\nmax_rto = '1 ms'").expect("it is right").max_rto,
            ms(1)
        );
    }

    #[test]
    fn the_window_scale_is_the_smallest_that_fits() {
        // RFC 7323, section 2: the window field times 2^shift, shift at most 14.
        assert_eq!([65_535, 65_536, 6_000_000, LARGEST_WINDOW].map(window_scale), [0, 1, 7, 14]);
    }

    #[test]
    fn initial_windows_are_those_of_rfc_5681() {
        for (mss, segments) in [(536, 4), (1095, 4), (1096, 3), (1460, 3), (2190, 3), (2191, 2)] {
            let settings = read(&format!("mss = '{mss} B'")).expect("it is right");
            assert_eq!(settings.initial_window, Limit::Packets(segments), "{mss} B");
        }
    }

    #[test]
    fn recovery_by_sack_needs_sack() {
        for recovery in ["sack", "sack1", "tcp-linux", "rack"] {
            assert!(read(&format!("recovery = '{recovery}'")).unwrap_err().contains("needs selective ACKs"));
        }
        assert_eq!(read("stack = 'modern'").expect("it is right").resolve().0.options.recovery, Recovery::Rack);
    }
}
