//! Bit errors, rates and rate adaptation, and coexistence of 802.11b and g.

use crate::aggregation::{BE, aggregation, ht_mcs7, micros, settings as ht_settings};
use crate::common::{NEXT_HOPS, Run, at_us, chances, long_preamble, signals, station};
use approx::assert_relative_eq;
use wifair_engine::{Stream, stream};
use wifair_mac::edcaf::{AggregationRules, EdcaSettings, LinkSettings};
use wifair_mac::{
    Access, BROADCAST, Call, Category, Fate, FrameKind, GeneralChannel, MacEvent, RadioLinks, RateSettings,
    SignalSettings, SpatialChannel, StationSettings,
};
use wifair_packet::{Packet, Packets};
use wifair_phy::propagation::Fading;
use wifair_phy::rate::{AarfParams, Adaptation, ArfParams, MinstrelHtParams, MinstrelParams};
use wifair_phy::{
    BitErrors, CaptureEffect, ChannelWidth, Dsss, GuardInterval, HtMode, LegacyMode, ModulationClass, Radio, Reception,
    Spoils, Timing, TxMode,
};
use wifair_units::{BitRate, Bytes, Db, Dbm, Duration, Time};

fn mbps(rate: u64) -> BitRate {
    BitRate::from_mbps(rate)
}

fn by_bits() -> Reception {
    Reception {
        spoils: Spoils::Bits,
        capture: CaptureEffect::Header,
        capture_threshold: Db(-5.0),
        ..Reception::default()
    }
}

/// Stations that receive each other with `power`, with noise of `noise`.
fn at_power(stations: usize, power: f64, noise: f64) -> RadioLinks {
    let radio = Radio {
        tx_power: Dbm(0.0),
        noise: Dbm(noise),
        sensitivity: Dbm(-101.0),
        carrier_sense: Dbm(-101.0),
        ..Radio::default()
    };
    RadioLinks::from_radios(&vec![radio; stations], |_, _| Db(power), Dbm(-120.0))
}

/// 1078 bytes at 11 Mb/s, with the noise of 22 MHz and a noise figure of 7 dB: Pei and Henderson's values, as in the
/// table of modes.
#[test]
fn frames_are_lost_as_often_as_published() {
    for (power, published) in [(-88.0, 0.128), (-87.0, 0.739), (-86.0, 0.973)] {
        let links = at_power(2, power, -93.552_278_6);
        let mut run = Run::new(long_preamble(), links, (0, 0), 1).with(signals(by_bits(), 2, 2));
        let frames = 20_000;
        for frame in 0..frames {
            run.offer(at_us(frame * 2000), 0, BROADCAST, 1078 - 36);
            run.until(at_us(frame * 2000 + 1999));
        }
        let read = run.arrivals.len() as f64 / frames as f64;
        let error = (published * (1.0_f64 - published) / frames as f64).sqrt();
        // The published values have three digits, and are tested to 0.005.
        assert!((read - published).abs() < 4.0 * error + 0.005, "{power} dBm: {read} instead of {published}");
    }
}

