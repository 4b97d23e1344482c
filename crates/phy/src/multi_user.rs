//! PPDUs for several users: HE MU and EHT MU (downlink) and HE TB and EHT TB (uplink, in answer to a Trigger frame), by
//! OFDMA, and by MU-MIMO where users share a resource unit.
//!
//! Sources: IEEE Std 802.11ax-2021, 27.3.4 (formats), 27.3.11.10 (LTFs), 27.3.12 (data), 27.4.3 (TXTIME), 27.2.6 and
//! 27.3.11.5 (L-SIG LENGTH); 802.11be-2024, clause 36. Left out: 320 MHz, multiple RUs of 802.11be, punctured channels,
//! STBC, Doppler.

use wifair_units::{BitRate, Bytes, Duration};

use crate::data_field::DataField;
use crate::resource_unit::{ResourceUnit, RuSize};
use crate::sig_b::SigMode;
use crate::{
    Amendment, Band, ChannelWidth, Coding, GuardInterval, Ltf, ModeError, PPDU_MAX_TIME, PpduFormat, PpduOptions,
    PpduTiming, TxVector, he, mcs,
};

/// Who sends the PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuFormat {
    /// HE MU or EHT MU, from one station to several.
    Mu {
        /// MCS of HE-SIG-B (0 to 5) or EHT-SIG (0, 1, 3, 15); if absent the lowest of the users' and 5, or 0 in EHT.
        sig_b_mcs: Option<u8>,
        /// Dual carrier modulation of HE-SIG-B.
        sig_b_dcm: bool,
    },
    /// HE TB or EHT TB, from several stations that a Trigger frame asked.
    TriggerBased,
}

/// What a user gets or sends in the PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuUser {
    /// Resource unit; users with the same one share it by MU-MIMO.
    pub unit: ResourceUnit,
    /// MCS, 0 to 11, in 802.11be to 13.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Dual carrier modulation: MCS 0, 1, 3 and 4 with at most two streams (802.11ax).
    pub dcm: bool,
    /// Code; if absent, BCC where the standard allows it.
    pub coding: Option<Coding>,
    /// Length of the PSDU.
    pub psdu: Bytes,
}

/// A PPDU for several users.
#[derive(Clone, Debug, PartialEq)]
pub struct MuRequest {
    /// 802.11ax or 802.11be.
    pub amendment: Amendment,
    /// Band.
    pub band: Band,
    /// Width of the channel, 20 to 160 MHz.
    pub width: ChannelWidth,
    /// Guard interval of all users.
    pub guard_interval: GuardInterval,
    /// Long training fields; [`Ltf::usual`] if absent.
    pub ltf: Option<Ltf>,
    /// Who sends.
    pub format: MuFormat,
    /// At least one.
    pub users: Vec<MuUser>,
    /// The extra symbol of LDPC, and packet padding.
    pub options: PpduOptions,
}

/// What a user's part consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuUserParts {
    /// Data rate.
    pub rate: BitRate,
    /// Data bits of a symbol.
    pub bits_per_symbol: u32,
    /// Code.
    pub coding: Coding,
    /// Symbols that its PSDU needs.
    pub needs: u64,
    /// Bytes that fit into the symbols of the PPDU beside the PSDU: padding.
    pub padding: Bytes,
}

/// Air time of a PPDU for several users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuPpdu {
    /// Fields of the preamble.
    pub preamble_fields: Vec<(&'static str, Duration)>,
    /// Bits of the longer content channel of HE-SIG-B or EHT-SIG, and its symbols; 0 in TB PPDUs.
    pub sig_b: (u32, u32),
    /// MCS of HE-SIG-B or EHT-SIG.
    pub sig_b_mcs: Option<u8>,
    /// Symbols of data, the same for all users.
    pub symbols: u64,
    /// A symbol with its guard interval.
    pub symbol: Duration,
    /// Packet extension.
    pub packet_extension: Duration,
    /// Signal extension in 2.4 GHz.
    pub signal_extension: Duration,
    /// LENGTH in L-SIG, which for a TB PPDU the Trigger frame gives (UL Length).
    pub l_sig_length: u64,
    /// In the order of the request.
    pub users: Vec<MuUserParts>,
}

