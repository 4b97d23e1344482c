//! Bit errors on the spatial channel, MPDU by MPDU: from noise, from interference during part of an A-MPDU, and in
//! block ACKs.
//!
//! Expected values are published success rates of 2000 bytes for OFDM (ns-3's tests and its program ofdm-validation.cc,
//! after G. Pei and T. Henderson, Boeing, 2010); HT MCS 3, 4 and 6 have the same constellations and code rates as 24,
//! 36 and 54 Mb/s. The success rate of another length is this rate to the power of the ratio of the lengths.

use crate::common::signals;
use crate::hidden_aggregates::settings;
use wifair_mac::edcaf::{EdcaSettings, SlotRules};
use wifair_mac::{BROADCAST, Call, MacEvent, RadioLinks, SpatialChannel};
use wifair_packet::{Kind, NextHops, Packet, PacketId, Packets};
use wifair_phy::{Radio, Reception, Spoils};
use wifair_units::{BitRate, Db, Dbm, Duration, Time};

/// Packets that make MPDUs of 2000 bytes.
const SIZE: u16 = 2000 - 38;

fn by_bits() -> Reception {
    Reception { spoils: Spoils::Bits, capture_threshold: Db(-5.0), ..Reception::default() }
}

/// A radio that sends with this power (in dBm at all others), with noise of -90 dBm.
fn radio(power: f64) -> Radio {
    Radio {
        tx_power: Dbm(power),
        noise: Dbm(-90.0),
        sensitivity: Dbm(-100.0),
        carrier_sense: Dbm(-100.0),
        ..Radio::default()
    }
}

struct Run {
    channel: SpatialChannel,
    packets: Packets,
    arrived: Vec<(u32, PacketId)>,
}

impl Run {
    /// Stations with these radios; station 0 and all others hear each other.
    fn new(settings: EdcaSettings, radios: &[Radio], seed: u64) -> Self {
        let gain = |from: u32, to: u32| Db(if from.min(to) == 0 { 0.0 } else { -200.0 });
        let links = RadioLinks::from_radios(radios, gain, Dbm(-110.0));
        let stations = u32::try_from(radios.len()).unwrap();
        let channel = SpatialChannel::with_categories(settings, links).with_signals(signals(by_bits(), stations, seed));
        Self { channel, packets: Packets::default(), arrived: vec![] }
    }

    /// Offers `count` packets for station 0, or as broadcasts, one nanosecond apart: those after the first are
    /// aggregated.
    fn offer(&mut self, at: Time, from: u32, to: u32, count: u64) {
        for place in 0..count {
            let now = at + Duration::from_nanos(place.min(1));
            let hop = u32::from(to == BROADCAST);
            let packet = Packet { flow: from, hop, seq: place, size: SIZE, kind: Kind::Udp, ..Packet::default() };
            let id = self.packets.insert(packet);
            let (mut dropped, mut lost) = (vec![], vec![]);
            let call = &mut Call::new(now, &mut self.packets, &mut dropped, &mut lost, NextHops(&[0, BROADCAST]));
            self.channel.offer_in(from, 0, id, call);
        }
    }