/// An interferer during the last part of a frame corrupts it with the probability of that part alone.
#[test]
fn each_part_of_a_frame_has_its_own_interference() {
    let noise = -93.552_278_6;
    let radio = |power| Radio {
        tx_power: Dbm(power),
        noise: Dbm(noise),
        sensitivity: Dbm(-101.0),
        carrier_sense: Dbm(-101.0),
        ..Radio::default()
    };
    // Received at station 0: 1 with -83 dBm, 2 with -90.5 dBm. They do not hear each other.
    let radios = [radio(0.0), radio(-83.0), radio(-90.5)];
    let links = RadioLinks::from_radios(&radios, |_, to| Db(if to == 0 { 0.0 } else { -200.0 }), Dbm(-110.0));
    let mut run = Run::new(long_preamble(), links, (0, 0), 1).with(signals(by_bits(), 3, 2));
    let frames = 20_000;
    // 192 us and 1036 bytes at 11 Mb/s: 946 us, with interference during the last 400 us.
    for frame in 0..frames {
        let began = frame * 4000;
        run.offer(at_us(began), 1, BROADCAST, 1000);
        run.until(at_us(began + 546));
        run.offer(at_us(began + 546), 2, BROADCAST, 1000);
        run.until(at_us(began + 3999));
    }
    let milliwatts = |dbm: f64| 10f64.powf(dbm / 10.0);
    let mode = LegacyMode::of(mbps(11), false);
    let sinr = milliwatts(-83.0) / (milliwatts(noise) + milliwatts(-90.5));
    let expected = BitErrors::tables().log_survival(mode, sinr, 400.0 * 11.0).exp();
    assert!(BitErrors::tables().log_survival(mode, milliwatts(-83.0 - noise), 354.0 * 11.0) > -1e-3);
    assert!((0.2..0.8).contains(&expected), "{expected} tells nothing");
    let read = run.arrived_from(1) as f64 / frames as f64;
    let error = (expected * (1.0 - expected) / frames as f64).sqrt();
    assert!((read - expected).abs() < 4.0 * error, "{read} instead of {expected}");
}

/// Goodput in Mb/s of one saturated sender of 1500-byte packets whose receiver hears it at this power.
fn adapted(adaptation: Adaptation, power: f64) -> f64 {
    let ladder = vec![mbps(1), mbps(2), BitRate::from_kbps(5_500), mbps(11)];
    let stations: Vec<StationSettings> = (0..2).map(|n| station(1, n, (31, 1023), mbps(11))).collect();
    let rates = (0..2).map(|n| RateSettings {
        adaptation: adaptation.clone(),
        ladder: ladder.clone(),
        draws: stream(1, "rate", &n.to_string()),
    });
    let links = at_power(2, power, -93.552_278_6);
    let space = SpatialChannel::new(long_preamble(), &[], links, stations).with_rates(rates.collect());
    let mut run = Run::of(space).with(signals(by_bits(), 2, 1));
    run.saturated = true;
    run.offer(Time::ZERO, 0, 1, 1500);
    run.offer(Time::ZERO, 0, 1, 1500);
    run.until(at_us(60_000_000));
    run.arrivals.len() as f64 * 1500.0 * 8.0 / 60e6
}

/// Goodput in Mb/s of a lone sender without errors, with frames of 1536 bytes: DIFS, 15.5 slots, data, SIFS, ACK.
fn without_errors(rate: BitRate) -> f64 {
    let timing = long_preamble().timing;
    let cycle =
        timing.difs + timing.slot * 31 / 2 + timing.frame(Bytes(1536), rate) + timing.sifs + timing.ack_to(rate);
    1500.0 * 8.0 / (cycle.as_secs() * 1e6)
}

/// With a strong signal all algorithms use the highest rate. Where 11 Mb/s hardly ever works and 5.5 Mb/s always does
/// (-89.0 dBm: 8.85e-5 and 0.974 for 1078 bytes), they come close to the goodput of 5.5 Mb/s, well above that of 2
/// Mb/s.
#[test]
fn adaptation_finds_the_rate_that_carries_most() {
    let algorithms = [
        Adaptation::Arf(ArfParams::default()),
        Adaptation::Aarf(AarfParams::default()),
        Adaptation::Minstrel(MinstrelParams::default()),
    ];
    assert_relative_eq!(adapted(Adaptation::Fixed, -60.0), without_errors(mbps(11)), max_relative = 0.01);
    assert!(adapted(Adaptation::Fixed, -89.0) < 0.05);
    let fitting = without_errors(BitRate::from_kbps(5_500));
    let mut carried = vec![];
    for algorithm in algorithms {
        let strong = adapted(algorithm.clone(), -60.0);
        let weak = adapted(algorithm.clone(), -89.0);
        let best = without_errors(mbps(11));
        // A tenth of Minstrel's frames sample another rate, and a slower one only after the best.
        assert!(strong > 0.99 * best, "{algorithm:?}: {strong} of {best} Mb/s");
        assert!(weak > 0.75 * fitting && weak <= fitting, "{algorithm:?}: {weak} of {fitting} Mb/s");
        carried.push(weak);
    }
    // ARF tries 11 Mb/s after every ten frames, AARF after up to fifty.
    assert!(carried[1] > carried[0], "{carried:?}");
}