impl MuPpdu {
    /// Computes the air time; the error says which part of the request the standard does not have.
    pub fn new(request: &MuRequest) -> Result<Self, ModeError> {
        let is_eht = match request.amendment {
            Amendment::Ax => false,
            Amendment::Be => true,
            other => {
                let message = format!("no multi-user PPDU in {}: 802.11ax and be are modelled", other.name());
                return Err(ModeError::new("format", message));
            }
        };
        let ltf = training(request)?;
        check_users(request, is_eht)?;
        let units: Vec<ResourceUnit> = request.users.iter().map(|user| user.unit).collect();
        let (sig, sig_b_mcs) = match request.format {
            MuFormat::TriggerBased => ((0, 0), None),
            MuFormat::Mu { sig_b_mcs, sig_b_dcm } => {
                let lowest = request.users.iter().map(|user| user.mcs).min().unwrap_or(0);
                let mcs = sig_b_mcs.unwrap_or(if is_eht { 0 } else { lowest.min(5) });
                let mode = SigMode::new(mcs, sig_b_dcm, is_eht)?;
                let bits = mode.bits(request.width, &units);
                ((bits, mode.symbols(bits)), Some(mcs))
            }
        };
        let streams = units.iter().map(|unit| streams_on(request, *unit)).max().unwrap_or(1);
        let trainings = (ltf.duration() + request.guard_interval.duration()) * mcs::training_fields(streams);
        let preamble_fields = preamble(request.format, is_eht, sig.1, trainings);
        let preamble = preamble_fields.iter().fold(Duration::ZERO, |sum, (_, field)| sum + *field);

        let data: Vec<DataField> = request.users.iter().map(|user| vector(request, user, ltf).data()).collect();
        let timings: Vec<PpduTiming> = data
            .iter()
            .map(|field| PpduTiming::of_data(preamble, *field, request.band.signal_extension(), request.options))
            .collect();
        let each = || timings.iter().zip(&request.users);
        let needs: Vec<(u64, u64)> = each().map(|(timing, user)| timing.symbols_before_ldpc(user.psdu)).collect();
        let mut last = needs.iter().copied().max().unwrap_or((0, 4));
        if request.options.ldpc_extra_symbol && timings.iter().any(|timing| timing.needs_more_ldpc(last)) {
            last = if last.1 == 4 { (last.0 + 1, 1) } else { (last.0, last.1 + 1) };
        }
        let symbols = last.0;
        let users = each()
            .zip(&data)
            .zip(&needs)
            .map(|(((_, user), field), (needs, _))| {
                let room = (symbols * u64::from(field.bits_per_symbol) - u64::from(field.overhead_bits)) / 8;
                MuUserParts {
                    rate: field.rate(),
                    bits_per_symbol: field.bits_per_symbol,
                    coding: field.coding,
                    needs: *needs,
                    padding: Bytes(room - user.psdu.0),
                }
            })
            .collect();
        let packet_extension = timings.iter().map(|timing| timing.packet_extension(last.1)).max().unwrap_or_default();
        let mut ppdu = Self {
            preamble_fields,
            sig_b: sig,
            sig_b_mcs,
            symbols,
            symbol: data[0].symbol,
            packet_extension,
            signal_extension: request.band.signal_extension(),
            l_sig_length: 0,
            users,
        };
        let duration = ppdu.duration();
        if duration > PPDU_MAX_TIME {
            let message = format!(
                "the PPDU takes {} us, longer than the {} us of the longest one: shorten the longest user's PSDU",
                duration.as_nanos() as f64 / 1e3,
                PPDU_MAX_TIME.as_nanos() / 1000
            );
            return Err(ModeError::new("psdu_length", message));
        }
        // 27.3.11.5: m is 1 in HE MU PPDUs and 2 in HE TB; 36.3.12.5: 0 in EHT.
        let m = match (is_eht, request.format) {
            (true, _) => 0,
            (false, MuFormat::Mu { .. }) => 1,
            (false, MuFormat::TriggerBased) => 2,
        };
        let after = duration - ppdu.signal_extension - PpduTiming::TO_L_SIG;
        ppdu.l_sig_length = after.as_nanos().div_ceil(4_000) * 3 - 3 - m;
        Ok(ppdu)
    }

    /// From the first bit of the preamble to the end of the extension.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.preamble() + self.symbol * self.symbols + self.packet_extension + self.signal_extension
    }

    /// All fields before the data.
    #[must_use]
    pub fn preamble(&self) -> Duration {
        self.preamble_fields.iter().fold(Duration::ZERO, |sum, (_, field)| sum + *field)
    }
}

/// Streams of all users of a resource unit.
fn streams_on(request: &MuRequest, unit: ResourceUnit) -> u8 {
    request.users.iter().filter(|user| user.unit == unit).map(|user| user.streams).sum()
}

fn vector(request: &MuRequest, user: &MuUser, ltf: Ltf) -> TxVector {
    let format = if request.amendment == Amendment::Be { PpduFormat::Eht } else { PpduFormat::He };
    let subcarriers = user.unit.size().subcarriers();
    let vector = TxVector::new(format, user.mcs, user.streams, subcarriers, request.guard_interval);
    TxVector { ltf, dcm: user.dcm, coding: user.coding, ..vector }
}

