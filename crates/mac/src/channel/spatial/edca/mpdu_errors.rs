//! Bit errors in HT and later PPDUs, MPDU by MPDU.
//!
//! The signal fields of the preamble are BPSK at rate 1/2 in 20 MHz, as before HT ([`BitErrors`]). Each MPDU after them
//! has its own FCS, so its errors depend on the SINR during that MPDU alone: interference that begins or ends corrupts
//! part of an aggregate. Error rates are those of [`mcs_errors`]. A PPDU of `w` times 20 MHz has `w` times the
//! receiver's noise in 20 MHz; all interference counts, and streams share the power.
//!
//! The receiver responds if it has read any MPDU. A bystander that has read any MPDU knows the NAV and does not wait
//! for EIFS (10.3.2.3.7: EIFS follows a frame that did not result in the correct reception of a complete MAC frame).

use wifair_engine::Stream;
use wifair_phy::{BitErrors, LegacyMode, TxMode, mcs_errors};
use wifair_units::{Duration, Time};

use super::SpatialEdca;
use crate::BROADCAST;
use crate::channel::spatial::signal::Chunk;
use crate::channel::spatial::{SpatialChannel, Transmission};

/// Signal fields of the preamble, BPSK at rate 1/2.
const FIELDS: LegacyMode = LegacyMode::Ofdm6;

/// An HT or later PPDU on the air.
#[derive(Clone, Debug)]
pub(super) struct OnAir {
    start: Time,
    preamble: Duration,
    mode: TxMode,
    /// Start and end of each MPDU, and its length in bits.
    mpdus: Vec<(Time, Time, f64)>,
}

/// A part of the data field with constant interference.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataChunk {
    from: Time,
    until: Time,
    /// Natural logarithm of the probability that a bit is received correctly.
    log_success: f64,
}

impl OnAir {
    /// Bits of the signal fields of the preamble: L-SIG, then HT-SIG (19.3.9.4.3), VHT-SIG-A (21.3.8.3.3), HE-SIG-A
    /// (27.3.11.7) or U-SIG (36.3.12.7).
    fn signal_bits(&self) -> f64 {
        24.0 + if matches!(self.mode, TxMode::He(_) | TxMode::Eht(_)) { 52.0 } else { 48.0 }
    }

    /// Natural logarithm of the probability that an MPDU received in these chunks is correct.
    fn log_success(&self, place: usize, chunks: &[DataChunk]) -> f64 {
        let (begins, ends, bits) = self.mpdus[place];
        let mut log_success = 0.0;
        for chunk in chunks {
            let shared = chunk.until.min(ends).saturating_since(chunk.from.max(begins));
            if shared > Duration::ZERO && chunk.log_success < 0.0 {
                log_success += chunk.log_success * bits * (shared.as_secs() / (ends - begins).as_secs());
            }
        }
        log_success
    }
}

impl SpatialEdca {
    /// The transmission of `sender`, if it is an HT or later PPDU: data, or a response in extended range.
    fn on_air(&self, sender: u32, transmission: &Transmission) -> Option<&OnAir> {
        let on_air = self.on_air.get(sender as usize)?.as_ref()?;
        (transmission.start == on_air.start).then_some(on_air)
    }

    /// Whether the MPDUs in the frame of `sender` have individual errors.
    pub fn has_mpdus(&self, sender: u32, transmission: &Transmission) -> bool {
        self.on_air(sender, transmission).is_some()
    }