/// Stations with one rate each that send to station 0 on a shared channel. Returns the frames received from each.
fn one_cell(access: Access, rates: &[BitRate], size: u16, seconds: u64) -> Vec<u64> {
    let n = u32::try_from(rates.len()).unwrap();
    let mut stations = vec![station(1, 0, (31, 1023), mbps(11))];
    stations.extend((1..=n).zip(rates).map(|(number, rate)| station(1, number, (31, 1023), *rate)));
    let mut cell = crate::common::cell(access, stations);
    let (mut packets, mut dropped, mut retry_limit_drops) = (Packets::default(), vec![], vec![]);
    for flow in 1..=n {
        for _ in 0..2 {
            let id = packets.insert(Packet { flow, size, ..Default::default() });
            cell.offer(flow, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut vec![], NEXT_HOPS));
        }
    }
    let mut received = vec![0; rates.len()];
    while cell.next() <= at_us(seconds * 1_000_000) {
        let now = cell.next();
        if let MacEvent::Packet { id, .. } =
            cell.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, NEXT_HOPS))
        {
            let flow = packets[id].flow;
            received[flow as usize - 1] += 1;
            cell.offer(flow, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], NEXT_HOPS));
        }
        for (from, id) in retry_limit_drops.drain(..) {
            cell.offer(from, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], NEXT_HOPS));
        }
    }
    received
}

/// The cell of [`one_cell`], simulated slot by slot in the simplest way: frames received from each in `seconds`.
fn slot_by_slot(access: &Access, rates: &[BitRate], size: u16, seconds: u64, draws: &mut Stream) -> Vec<u64> {
    let timing = &access.timing;
    let length = timing.frame_length(Bytes(u64::from(size)));
    let air: Vec<Duration> = rates.iter().map(|rate| timing.frame(length, *rate)).collect();
    let mut cw = vec![31; rates.len()];
    let mut tries = vec![0; rates.len()];
    let mut slots: Vec<u32> = cw.iter().map(|cw| draws.below(cw + 1)).collect();
    let mut received = vec![0; rates.len()];
    let mut time = Duration::ZERO;
    while time < Duration::from_secs(seconds) {
        let idle = *slots.iter().min().unwrap();
        let senders: Vec<usize> = (0..rates.len()).filter(|s| slots[*s] == idle).collect();
        slots.iter_mut().for_each(|left| *left -= idle);
        time += timing.difs + timing.slot * u64::from(idle);
        time += senders.iter().map(|s| air[*s]).max().unwrap();
        for &sender in &senders {
            tries[sender] += 1;
            if senders.len() == 1 {
                time += timing.sifs + timing.ack_to(rates[sender]);
                received[sender] += 1;
            }
            let done = senders.len() == 1 || tries[sender] == 7;
            cw[sender] = if done { 31 } else { (2 * cw[sender] + 1).min(1023) };
            tries[sender] = if done { 0 } else { tries[sender] };
            slots[sender] = draws.below(cw[sender] + 1);
        }
    }
    received
}