/// The training fields, if they and the guard interval exist in this format: table 27-1, and 36-1 of 802.11be.
fn training(request: &MuRequest) -> Result<Ltf, ModeError> {
    use GuardInterval::{Ns800, Ns1600, Ns3200};
    let interval = request.guard_interval;
    let is_shared = request.users.len() > 1
        && request.users.iter().all(|user| Some(user.unit.size()) == RuSize::whole(request.width));
    let (there, text): (&[(Ltf, GuardInterval)], &str) = match request.format {
        MuFormat::TriggerBased if is_shared => (
            &[(Ltf::X1, Ns1600), (Ltf::X2, Ns1600), (Ltf::X4, Ns3200)],
            "a TB PPDU by MU-MIMO has 1x and 2x with 1600 ns, 4x with 3200 ns",
        ),
        MuFormat::TriggerBased => {
            (&[(Ltf::X2, Ns1600), (Ltf::X4, Ns3200)], "a TB PPDU has 2x with 1600 ns, 4x with 3200 ns")
        }
        MuFormat::Mu { .. } => (
            &[(Ltf::X2, Ns800), (Ltf::X4, Ns800), (Ltf::X2, Ns1600), (Ltf::X4, Ns3200)],
            "an MU PPDU has 2x and 4x with 800 ns, 2x with 1600 ns, 4x with 3200 ns",
        ),
    };
    if !there.iter().any(|(_, with)| *with == interval) {
        return Err(ModeError::new("guard_interval", format!("no guard interval of {interval} here: {text}")));
    }
    let ltf = request.ltf.unwrap_or(Ltf::usual(interval));
    if there.contains(&(ltf, interval)) {
        return Ok(ltf);
    }
    let message = format!("no {}x LTF with a guard interval of {interval} here: {text}", ltf.multiple());

    Err(ModeError::new("ltf", message))
}

/// Most bytes of a PSDU: 6,500,631 in HE (table 27-55), 15,523,198 in EHT (table 36-70).
const fn longest_psdu(is_eht: bool) -> u64 {
    if is_eht { 15_523_198 } else { 6_500_631 }
}

fn check_users(request: &MuRequest, is_eht: bool) -> Result<(), ModeError> {
    let error = |key, message: String| Err(ModeError::new(key, message));
    if request.users.is_empty() {
        return error("users", "no user: give each its ru, mcs and psdu_length".to_owned());
    }
    let highest = if is_eht { 13 } else { 11 };
    for (place, user) in request.users.iter().enumerate() {
        let (unit, number) = (user.unit, place + 1);
        if user.mcs > highest {
            return error("mcs", format!("no MCS {} for user {number}: there are 0 to {highest}", user.mcs));
        }
        let sharing = request.users.iter().filter(|other| other.unit == unit).count();
        let most = if sharing > 1 { 4 } else { 8 };
        if !(1..=most).contains(&user.streams) {
            let why = if sharing > 1 { " of a shared RU" } else { "" };
            return error(
                "streams",
                format!("no {} streams for user {number}{why}: there are 1 to {most}", user.streams),
            );
        }
        if sharing > 1 && unit.size() < RuSize::Tones106 {
            return error(
                "ru",
                format!("{sharing} users on RU {unit}: RUs of 106 tones and more can be shared by MU-MIMO"),
            );
        }
        if sharing > 8 || streams_on(request, unit) > 8 {
            let message = format!(
                "{sharing} users with {} streams on RU {unit}: at most 8 of each share one",
                streams_on(request, unit)
            );
            return error("ru", message);
        }
        if is_eht && unit.is_central() {
            return error("ru", format!("no RU {unit} in 802.11be: the middle of 80 MHz is empty there"));
        }
        if let Some(other) = request.users.iter().find(|other| other.unit != unit && other.unit.overlaps(unit)) {
            return error("ru", format!("RUs {unit} and {} overlap: each tone has one RU", other.unit));
        }
        if user.dcm && (is_eht || !matches!(user.mcs, 0 | 1 | 3 | 4) || user.streams > 2 || sharing > 1) {
            let message = format!(
                "no dual carrier modulation for user {number}: it exists in 802.11ax with MCS 0, 1, 3 and 4, at most 2 \
                 streams, and an RU of its own"
            );
            return error("dcm", message);
        }
        if user.coding == Some(Coding::Bcc) && !he::has_bcc(user.mcs, user.streams, unit.size().subcarriers()) {
            let message =
                format!("no BCC for user {number}: it exists up to 242 tones, MCS 9 and 4 streams, LDPC everywhere");
            return error("coding", message);
        }
        if !(1..=longest_psdu(is_eht)).contains(&user.psdu.0) {
            let most = longest_psdu(is_eht);
            return error(
                "psdu_length",
                format!("no PSDU of {} bytes for user {number}: there are 1 to {most}", user.psdu.0),
            );
        }
    }
    Ok(())
}

fn preamble(format: MuFormat, is_eht: bool, sig_b: u32, trainings: Duration) -> Vec<(&'static str, Duration)> {
    let us = Duration::from_micros;
    let [stf, ltf, sig] = crate::non_ht::LEGACY_PREAMBLE;
    let names = if is_eht {
        ["U-SIG", "EHT-SIG", "EHT-STF", "EHT-LTFs"]
    } else {
        ["HE-SIG-A", "HE-SIG-B", "HE-STF", "HE-LTFs"]
    };
    let mut fields = vec![stf, ltf, sig, ("RL-SIG", us(4)), (names[0], us(8))];
    match format {
        MuFormat::Mu { .. } => fields.extend([(names[1], us(4) * u64::from(sig_b)), (names[2], us(4))]),
        MuFormat::TriggerBased => fields.push((names[2], us(8))),
    }
    fields.push((names[3], trainings));
    fields
}