    fn until(&mut self, end: Time) {
        while self.channel.next() <= end {
            let (now, mut dropped, mut lost) = (self.channel.next(), vec![], vec![]);
            let call = &mut Call::new(now, &mut self.packets, &mut dropped, &mut lost, NextHops(&[0, BROADCAST]));
            if let MacEvent::Packet { id, .. } = self.channel.advance(call) {
                self.arrived.push((self.packets[id].flow, id));
            }
        }
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Four standard deviations of a proportion of `of` trials, plus the rounding of a published value with three digits.
fn tolerance(share: f64, of: f64) -> f64 {
    4.0 * (share * (1.0 - share) / of).sqrt() + 0.002
}

/// A single attempt per MPDU: the published proportion arrives. The preamble is never lost, nor are block ACKs at 24
/// Mb/s from a strong access point.
#[test]
fn mpdus_are_lost_as_often_as_published() {
    for (mcs, snr, published) in [(3, 13.0, 0.495), (4, 16.5, 0.818), (6, 23.0, 0.958)] {
        let mut plan = settings(1, 2, u64::MAX, mcs);
        plan.access.short_retry_limit = Some(1);
        plan.aggregation.as_mut().unwrap().retry_limit = 1;
        for station in &mut plan.stations {
            station.aggregation.as_mut().unwrap().retry_limit = 1;
        }
        let mut run = Run::new(plan, &[radio(-40.0), radio(snr - 90.0)], 1);
        let rounds = 1000;
        for round in 0..rounds {
            run.offer(at_ms(200 * round), 1, 0, 8);
            run.until(at_ms(200 * round + 199));
        }
        let sent = 8.0 * rounds as f64;
        let read = run.arrived.len() as f64 / sent;
        assert!((read - published).abs() < tolerance(published, sent), "MCS {mcs} at {snr} dB: {read}");
        let counters = run.channel.edcafs().unwrap().category_counters(1).next().unwrap();
        assert_eq!(counters.mpdus, 8 * rounds, "each was sent once");
        assert_eq!(counters.block_acks_lost, 0);
        assert!(counters.ppdus < 3 * rounds, "in aggregates");
    }
}

/// Eight MPDUs of 2000 bytes at 26 Mb/s: a preamble of 36 us and 617 us each. A hidden station broadcasts at 6 Mb/s,
/// 36 + 2667 us, starting at 1 ms: the third to the fifth are overlapped completely, at an SINR of 13 dB, and the
/// others are unaffected or overlapped in part.
#[test]
fn interference_corrupts_the_mpdus_that_it_overlaps() {
    let (signal, noise) = (-60.0, -90.0);
    let milliwatts = |dbm: f64| libm::pow(10.0, dbm / 10.0);
    let interference = 10.0 * libm::log10(milliwatts(signal - 13.0) - milliwatts(noise));
    let mut plan = settings(1, 3, u64::MAX, 3);
    plan.access.broadcast_rate = BitRate::from_mbps(6);
    plan.slot_rules = SlotRules::Dcf; // so that packets leave at once
    let mut run = Run::new(plan, &[radio(-40.0), radio(signal), radio(interference)], 1);
    let rounds = 1500;
    let mut first_time = [0_u32; 8];
    for round in 0..rounds {
        let start = at_ms(100 * (round + 1)); // AIFS has passed
        // Offered alone, so that it leaves at once and the others follow in one PPDU; the next event is its end.
        run.offer(start, 1, 0, 1);
        let ppdus = |run: &Run| run.channel.edcafs().unwrap().category_counters(1).next().unwrap().ppdus;
        let before = ppdus(&run);
        run.until(start);
        run.offer(start + Duration::from_nanos(1), 1, 0, 8);
        while ppdus(&run) < before + 2 {
            run.until(run.channel.next());
        }
        let end = run.channel.next();
        run.offer(end - Duration::from_micros(36 + 4 * 1234 - 1000), 2, BROADCAST, 1);
        run.arrived.clear();
        run.until(end);
        // Packets behind a lost one wait for it.
        let in_order = run.arrived.len();
        first_time.iter_mut().take(in_order).for_each(|count| *count += 1);
        run.until(at_ms(100 * round + 199));
    }
    let share = |place: usize| f64::from(first_time[place]) / rounds as f64;
    assert_eq!(first_time[0], 1500, "nothing disturbs the first");
    // The second is overlapped for 36 + 2 * 617 - 1000 = 270 us; the third, fourth and fifth completely.
    let partly = 0.495_f64.powf(270.0 / 617.0);
    for (place, expected) in [(1, partly), (2, partly * 0.495), (3, partly * 0.495 * 0.495)] {
        assert!(
            (share(place) - expected).abs() < tolerance(expected, rounds as f64) + 0.01,
            "{place}: {}",
            share(place)
        );
    }
}

/// A block ACK of 32 bytes at 24 Mb/s is three symbols, 288 bits. At 12 dB 2000 bytes are received with a probability
/// of 2.22e-7, so a block ACK is received with that to the power of 288 / 16000.
#[test]
fn block_acks_are_lost_to_noise() {
    let plan = settings(1, 2, u64::MAX, 3);
    let mut run = Run::new(plan, &[radio(12.0 - 90.0), radio(-40.0)], 1);
    for round in 0..2000 {
        run.offer(at_ms(200 * round), 1, 0, 9);
        run.until(at_ms(200 * round + 199));
    }
    let counters = run.channel.edcafs().unwrap().category_counters(1).next().unwrap();
    let (all, lost) = (counters.block_acks as f64, counters.block_acks_lost as f64 / counters.block_acks as f64);
    let expected = 1.0 - 2.22e-7_f64.powf(288.0 / 16_000.0);
    assert!(all > 2000.0 && (lost - expected).abs() < tolerance(expected, all), "{lost} instead of {expected}");
}