/// The performance anomaly (M. Heusse et al., INFOCOM 2003): one station at 1 Mb/s among n - 1 at 11 Mb/s, all
/// saturated. All get the same number of frames, close to the paper's equation (9), and the total falls below that of a
/// cell at 1 Mb/s times n.
#[test]
fn one_slow_station_slows_all_down() {
    for n in [2_usize, 5, 10] {
        let mut rates = vec![mbps(11); n];
        rates[0] = mbps(1);
        let mut access = long_preamble();
        access.answer_timeout = Some(access.timing.difs); // all resume together, as in the slot-by-slot count
        let seconds = 200;
        let received = one_cell(access, &rates, 1500, seconds);
        let total: u64 = received.iter().sum();
        let plain: u64 = slot_by_slot(&access, &rates, 1500, seconds, &mut stream(1, "plain", "count")).iter().sum();
        assert!((total as f64 - plain as f64).abs() < 4.0 * (2.0 * plain as f64).sqrt(), "{total} instead of {plain}");

        let mean = total as f64 / n as f64;
        for frames in &received {
            assert!((*frames as f64 - mean).abs() < 4.0 * mean.sqrt(), "{n} stations: {received:?}");
        }

        // (3), (5), (8), (9) of the paper: T = overhead + contention + data, P_c = 1 - (1 - 1/CW)^(n-1),
        // X = s / ((n - 1) T_f + T_s + P_c t_jam n), t_jam = 2/n T_s + (1 - 2/n) T_f.
        let timing = &access.timing;
        let count = n as f64;
        let p_c = 1.0 - (1.0 - 1.0 / 32.0_f64).powf(count - 1.0);
        let contention = timing.slot.as_secs() * (1.0 + p_c) / (2.0 * count) * 31.0 / 2.0;
        let time = |rate| {
            let frame = timing.frame(Bytes(1536), rate) + timing.sifs + timing.ack_to(rate) + timing.difs;
            frame.as_secs() + contention
        };
        let (fast, slow) = (time(mbps(11)), time(mbps(1)));
        let jam = 2.0 / count * slow + (1.0 - 2.0 / count) * fast;
        let each = 1.0 / ((count - 1.0) * fast + slow + p_c * jam * count);
        let measured = mean / seconds as f64;
        // The formula approximates collisions; the paper states an accuracy of a few per cent.
        assert_relative_eq!(measured, each, max_relative = 0.1);
        assert!(total as f64 / (seconds as f64) < count / slow, "{n} stations");
    }
}

fn mixed(protection: Option<BitRate>) -> Access {
    let mut timing = Timing::erp_ofdm(mbps(24));
    timing.slot = Duration::from_micros(20); // the long slot, as 802.11b stations are present
    timing.difs = timing.sifs + timing.slot * 2;
    timing.dsss = Some(Dsss { preamble: Duration::from_micros(192), basic_rate: mbps(2) });
    Access { protection, ..Access::standard(timing) }
}

/// One sender at 54 Mb/s, with and without a CTS-to-self at 2 Mb/s before each frame: 1536 bytes are 20 + 57 symbols of
/// 4 us + 6 = 254 us, the ACK 34 us, the CTS 192 + 56 us.
#[test]
fn protection_costs_a_cts_and_sifs() {
    for (protection, more_us) in [(None, 0.0), (Some(mbps(2)), 248.0 + 10.0)] {
        let stations = (0..2).map(|n| station(1, n, (15, 1023), mbps(54))).collect();
        let mut run = Run::of(SpatialChannel::new(mixed(protection), &[], RadioLinks::full(2), stations));
        run.saturated = true;
        run.offer(Time::ZERO, 0, 1, 1500);
        run.offer(Time::ZERO, 0, 1, 1500);
        let seconds = 20.0;
        run.until(at_us(20_000_000));
        let cycle = 50.0 + 7.5 * 20.0 + 254.0 + 10.0 + 34.0 + more_us;
        let expected = seconds * 1e6 / cycle;
        let sd = 20.0 * (255.0_f64 / 12.0).sqrt();
        let measured = run.arrivals.len() as f64;
        assert!((measured - expected).abs() < 4.0 * expected.sqrt() * sd / cycle + 1.0, "{measured}, {expected}");
        assert_eq!(run.space.air_time(at_us(20_000_000)).total(), Duration::from_secs(20));
    }
}

