//! Duration of a multi-user frame exchange in closed form: a PPDU for several users and what acknowledges it;
//! or Trigger frames, the PPDUs that they solicit, and a Multi-STA BlockAck.
//!
//! Source: IEEE Std 802.11ax-2021, 26.4.4 and 26.5 (sequences).

use wifair_phy::{
    BasicRates, ChannelWidth, GuardInterval, HeMode, HeOptions, ModeError, MuFormat, MuPpdu, MuRequest, MuUser,
    PpduOptions, PpduTiming, TxMode,
};
use wifair_units::{BitRate, Bytes, Duration};

use crate::frame_length::{self, DELIMITER};

/// How a downlink MU PPDU is acknowledged, or what solicits an uplink TB PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuSequence {
    /// The PPDU alone.
    None,
    /// Downlink: the block ACK of the first user follows, then a BlockAckReq and a block ACK for each other one.
    BlockAckRequests,
    /// Downlink: an MU-BAR Trigger frame and block ACKs in a TB PPDU follow.
    MuBar,
    /// Downlink: each user's A-MPDU ends with an MU-BAR Trigger frame, and block ACKs in a TB PPDU follow.
    AggregatedMuBar,
    /// Uplink: a Basic Trigger frame goes before, a Multi-STA BlockAck follows.
    BasicTrigger,
    /// Uplink: before these, a BSRP Trigger frame and QoS Null frames with the stations' queue sizes.
    BufferStatusReports,
}

impl MuSequence {
    /// All, with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("none", Self::None),
        ("bar", Self::BlockAckRequests),
        ("mu-bar", Self::MuBar),
        ("aggregated-mu-bar", Self::AggregatedMuBar),
        ("basic-trigger", Self::BasicTrigger),
        ("bsrp", Self::BufferStatusReports),
    ];

    /// Whether the format allows it.
    fn goes_with(self, format: MuFormat) -> bool {
        match self {
            Self::None => true,
            Self::BasicTrigger | Self::BufferStatusReports => format == MuFormat::TriggerBased,
            _ => format != MuFormat::TriggerBased,
        }
    }
}

/// Parameters of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct MuQuery {
    /// The PPDU with data. Where A-MPDUs include Trigger frames, these are added to its users' PSDUs.
    pub ppdu: MuRequest,
    /// The frames around it.
    pub sequence: MuSequence,
    /// Buffer size of the block ACK agreements, which determines the length of block ACKs.
    pub buffer_size: u32,
    /// Basic rates of control frames.
    pub basic_rates: BasicRates,
}

/// A frame of the exchange; SIFS lies between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuFrame {
    /// What it is.
    pub name: &'static str,
    /// How it is sent.
    pub mode: String,
    /// Bytes of each PSDU.
    pub bytes: Bytes,
    /// Air time.
    pub duration: Duration,
}

/// Air times of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct MuExchangeTime {
    /// The PPDU with data.
    pub ppdu: MuPpdu,
    /// Users as sent: with the Trigger frames that A-MPDUs include.
    pub users: Vec<MuUser>,
    /// All frames in order.
    pub frames: Vec<MuFrame>,
    /// SIFS.
    pub sifs: Duration,
    /// AIFS of best effort with its default AIFSN of 3.
    pub aifs: Duration,
    /// Mean backoff of a lone station: 7.5 slots.
    pub backoff: Duration,
}

impl MuExchangeTime {
    /// Computes the air times; the error says what does not exist or fit.
    pub fn new(query: &MuQuery) -> Result<Self, ModeError> {
        let (format, sequence, band) = (query.ppdu.format, query.sequence, query.ppdu.band);
        if !sequence.goes_with(format) {
            let there: Vec<&str> =
                MuSequence::NAMES.iter().filter(|(_, other)| other.goes_with(format)).map(|(name, _)| *name).collect();
            let message = format!("no such sequence in this direction: {}", wifair_phy::there_are(&there));
            return Err(ModeError { key: "sequence", message });
        }
        let mut request = query.ppdu.clone();
        let users = request.users.len() as u64;
        if sequence == MuSequence::AggregatedMuBar {
            let one = DELIMITER + frame_length::mu_bar_trigger(1);
            for user in &mut request.users {
                user.psdu = Bytes(user.psdu.0.next_multiple_of(4)) + one;
            }
        }
        let ppdu = MuPpdu::new(&request)?;
        let block_ack = frame_length::block_ack(query.buffer_size);
        let control = |name, bytes: Bytes, mode: TxMode| MuFrame {
            name,
            mode: mode.to_string(),
            bytes,
            duration: PpduTiming::new(mode, band).duration(bytes),
        };
        let lowest = query.basic_rates.response(he_mode(0));
        let response =
            query.basic_rates.response(he_mode(request.users.iter().map(|user| user.mcs).min().unwrap_or(0)));
        let solicited = |name, bytes: Bytes, most_mcs: u8| -> Result<MuFrame, ModeError> {
            let users = request.users.iter().map(|user| MuUser {
                mcs: user.mcs.min(most_mcs),
                psdu: DELIMITER + bytes,
                dcm: false,
                ..*user
            });
            let frame = MuRequest {
                format: MuFormat::TriggerBased,
                guard_interval: if format == MuFormat::TriggerBased {
                    request.guard_interval
                } else {
                    GuardInterval::Ns1600
                },
                ltf: if format == MuFormat::TriggerBased { request.ltf } else { None },
                users: users.collect(),
                options: PpduOptions::default(),
                ..request.clone()
            };
            let duration = MuPpdu::new(&frame)?.duration();
            let mode = "TB PPDU, the same RUs".to_owned();
            Ok(MuFrame { name, mode, bytes: DELIMITER + bytes, duration })
        };
        let data = MuFrame {
            name: if format == MuFormat::TriggerBased { "TB PPDU" } else { "MU PPDU" },
            mode: format!("{users} user{}", if users == 1 { "" } else { "s" }),
            bytes: request.users.iter().fold(Bytes(0), |sum, user| sum + user.psdu),
            duration: ppdu.duration(),
        };
        let mut frames = Vec::new();
        match sequence {
            MuSequence::None => frames.push(data),
            MuSequence::BlockAckRequests => {
                frames.extend([data, control("BlockAck", block_ack, response)]);
                for _ in 1..users {
                    frames.push(control("BlockAckReq", frame_length::BLOCK_ACK_REQUEST, response));
                    frames.push(control("BlockAck", block_ack, response));
                }
            }
            MuSequence::MuBar => {
                let request = control("MU-BAR Trigger", frame_length::mu_bar_trigger(users), response);
                frames.extend([data, request, solicited("BlockAcks", block_ack, MOST_RESPONSE_MCS)?]);
            }
            MuSequence::AggregatedMuBar => {
                frames.extend([data, solicited("BlockAcks", block_ack, MOST_RESPONSE_MCS)?]);
            }
            MuSequence::BasicTrigger | MuSequence::BufferStatusReports => {
                if sequence == MuSequence::BufferStatusReports {
                    frames.push(control("BSRP Trigger", frame_length::bsrp_trigger(users), lowest));
                    frames.push(solicited("QoS Nulls", frame_length::QOS_NULL, u8::MAX)?);
                }
                frames.push(control("Basic Trigger", frame_length::basic_trigger(users), lowest));
                frames.push(data);
                frames.push(control("Multi-STA BlockAck", frame_length::multi_sta_block_ack(users), response));
            }
        }
        Ok(Self {
            ppdu,
            users: request.users,
            frames,
            sifs: band.sifs(),
            aifs: band.aifs(3, false),
            backoff: Duration::from_nanos(band.slot(false).as_nanos() * 15 / 2),
        })
    }

