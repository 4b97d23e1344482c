//! HE extended range (802.11ax, HE ER SU): what answers it, and what a lone station gets.

use wifair_mac::{ExchangeContent, ExchangeQuery, ExchangeTime, Fate, FrameKind, FrameRecord};
use wifair_phy::{Amendment, BasicRates, Coding, ModeRequest, PpduOptions};
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::world::WatchPlan;
use wifair_sim::{Run, RunOptions, run};
use wifair_units::{Duration, Time};

/// A station that always has datagrams of 1472 bytes for its access point, with these keys of 802.11ax, and what
/// follows in the scenario.
fn scenario(wlan: &str, station: &str, more: &str) -> Scenario {
    let text = format!(
        "duration = '21 s'
        warm_up = '1 s'
        wlan = {{ standard = '802.11ax', {wlan} }}
        [[servers]]
        name = 'server'
        [[stations]]
        name = 'sta'
        queue.limit = '500 packets'
        {station}
        [[flows]]
        name = 'up'
        station = 'sta'
        transport = 'udp'
        udp = {{ rate = '40 Mb/s', payload = '1472 B' }}
        {more}"
    );
    Scenario::parse(&text, "extended.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn saturated(wlan: &str, more: &str) -> Run {
    Run::new(&scenario(wlan, "", more), 1, &RunOptions::default())
}

fn completed(scenario: &Scenario) -> Outcome {
    run(scenario, 1, &RunOptions::default())
}

/// All stations hear each other, on the channel that knows this, and on the one that decides it link by link.
const CHANNELS: [&str; 2] = ["", "[space]"];

/// The cycle is AIFS (16 + 3 * 9 us), 7.5 slots, PPDU, SIFS and response. Before the data come 44 us and a training
/// field of 7.2 us; symbols take 13.6 us. An MPDU has 1538 bytes, 1544 with delimiter and padding, but 1542 if it is
/// the last one; 22 bits of service and tail are added.
///
/// - MCS 2 in 242 tones has 351 bits a symbol. In 5484 us there is time for 399 symbols, 17,503 bytes: 11 MPDUs, whose
///   135,878 bits take 388 symbols. The block ACK of 56 bytes and its delimiter of 4 take 5 symbols of 117 bits at MCS
///   0.
/// - MCS 0 in 106 tones has 51 bits a symbol, which leaves time for one MPDU: 12,358 bits, 243 symbols. The ACK of 14
///   bytes and its delimiter take 4 symbols.
#[test]
fn a_lone_station_has_the_closed_form() {
    let cycle_us = |symbols: f64, of_response: f64| 43.0 + 67.5 + 16.0 + 2.0 * 51.2 + 13.6 * (symbols + of_response);
    for (wlan, mpdus, cycle_us) in [
        ("mcs = 2, extended_range = 242", 11.0, cycle_us(388.0, 5.0)),
        ("mcs = 0, extended_range = 106", 1.0, cycle_us(243.0, 4.0)),
    ] {
        for channel in CHANNELS {
            let goodput = completed(&scenario(wlan, "", channel)).cell.goodput_bps / 1e6;
            let expected = mpdus * 8.0 * 1472.0 / cycle_us;
            // The backoff is uniform on 0 to 15 slots; four standard errors of the mean of 20 s.
            let sd_us = 9.0 * ((16.0_f64.powi(2) - 1.0) / 12.0).sqrt();
            let tolerance = 4.0 * sd_us / cycle_us / (20e6 / cycle_us).sqrt();
            assert!((goodput / expected - 1.0).abs() < tolerance, "{wlan} {channel}: {goodput}, not {expected} Mb/s");
        }
    }
}

/// The frames of the first 100 ms of a run: a record for each MPDU of the data.
fn frames(run: &mut Run) -> Vec<FrameRecord> {
    run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
    run.advance(Time::ZERO + Duration::from_millis(100));
    let (tap, _) = run.world().aired().next().expect("a channel");
    tap.frames().to_vec()
}

const fn is_response(frame: &FrameRecord) -> bool {
    matches!(frame.kind, FrameKind::Ack | FrameKind::BlockAck)
}

/// The exchange takes as long as `wifair airtime` says, and its frames reserve the channel for that long, in whole
/// microseconds.
#[test]
fn an_exchange_takes_its_computed_time() {
    for (wlan, mode) in [
        (
            "mcs = 2, extended_range = 242",
            ModeRequest { mcs: Some(2), extended_range: Some(242), ..ModeRequest::default() },
        ),
        (
            "mcs = 0, extended_range = 106",
            ModeRequest { mcs: Some(0), extended_range: Some(106), ..ModeRequest::default() },
        ),
        (
            "mcs = 1, extended_range = 242, dcm = true, guard_interval = '3200 ns', coding = 'ldpc'",
            ModeRequest {
                mcs: Some(1),
                extended_range: Some(242),
                dcm: true,
                guard_interval: Some(Duration::from_nanos(3200)),
                coding: Some(Coding::Ldpc),
                ..ModeRequest::default()
            },
        ),
    ] {
        for channel in CHANNELS {
            let frames = frames(&mut saturated(wlan, channel));
            let last = frames.iter().rposition(is_response).expect("a response");
            let (data, response) = (frames[last - 1], frames[last]);
            let mpdus = data.aggregate.map_or(1, |aggregate| aggregate.of.into());
            let content =
                if mpdus > 1 { ExchangeContent::AMpdu(data.length, mpdus) } else { ExchangeContent::Mpdu(data.length) };
            let computed = ExchangeTime::new(&ExchangeQuery {
                amendment: Amendment::Ax,
                mode,
                content,
                response: None,
                buffer_size: None,
                basic_rates: BasicRates::mandatory(),
                options: PpduOptions::default(),
            })
            .expect("the exchange exists");
            let (_, response_mode, length, air) = computed.response.expect("a response");
            assert_eq!(response.end - data.start, computed.exchange(), "{wlan} {channel}");
            assert_eq!((response.end - response.start, response.length), (air, length), "{wlan} {channel}");
            assert_eq!((response.mode, response.rate), (Some(response_mode), response_mode.data_rate()));
            let beyond = data.reserves - (computed.sifs + air);
            assert!(beyond < Duration::from_micros(1), "{wlan} {channel}: {beyond} more than needed");
        }
    }
}

/// A CTS answers an RTS, which is not sent in extended range: 14 bytes at 24 Mb/s take 28 us. The RTS reserves the
/// channel for the CTS, the data, their response and what lies between.
#[test]
fn a_cts_is_not_in_extended_range() {
    for channel in CHANNELS {
        let frames = frames(&mut saturated("mcs = 2, extended_range = 242, rts_threshold = '100 B'", channel));
        let place = frames.iter().position(|frame| frame.kind == FrameKind::Cts).expect("a CTS");
        let [rts, cts, data] = [place - 1, place, place + 1].map(|place| frames[place]);
        assert_eq!((cts.mode, cts.end - cts.start), (None, Duration::from_micros(28)), "{channel}");
        let response = frames[place..].iter().find(|frame| is_response(frame)).expect("a response");
        let beyond = rts.reserves - (response.end - rts.end);
        assert!(data.mode.is_some() && beyond < Duration::from_micros(1), "{channel}: {beyond} more than needed");
    }
}

/// At -1 dB an LDPC code of rate 1/2 still protects BPSK: with a capacity of 0.66 bits it loses no MPDU. The
/// convolutional code of 6 Mb/s, with a tenth of the coded bits wrong, protects nothing, so no response in OFDM would
/// arrive. Three MPDUs of 1538 bytes take 317 symbols of 117 bits, the block ACK 5.
#[test]
fn responses_reach_as_far_as_the_data() {
    let wlan = "mcs = 0, extended_range = 242, coding = 'ldpc'";
    let cycle_us = 43.0 + 67.5 + 16.0 + 2.0 * 51.2 + 13.6 * (317.0 + 5.0);
    let goodput = completed(&scenario(wlan, "snr = '-1 dB'", "")).cell.goodput_bps / 1e6;
    let expected = 3.0 * 8.0 * 1472.0 / cycle_us;
    assert!((goodput / expected - 1.0).abs() < 0.002, "{goodput}, not {expected} Mb/s");
}

/// At 2.5 dB, 2000 bytes at 6 Mb/s survive with the published probability of 2.04e-10 (ns-3's ofdm-validation.cc), so
/// the 24 and 52 bits of L-SIG and HE-SIG-A survive with 0.90. LDPC loses nothing, so that is the share of PPDUs that
/// get a block ACK, and the share of these that arrive; at 6 Mb/s, with 24 and 470 bits, half would arrive.
#[test]
fn responses_have_errors_of_their_own_in_space() {
    let far = "[space]
        reception = { spoils = 'bits', capture_threshold = '-5 dB' }
        [space.radio]
        tx_power = '0 dBm'
        noise = '-90 dBm'
        sensitivity = '-100 dBm'
        carrier_sense = '-100 dBm'
        [[space.paths]]
        from = 'sta'
        to = 'ap'
        gain = '-87.5 dB'";
    let found = completed(&scenario("mcs = 0, extended_range = 242, coding = 'ldpc'", "", far));
    let sta = found.stations.iter().find(|station| station.name == "sta").expect("the station");
    let (sent, lost) = (sta.ppdus as f64, sta.block_acks_lost as f64);
    let survival = 2.04e-10_f64.powf(76.0 / 16_000.0);
    let expected = survival * (1.0 - survival);
    let tolerance = 4.0 * (expected * (1.0 - expected) / sent).sqrt();
    assert!((lost / sent - expected).abs() < tolerance, "{lost} of {sent} lost, not {expected}");
}

/// Stations of 802.11a and n read neither the data nor the response. They wait for EIFS (SIFS, DIFS and an ACK at 6
/// Mb/s: 16 + 34 + 44 us) after each. Both channels have the same frames.
#[test]
fn older_stations_do_not_read_the_response() {
    for standard in ["802.11a", "802.11n"] {
        let [cell, space] = CHANNELS.map(|channel| {
            let more = format!(
                "{channel}
                [[stations]]
                name = 'old'
                standard = '{standard}'
                [[flows]]
                name = 'old'
                station = 'old'
                transport = 'udp'
                udp = {{ rate = '40 Mb/s' }}"
            );
            frames(&mut saturated("mcs = 2, extended_range = 242", &more))
        });
        let is_extended = |frame: &FrameRecord| frame.mode.is_some() && is_response(frame);
        let gaps = cell.windows(2).filter(|pair| is_extended(&pair[0]) && pair[1].from != pair[0].to);
        let gaps = gaps.filter(|pair| pair[1].kind == FrameKind::Data);
        let shortest = gaps.map(|pair| pair[1].start - pair[0].end).min().expect("the older station sends");
        assert!(shortest >= Duration::from_micros(94), "{shortest} after a response");
        let starts = |frames: &[FrameRecord]| {
            let mut starts: Vec<_> = frames.iter().map(|frame| (frame.start, frame.from)).collect();
            starts.sort_unstable();
            starts
        };
        assert_eq!(starts(&cell), starts(&space), "{standard}");
    }
}

/// A station of 802.11a waits EIFS after an ACK in extended range, which it does not read, with shortcuts as without.
#[test]
fn an_older_station_waits_with_shortcuts_too() {
    let older = "[[stations]]
        name = 'old'
        standard = '802.11a'
        [[flows]]
        name = 'old'
        station = 'old'
        transport = 'udp'
        udp = { rate = '40 Mb/s', payload = '1472 B' }";
    let scenario = scenario("mcs = 0, extended_range = 242, aggregation.max_ampdu = '0 B'", "", older);
    let goodputs = [true, false].map(|fast_paths| {
        let outcome = run(&scenario, 1, &RunOptions { fast_paths, ..RunOptions::default() });
        outcome.flows.iter().map(|flow| flow.goodput_bps).collect::<Vec<_>>()
    });
    assert_eq!(goodputs[0], goodputs[1]);
}

/// Non-HT does not reach as far as extended range, so no RTS precedes the second and later modes of Minstrel-HT there,
/// as it does in the normal range. The fastest mode fails at these SNRs.
#[test]
fn no_rts_before_fallback_modes_in_extended_range() {
    let rts = |wlan: &str, snr: &str| {
        let wlan = format!("{wlan}, basic_rate = '6 Mb/s', rate_adaptation = 'minstrel-ht'");
        let mut run = Run::new(&scenario(&wlan, &format!("snr = '{snr}'"), ""), 1, &RunOptions::default());
        run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        run.advance(Time::ZERO + Duration::from_secs(2));
        let (tap, _) = run.world().aired().next().expect("a channel");
        let lost = tap.frames().iter().filter(|frame| frame.kind == FrameKind::Data && frame.fate == Fate::Error);
        assert!(lost.count() > 10, "{wlan}");
        tap.frames().iter().filter(|frame| frame.kind == FrameKind::Rts).count()
    };
    assert_eq!(rts("mcs = 2, extended_range = 242", "1 dB"), 0);
    assert!(rts("mcs = 7", "10 dB") > 0);
}