/// Nobody answers a CTS-to-self, so its sender does not notice that it collides, and sends its data after SIFS all the
/// same. Both stations begin after DIFS, 50 us; each CTS takes 248 us, 1500 B at 54 Mb/s 254 us. Data that follow two
/// CTS collide again; data that meet a frame of 802.11b (1536 B at 11 Mb/s, 192 + 1118 us) are lost with it; but a TCP
/// ACK of 802.11b (76 B, 192 + 56 us) is over when they begin.
#[test]
fn data_follow_a_cts_to_self_that_has_collided() {
    let (lost, read) = (Fate::Collision, Fate::Read);
    for (rate, size, frames, idle_from) in [
        (54, 1500, [(FrameKind::Data, 308, 562, lost), (FrameKind::Data, 308, 562, lost)], 562),
        (11, 1500, [(FrameKind::Data, 50, 1360, lost), (FrameKind::Data, 308, 562, lost)], 1360),
        (11, 40, [(FrameKind::Data, 50, 298, lost), (FrameKind::Data, 308, 562, read)], 606),
    ] {
        let stations = vec![station(1, 0, (15, 1023), mbps(54)), station(1, 1, (15, 1023), mbps(rate))];
        let mut channel = GeneralChannel::new(EdcaSettings::dcf(mixed(Some(mbps(2))), &[], stations));
        channel.set_tap(true);
        let (mut packets, mut dropped, mut given_up) = (Packets::default(), vec![], vec![]);
        for (from, size) in [(0, 1500), (1, size)] {
            let id = packets.insert(Packet { flow: from, hop: 1 - from, size, ..Packet::default() });
            let call = &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut given_up, NEXT_HOPS);
            channel.offer(from, id, call);
        }
        while channel.next() < at_us(3000) {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut given_up, NEXT_HOPS));
            assert_eq!(channel.air_time(now).total(), now - Time::ZERO);
        }
        let records = channel.tap().expect("it was set").frames();
        let mut found: Vec<_> = records.iter().map(|frame| (frame.kind, frame.start, frame.end, frame.fate)).collect();
        found.sort_by_key(|(kind, start, ..)| (*start, *kind != FrameKind::Data));
        let next = found.iter().find(|(_, start, ..)| *start > at_us(600)).expect("lost frames are sent again");
        assert!(next.1 >= at_us(idle_from + 50) && next.1 < at_us(idle_from + 50 + 32 * 20), "{next:?}");
        let data: Vec<_> = found.into_iter().filter(|(kind, ..)| *kind == FrameKind::Data).take(2).collect();
        assert_eq!(data, frames.map(|(kind, start, end, fate)| (kind, at_us(start), at_us(end), fate)));
    }
}

/// An 802.11b station does not read OFDM, so it does not get the NAV of a g station's frame, only that of the preceding
/// CTS; and a broadcast at 54 Mb/s does not reach it.
#[test]
fn ofdm_is_noise_to_an_80211b_station() {
    let received = |rate: BitRate| {
        let stations = (0..3).map(|n| station(1, n, (15, 1023), rate)).collect();
        let settings = SignalSettings {
            reception: Reception { capture: CaptureEffect::None, ..Reception::default() },
            fading: Fading::None,
            chances: chances(3, 1),
            newest: vec![ModulationClass::ErpOfdm, ModulationClass::ErpOfdm, ModulationClass::HrDsss],
        };
        let access = Access { broadcast_rate: rate, ..mixed(None) };
        let space = SpatialChannel::new(access, &[], RadioLinks::full(3), stations).with_signals(settings);
        let mut run = Run::of(space);
        run.offer(Time::ZERO, 0, BROADCAST, 1000);
        run.until(at_us(100_000));
        run.arrivals.iter().map(|arrival| arrival.to).collect::<Vec<_>>()
    };
    assert_eq!(received(mbps(54)), [1]);
    assert_eq!(received(mbps(11)), [1, 2]);
}