    /// Duration of all frames with SIFS between them.
    #[must_use]
    pub fn exchange(&self) -> Duration {
        let gaps = self.sifs * (self.frames.len() as u64 - 1);
        self.frames.iter().fold(gaps, |sum, frame| sum + frame.duration)
    }

    /// Duration of AIFS, the mean backoff and the exchange.
    #[must_use]
    pub fn cycle(&self) -> Duration {
        self.aifs + self.backoff + self.exchange()
    }

    /// Sum of the users' data rates.
    #[must_use]
    pub fn data_rate(&self) -> BitRate {
        BitRate::from_bps(self.ppdu.users.iter().map(|user| user.rate.as_bps()).sum())
    }
}

/// Block ACKs in TB PPDUs are sent at most at this MCS: 5, as reliable as the non-HT rates of block ACKs (the standard
/// leaves the choice to the access point).
const MOST_RESPONSE_MCS: u8 = 5;

/// The single-user mode from which the rate of a response follows, which depends on the MCS alone (10.6.11).
fn he_mode(mcs: u8) -> TxMode {
    let mode = HeMode::new(mcs.min(11), 1, ChannelWidth::Mhz20, GuardInterval::Ns800, HeOptions::default());
    TxMode::He(mode.expect("all MCSs exist with one stream in 20 MHz"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wifair_phy::{Amendment, Band, ResourceUnit};

    /// Four users with 52 tones, MCS 7, 7 MPDUs of 1538 bytes (10,806 bytes), GI 800 ns, 5 GHz, by hand:
    /// HE-MU 20 + 4 + 8 + SIG-B (18 + 104 = 122 bits, MCS 5: 1 symbol) 4 + 4 + LTF 7.2 = 47.2 us;
    /// 86,470 bits / 240 = 361 symbols of 13.6 us = 4,909.6: 4,956.8 us.
    /// BA 56 B at 24 Mb/s: 20 + 4 * 5 = 40; BAR 24 B: 32; MU-BAR 64 B: 44;
    /// BA in TB: 40 + 8 + 3 * 14.4 = 91.2 us; SIFS 16.
    #[test]
    fn the_three_downlink_sequences_by_hand() {
        let width = ChannelWidth::Mhz20;
        let user = |index| MuUser {
            unit: ResourceUnit::parse(&format!("52.{index}"), width).expect("an RU"),
            mcs: 7,
            streams: 1,
            dcm: false,
            coding: None,
            psdu: Bytes(10_806),
        };
        let ppdu = MuRequest {
            amendment: Amendment::Ax,
            band: Band::Ghz5,
            width,
            guard_interval: GuardInterval::Ns800,
            ltf: None,
            format: MuFormat::Mu { sig_b_mcs: None, sig_b_dcm: false },
            users: (1..=4).map(user).collect(),
            options: PpduOptions::default(),
        };
        let time = |sequence| {
            let query =
                MuQuery { ppdu: ppdu.clone(), sequence, buffer_size: 256, basic_rates: BasicRates::mandatory() };
            MuExchangeTime::new(&query).expect("an exchange").exchange().as_nanos()
        };
        assert_eq!(time(MuSequence::None), 4_956_800);
        assert_eq!(time(MuSequence::BlockAckRequests), 4_956_800 + 1000 * (16 + 40 + 3 * (16 + 32 + 16 + 40)));
        assert_eq!(time(MuSequence::MuBar), 4_956_800 + 1000 * (16 + 44 + 16) + 91_200);
        // A trigger of 37 bytes and its delimiter in each A-MPDU, 10,808 + 41 bytes: 86,814 bits, 362 symbols.
        assert_eq!(time(MuSequence::AggregatedMuBar), 4_956_800 + 13_600 + 16_000 + 91_200);
    }
}