    /// Records the chunk, until `now`, of the frame of `sender` that `station` receives. Returns the logarithm of the
    /// probability that the part of the preamble in it is correct; `None` for a pre-HT frame.
    pub fn accumulate_errors(
        &mut self,
        (station, sender): (u32, u32),
        now: Time,
        chunk: &Chunk,
        transmission: &Transmission,
        bits: &BitErrors,
    ) -> Option<f64> {
        let on_air = self.on_air(sender, transmission)?;
        let data_from = on_air.start + on_air.preamble;
        let mode = on_air.mode;
        let share = now.min(data_from).saturating_since(chunk.from).as_secs() / on_air.preamble.as_secs();
        let in_20_mhz = chunk.power / (chunk.noise + chunk.interference);
        let preamble = bits.log_survival(FIELDS, in_20_mhz, on_air.signal_bits() * share);
        let is_first = chunk.from == on_air.start;
        let chunks = &mut self.chunks[station as usize];
        if is_first {
            chunks.clear();
        }
        if now > data_from {
            let noise = chunk.noise * f64::from(mode.width().mhz()) / 20.0;
            let sinr = chunk.power / (noise + chunk.interference) / f64::from(mode.streams());
            let log_success = mcs_errors::log_survival(mode, sinr, 1.0).expect("the mode is from HT on");
            chunks.push(DataChunk { from: chunk.from.max(data_from), until: now, log_success });
        }
        Some(preamble)
    }

    /// Draws whether `station` reads any MPDU of the PPDU that `sender` ends and, if `is_receiver`, which MPDUs.
    /// `log_success` is the logarithm of the probability that the preamble is correct. `None` for a pre-HT frame.
    pub fn read_mpdus(
        &mut self,
        (station, sender, is_receiver): (u32, u32, bool),
        transmission: &Transmission,
        log_success: f64,
        draws: &mut Stream,
    ) -> Option<bool> {
        let on_air = self.on_air(sender, transmission)?;
        let chunks = &self.chunks[station as usize];
        let preamble = libm::exp(log_success);
        if !is_receiver || transmission.kind.is_response() {
            let mut none = 1.0;
            for place in 0..on_air.mpdus.len() {
                none *= -libm::expm1(on_air.log_success(place, chunks));
                if none == 0.0 {
                    break;
                }
            }
            return Some(draws.chance(preamble * (1.0 - none)));
        }
        let has_preamble = draws.chance(preamble);
        let lost: Vec<bool> = (0..on_air.mpdus.len())
            .map(|place| !has_preamble || !draws.chance(libm::exp(on_air.log_success(place, chunks))))
            .collect();
        let ppdu = &mut self.edcafs.contenders[self.current[sender as usize]].ppdu;
        ppdu.sole_mut().mark_lost(|place, _| lost[place]);
        Some(ppdu.is_read())
    }
}

impl SpatialChannel {
    /// With bit errors: records the PPDU that `sender` begins, if it is HT or later.
    pub(super) fn put_on_air(&mut self, start: Time, sender: u32, to: u32) {
        let edca = self.categories();
        let index = edca.current_of(sender);
        let own = &mut edca.on_air[sender as usize];
        *own = None;
        if to == BROADCAST {
            return;
        }
        let Some((mode, lengths)) = edca.edcafs.mpdu_lengths(index) else { return };
        let (preamble, spans) = edca.edcafs.mpdu_spans(index);
        let mpdus = spans.into_iter().zip(lengths);
        let mpdus = mpdus.map(|((from, until), bytes)| (start + from, start + until, 8.0 * f64::from(bytes))).collect();
        *own = Some(OnAir { start, preamble, mode, mpdus });
    }

    /// With bit errors: records the response that `sender` begins, if it is not in non-HT format.
    pub(in crate::channel::spatial) fn put_response_on_air(&mut self, sender: u32, response: &Transmission) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let Some(extended) = edca.extended_response(response.kind, response.to) else { return };
        let (mode, ppdu) = (extended.mode, edca.ppdu_of(response.to));
        let length = edca.edcafs.response_length(response.to as usize, ppdu.sole().station, ppdu.purpose);
        let parts = extended.parts(length);
        let data_from = response.start + parts.preamble;
        let mpdus = vec![(data_from, data_from + parts.data, 8.0 * length.0 as f64)];
        edca.on_air[sender as usize] = Some(OnAir { start: response.start, preamble: parts.preamble, mode, mpdus });
    }
}