/// Stations 0 and 1 use 54 Mb/s. The 802.11b station 2 and station 0 do not hear each other; the CTS-to-self of station
/// 1 makes station 2 defer for the whole exchange. Without protection its frames collide with the ACKs.
#[test]
fn protection_makes_80211b_stations_wait() {
    // 2 hears only 1, and its frames reach 0.
    let run = |protection| {
        let links = RadioLinks::from_hearing(4, |from, to| match (from, to) {
            (0, 1) | (1, 0 | 2) | (2, 0 | 3) | (3, 2) => wifair_mac::Hearing::Reads,
            _ => wifair_mac::Hearing::Nothing,
        });
        let rates = [mbps(54), mbps(54), mbps(11), mbps(11)];
        let stations = (0..4).map(|n| station(1, n, (15, 1023), rates[n as usize])).collect();
        let settings = SignalSettings {
            reception: Reception { capture: CaptureEffect::None, ..Reception::default() },
            fading: Fading::None,
            chances: chances(4, 1),
            newest: [ModulationClass::ErpOfdm, ModulationClass::HrDsss]
                .into_iter()
                .flat_map(|class| [class; 2])
                .collect(),
        };
        let mut run = Run::of(SpatialChannel::new(mixed(protection), &[], links, stations).with_signals(settings));
        run.saturated = true;
        run.offer(Time::ZERO, 1, 0, 1500);
        run.offer(Time::ZERO, 1, 0, 1500);
        run.offer(Time::ZERO, 2, 3, 200);
        run.offer(Time::ZERO, 2, 3, 200);
        run.until(at_us(5_000_000));
        (run.space.counters(1).collisions as f64 / run.space.counters(1).attempts as f64, run.arrived_from(2))
    };
    let (open, protected) = (run(None), run(Some(mbps(2))));
    // The exchange is no longer disturbed, except by frames of station 2 that began before it.
    assert!(protected.0 < open.0, "{open:?} {protected:?}");
    assert!(protected.1 > 0);
}

/// A station with Minstrel-HT has more packets than fit into a TXOP of 4 ms, in PPDUs of up to four. Its exchanges end
/// within the TXOP, even if the mode of the next is slower than that of the last. Only a single MPDU that begins the
/// TXOP may take longer.
#[test]
fn a_slower_mode_does_not_make_a_txop_longer() {
    let ladder = (0..8).map(|mcs| HtMode::new(mcs, ChannelWidth::Mhz20, GuardInterval::Ns800).map(TxMode::Ht));
    let ladder: Vec<TxMode> = ladder.map(|mode| mode.expect("it exists")).collect();
    for seed in 0..10 {
        let category = || Category { txop: micros(4000), ..BE };
        let rules = AggregationRules { window: 4, ..aggregation() };
        let plans = vec![(ht_mcs7(), category()), (ht_mcs7(), category())];
        let mut settings = ht_settings(rules, plans, seed, 0.0, 0.0);
        settings.stations[1].link = LinkSettings {
            adaptation: Adaptation::MinstrelHt(MinstrelHtParams::default()),
            ladder: ladder.clone(),
            snr: vec![(Time::ZERO, 12.0)],
            draws: stream(seed, "rate", "1"),
            ..LinkSettings::fixed()
        };
        let mut channel = GeneralChannel::new(settings);
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        for seq in 0..2000 {
            let id = packets.insert(Packet { flow: 1, seq, size: 1500, ..Packet::default() });
            let mut call = Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, NEXT_HOPS);
            channel.offer_in(1, 0, id, &mut call);
        }
        let (mut won_at, mut last_end, mut mpdus) = (Time::ZERO, Time::ZERO, 0);
        while channel.next() < Time::NEVER {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, NEXT_HOPS));
            let tap = channel.tap().expect("it was set");
            for frame in tap.frames() {
                if frame.start.saturating_since(last_end) > micros(16) {
                    (won_at, mpdus) = (frame.start, 0);
                }
                mpdus += u32::from(frame.kind == FrameKind::Data);
                assert!(frame.end <= won_at + micros(4000) || mpdus == 1, "{frame:?} in a TXOP from {won_at:?}");
                last_end = frame.end;
            }
            tap.clear();
        }
    }
}
