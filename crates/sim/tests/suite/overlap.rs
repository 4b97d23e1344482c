//! Access points on channels that overlap, fully or in part.

use wifair_sim::record::{Outcome, StationOutcome};
use wifair_sim::scenario::{OwnMode, Scenario};
use wifair_sim::{RunOptions, run};

fn outcome(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, "overlap.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, 1, &RunOptions::default())
}

fn problems(text: &str) -> String {
    Scenario::parse(text, "overlap.toml", &[]).expect_err("the scenario is wrong").to_string()
}

/// A saturated station at each of these access points, which are 10 m apart, each 5 m from its own.
fn cells(wlan: &str, ap: &str, only: &[u32]) -> String {
    let mut text = format!(
        "duration = '4 s'\n[wlan]\n{wlan}\n[space]\noverlapping_channels = true\nradio.tx_power = '15 dBm'\n\
         [ap]\n{ap}\nlayout = 'chain'\nchain.spacing = '10 m'\n"
    );
    for number in only {
        text += &format!(
            "[[servers]]\nname = 'server{number}x'\nat = 'ap{number}'\nrate = '10 Gb/s'\n\
             [[stations]]\nname = 'sta{number}x'\nap = 'ap{number}'\nposition = ['{} m', '5 m']\n\
             [[flows]]\nname = 'up{number}x'\nstation = 'sta{number}x'\nserver = 'server{number}x'\n\
             transport = 'udp'\nudp.rate = '300 Mb/s'\n",
            10 * (number - 1)
        );
    }
    text
}

fn goodput(outcome: &Outcome, number: u32) -> f64 {
    let name = format!("up{number}x");
    outcome.flows.iter().find(|flow| flow.name == name).expect("the flow is there").goodput_bps
}

fn station(outcome: &Outcome, number: u32) -> &StationOutcome {
    let name = format!("sta{number}x");
    outcome.stations.iter().find(|station| station.name == name).expect("the station is there")
}

/// Number of PPDUs of a station in 20, 40, 80 and 160 MHz.
fn widths(outcome: &Outcome, number: u32) -> [u64; 4] {
    let [first, second, third, fourth, _] = station(outcome, number).ppdus_by_width.0;
    [first, second, third, fourth]
}

const AC: &str = "standard = '802.11ac'\nmcs = 7\nstreams = 1\n";

/// Channels that do not overlap do not interact, even if a third, idle channel overlaps with both: each cell behaves
/// exactly as it does alone.
#[test]
fn disjoint_channels_are_independent() {
    for (count, channels, widths) in [(2, "[36, 40]", "[20]"), (3, "[36, 40, 36]", "[20, 20, 80]")] {
        let ap = format!("count = {count}\nchannels = {channels}\nwidths = {widths}");
        let both = outcome(&cells(AC, &ap, &[1, 2]));
        for number in [1, 2] {
            let alone = outcome(&cells(AC, &ap, &[number]));
            assert_eq!(goodput(&both, number), goodput(&alone, number), "{ap}");
            assert_eq!(widths_of(&both, number), [true, false, false, false]);
        }
    }
}

fn widths_of(outcome: &Outcome, number: u32) -> [bool; 4] {
    widths(outcome, number).map(|ppdus| ppdus > 0)
}

/// Identical channels of 20, 40, 80 and 160 MHz, wherever the primary channels are in them: stations behave as on a
/// single channel without frequencies. (A collision that all stations hear makes no difference: without capture, all
/// frames in it are lost.)
#[test]
fn the_same_channel_is_shared_whatever_its_width() {
    for (width, channels) in [(20, "[36]"), (40, "[36]"), (80, "[36]"), (80, "[36, 48]"), (160, "[44, 64]")] {
        let wlan = format!("{AC}width = {width}\n");
        let ap = format!("count = 2\nchannels = {channels}");
        let text = cells(&wlan, &ap, &[1, 2]).replace("[space]", "[space]\nreception.capture_threshold = '20 dB'");
        let plain = text.replace("overlapping_channels = true", "").replace(channels, "[36]");
        let (both, plain) = (outcome(&text), outcome(&plain));
        for number in [1, 2] {
            assert_eq!(goodput(&both, number), goodput(&plain, number), "{width} MHz {channels}");
            let place = [20, 40, 80, 160].iter().position(|other| *other == width).unwrap();
            let sent = widths(&both, number);
            assert_eq!(sent.iter().sum::<u64>(), sent[place], "all of {width} MHz");
            assert!(sent[place] > 100);
        }
    }
}

/// Times of single VHT frames of 1534 bytes with MCS 7 (5/6 of 64-QAM: 260, 540 and 1170 bits a symbol) and their ACK
/// at 24 Mb/s, in us (IEEE Std 802.11-2016, 21.4.3 and 17.4.3). The A-MPDU has 1472 + 28 + 8 + 30 bytes and a
/// delimiter.
fn exchange_us(bits_per_symbol: u32) -> (u64, u64) {
    let psdu = 1472 + 28 + 8 + 30 + 4;
    let symbols = (16 + 8 * psdu + 6_u32).div_ceil(bits_per_symbol);
    let ack = 20 + 4 * (16 + 14 * 8 + 6_u32).div_ceil(96);
    (u64::from(40 + 4 * symbols), u64::from(ack))
}

/// Two saturated senders by the standard's rules, one event after the other: `wide` has the primary channel 36 and the
/// secondary channel 40; `narrow` has channel 40 alone, on which it hears both. Returns the frames per second that each
/// delivers, and the fraction of the wide sender's frames that use the full width.
fn by_hand(is_static: bool, seed: u64) -> (f64, f64, f64) {
    const SLOT: u64 = 9;
    const SIFS: u64 = 16;
    const AIFS: u64 = SIFS + 3 * SLOT;
    const PIFS: u64 = SIFS + SLOT;
    let (wide_us, ack) = exchange_us(540);
    let (narrow_us, _) = exchange_us(260);
    let mut state = seed;
    let mut draw = |cw: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (cw + 1)
    };
    let end = 400_000_000;
    let (mut delivered, mut by_narrow, mut sent, mut of_40) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut windows, mut tries) = ([15_u64; 2], [0; 2]);
    // When the wide one sends; start of the narrow one's slot count, and slots left.
    let mut wide_at = AIFS + SLOT * draw(15);
    let (mut from, mut left) = (AIFS, draw(15));
    // Channel 40 is busy until then.
    let mut busy_until = 0;
    loop {
        let narrow_at = from + SLOT * left;
        let now = wide_at.min(narrow_at);
        if now > end {
            break;
        }
        let mut sends = [wide_at == now, narrow_at == now];
        let mut width = 40;
        if sends[0] && now < busy_until + PIFS {
            if is_static {
                wide_at = now + SLOT * (draw(windows[0]) + 1);
                sends[0] = false;
            } else {
                width = 20;
            }
        }
        let collides = sends == [true; 2] && width == 40;
        let data = [if width == 40 { wide_us } else { narrow_us }, narrow_us];
        let mut settle = |who: usize| -> (u64, u64) {
            // The end of the exchange, and the backoff after it.
            if collides {
                tries[who] += 1;
                windows[who] = if tries[who] == 7 { 15 } else { (2 * windows[who] + 1).min(1023) };
                tries[who] %= 7;
                // The ACK timeout: SIFS, a slot and the preamble.
                return (now + data[who] + SIFS + SLOT + 20, draw(windows[who]));
            }
            (windows[who], tries[who]) = (15, 0);
            (now + data[who] + SIFS + ack, draw(15))
        };
        if sends[0] {
            let (done, backoff) = settle(0);
            wide_at = done + AIFS + SLOT * backoff;
            delivered += u64::from(!collides);
            sent += 1;
            of_40 += u64::from(width == 40);
            if width == 40 && !sends[1] {
                // The narrow one senses it, and has counted the slot boundaries before.
                if now >= from {
                    left = left.saturating_sub((now - from) / SLOT + 1);
                }
                busy_until = done;
                from = done + AIFS;
            }
        }
        if sends[1] {
            let (done, backoff) = settle(1);
            // Frames that collide are not acknowledged.
            busy_until = if collides { now + data[1] } else { done };
            from = done + AIFS;
            left = backoff;
            by_narrow += u64::from(!collides);
        }
    }
    let seconds = end as f64 / 1e6;
    (delivered as f64 / seconds, by_narrow as f64 / seconds, of_40 as f64 / sent as f64)
}

/// A cell of 40 MHz next to one of 20 MHz in its secondary channel, compared with an independent simulation of the two
/// senders by the rules of 10.22.2.4 and 10.22.2.5; also the wide sender's distribution of widths.
#[test]
fn a_busy_secondary_channel_costs_what_the_rules_say() {
    for bandwidth in ["static", "dynamic"] {
        let wlan = format!("{AC}bandwidth = '{bandwidth}'\naggregation.max_ampdu = '0 B'\n");
        let ap = "count = 2\nchannels = [36, 40]\nwidths = [40, 20]";
        let text = cells(&wlan, ap, &[1, 2])
            .replace("duration = '4 s'", "duration = '20 s'")
            .replace("[space]", "[space]\nreception.capture_threshold = '20 dB'");
        let found = outcome(&text);
        let per_second = |number| goodput(&found, number) / (8.0 * 1472.0);
        let (wide, narrow, share) = by_hand(bandwidth == "static", 1);
        let sent = widths(&found, 1);
        let found_share = sent[1] as f64 / (sent[0] + sent[1]) as f64;
        assert!((per_second(1) / wide - 1.0).abs() < 0.01, "{bandwidth}: {} for {wide}", per_second(1));
        assert!((per_second(2) / narrow - 1.0).abs() < 0.01, "{bandwidth}: {} for {narrow}", per_second(2));
        assert!((found_share - share).abs() < 0.004, "{bandwidth}: {found_share} for {share}");
        let held_back = station(&found, 1).held_back_by_secondary;
        assert_eq!(held_back > 0, bandwidth == "static", "{held_back}");
    }
}

/// A neighbour in the third or fourth 20 MHz channel leaves the first 40 MHz usable; in the second it leaves 20 MHz.
#[test]
fn dynamic_bandwidth_falls_back_to_what_is_idle() {
    for (channel, expected) in [(48, [false, true, true, false]), (40, [true, false, true, false])] {
        let ap = format!("count = 2\nchannels = [36, {channel}]\nwidths = [80, 20]");
        let found = outcome(&cells(AC, &ap, &[1, 2]));
        assert_eq!(widths_of(&found, 1), expected, "channel {channel}: {:?}", widths(&found, 1));
        assert_eq!(widths_of(&found, 2), [true, false, false, false]);
    }
}

/// Two cells in which all received powers are given: access points 1 and 2, then stations 1 and 2. `power` is that of
/// station 2 at access point 1 in dBm; apart from this, the cells do not hear each other.
fn powers(wlan: &str, ap: &str, power: f64) -> Outcome {
    let far = "'-200 dB'";
    let gain = format!("'{} dB'", power - 15.0);
    let rows = [
        ["'0 dB'", far, "'-75 dB'", far],
        [far, "'0 dB'", far, "'-75 dB'"],
        ["'-75 dB'", far, "'0 dB'", far],
        [&gain, "'-75 dB'", far, "'0 dB'"],
    ];
    let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", row.join(", "))).collect();
    let text = cells(wlan, ap, &[1, 2]);
    outcome(&text.replace("[space]", &format!("[space]\ngains = [{}]", rows.join(", "))))
}

/// Frames arrive at -60 dBm and must stand out by 10 dB. Of an interferer of 80 MHz, a frame of 20 MHz receives a
/// quarter (-6.02 dB), one of 40 MHz a half, one of 80 MHz all. Of an interferer of 20 MHz in its other half, a frame
/// of 40 MHz receives all, one of 20 MHz nothing.
#[test]
fn interference_is_what_falls_into_the_frame() {
    for (widths, channels, limit) in [
        ("[20, 80]", "[36, 40]", Some(-70.0 + 6.02)),
        ("[40, 80]", "[36, 40]", Some(-70.0 + 3.01)),
        ("[80, 80]", "[36, 40]", Some(-70.0)),
        ("[40, 20]", "[36, 40]", Some(-70.0)),
        ("[20, 20]", "[36, 40]", None),
    ] {
        let ap = format!("count = 2\nchannels = {channels}\nwidths = {widths}");
        let alone = powers(AC, &ap, -150.0);
        let limit_db: f64 = limit.unwrap_or(-50.0);
        for (power, is_read) in [(limit_db - 0.4, true), (limit_db + 0.4, limit.is_none())] {
            let found = powers(AC, &ap, power);
            let part = goodput(&found, 1) / goodput(&alone, 1);
            assert!(if is_read { part > 0.95 } else { part < 0.3 }, "{widths} at {power} dBm: {part}");
        }
    }
}

/// A neighbour on the secondary channel that only the access point hears (-66 dBm): frames of 40 MHz are lost whenever
/// it is sending, which is nearly always (-60 dBm is less than 10 dB above it). An RTS detects this: with static
/// bandwidth it gets no CTS while the neighbour is sending; with dynamic bandwidth it gets a CTS of 20 MHz, and data of
/// 20 MHz follow.
#[test]
fn a_cts_tells_what_is_idle_at_the_receiver() {
    let ap = "count = 2\nchannels = [36, 40]\nwidths = [40, 20]";
    let found = |bandwidth: &str, rts: &str| {
        let wlan = format!("{AC}bandwidth = '{bandwidth}'\nrts_threshold = '{rts}'\n");
        powers(&wlan, ap, -66.0)
    };
    let narrow = powers(&format!("{AC}rts_threshold = '0 B'\n"), &ap.replace("[40, 20]", "[20]"), -66.0);
    let alone = goodput(&narrow, 1);
    let blind = found("dynamic", "16 MB");
    assert_eq!(widths_of(&blind, 1), [false, true, false, false], "its sender hears nothing");
    assert!(goodput(&blind, 1) < 0.2 * alone);
    let dynamic = found("dynamic", "0 B");
    assert_eq!(widths_of(&dynamic, 1), [true, true, false, false]);
    assert!(goodput(&dynamic, 1) > 0.9 * alone, "{} of {alone}", goodput(&dynamic, 1));
    let is_static = found("static", "0 B");
    assert_eq!(widths_of(&is_static, 1), [false, true, false, false]);
    assert!(goodput(&is_static, 1) < 0.5 * goodput(&dynamic, 1));
}

/// In 802.11g, channels 1 and 3 share half of their spectrum: nearby stations defer to each other's energy (-62 dBm)
/// although they cannot read the frames; channels 1 and 6 do not interact.
#[test]
fn partly_overlapping_channels_of_2_4_ghz_wait_for_each_others_energy() {
    let wlan = "standard = '802.11g'\n";
    let both = |channels: &str| {
        let found = outcome(&cells(wlan, &format!("count = 2\nchannels = {channels}"), &[1, 2]));
        goodput(&found, 1) + goodput(&found, 2)
    };
    let alone = goodput(&outcome(&cells(wlan, "count = 2\nchannels = [1, 6]", &[1])), 1);
    assert!((both("[1, 6]") / alone - 2.0).abs() < 0.01);
    for channels in ["[1]", "[1, 2]", "[1, 3]"] {
        let part = both(channels) / alone;
        assert!((0.75..1.25).contains(&part), "{channels}: {part} of one alone");
    }
}

#[test]
fn what_does_not_exist_is_refused() {
    let told = |wlan: &str, ap: &str| problems(&cells(wlan, ap, &[1, 2]));
    let n = "standard = '802.11n'\nband = '2.4 GHz'\n";
    for (wlan, ap, expected) in [
        (AC, "count = 2\nchannels = [36, 38]", "no channel 38 in 5 GHz"),
        (AC, "count = 2", "no channel 1 in 5 GHz"),
        (AC, "count = 2\nchannels = [165, 132]\nwidths = [80, 160]", "no channel of 160 MHz around channel 132"),
        (AC, "count = 2\nchannels = [36]\nwidths = [30]", "no channel of 30 MHz"),
        (n, "count = 2\nchannels = [1]\nwidths = [80]", "no channel of 80 MHz around channel 1 in 2.4 GHz"),
        ("standard = '802.11g'\n", "count = 2\nchannels = [1]\nwidths = [20]", "`widths` does not apply to 802.11g"),
        ("standard = '802.11g'\nbandwidth = 'static'\n", "count = 2", "`bandwidth` does not apply to 802.11g"),
        ("standard = '802.11ac'\nmcs = 9\n", "count = 2\nchannels = [36]\nwidths = [80, 20]", "MCS 9"),
    ] {
        let told = told(wlan, ap);
        assert!(told.contains(expected), "{told}");
    }
    let text = cells(AC, "count = 2\nchannels = [36]", &[1, 2]);
    for (from, to, expected) in [
        ("overlapping_channels = true", "", "`widths` needs channels that overlap"),
        ("[space]", "[space]\nreception.capture = 'none'", "`capture` is \"none\" with overlapping channels"),
        (
            "[[servers]]",
            "[[space.paths]]\nfrom = 'ap1'\nto = 'sta1x'\nmiss = 0.5\n[[servers]]",
            "`miss` with overlapping",
        ),
        ("position", "width = 80\nposition", "PPDUs of 80 MHz in a channel of 40 MHz"),
    ] {
        let told =
            problems(&text.replacen(from, to, 1).replacen("channels = [36]", "channels = [36]\nwidths = [40]", 1));
        assert!(told.contains(expected), "{told}");
    }
    // The first station has the width of the second access point.
    let told = problems(&text.replacen("position", "width = 80\nposition", 1).replacen(
        "channels = [36]",
        "channels = [36]\nwidths = [40, 80]",
        1,
    ));
    assert!(told.contains("PPDUs of 80 MHz in a channel of 40 MHz"), "{told}");
}

/// A station with two categories, whose secondary channel is nearly always busy: the other access point sends again
/// one slot after SIFS. It draws a new backoff again and again, and whenever those of voice and video end together,
/// this is a failed attempt for video (10.22.2.4), seven of which use up a frame. So video gives up most of its 85
/// frames a second, although hardly any is on the air; voice gives up only what it has sent seven times.
#[test]
fn a_category_fails_beside_one_that_a_secondary_channel_holds_back() {
    let text = "
        duration = '1 s'
        [wlan]
        standard = '802.11ac'
        mcs = 7
        streams = 1
        bandwidth = 'static'
        aggregation.max_ampdu = '0 B'
        [space]
        overlapping_channels = true
        radio.tx_power = '15 dBm'
        [ap]
        count = 2
        channels = [36, 40]
        widths = [40, 20]
        layout = 'chain'
        chain.spacing = '10 m'
        edca.be.aifsn = 1
        edca.be.cw_min = 0
        edca.be.cw_max = 0
        [[servers]]
        name = 'first'
        at = 'ap1'
        [[servers]]
        name = 'second'
        at = 'ap2'
        rate = '10 Gb/s'
        [[stations]]
        name = 'sta1'
        ap = 'ap1'
        position = ['0 m', '5 m']
        [[stations]]
        name = 'sta2'
        ap = 'ap2'
        position = ['10 m', '5 m']
        [[flows]]
        name = 'voice'
        station = 'sta1'
        server = 'first'
        transport = 'udp'
        udp.rate = '1 Mb/s'
        category = 'voice'
        [[flows]]
        name = 'video'
        station = 'sta1'
        server = 'first'
        transport = 'udp'
        udp.rate = '1 Mb/s'
        category = 'video'
        [[flows]]
        name = 'neighbour'
        station = 'sta2'
        server = 'second'
        direction = 'down'
        transport = 'udp'
        udp.rate = '300 Mb/s'";
    let outcome = outcome(text);
    let given_up = |name: &str| {
        let flow = outcome.flows.iter().find(|flow| flow.name == name).expect("the flow is there");
        flow.data_drops_retry_limit
    };
    let sta1 = outcome.stations.iter().find(|station| station.name == "sta1").expect("the station is there");
    assert!(given_up("video") > 60, "{}", given_up("video"));
    assert!(7 * given_up("voice") <= sta1.attempts, "{} of {}", given_up("voice"), sta1.attempts);
}

/// With the short guard interval, rate adaptation also has modes with the long one. In a narrower channel each mode is
/// replaced by one with the same guard interval; once all were replaced by modes with the short one.
#[test]
fn narrower_modes_have_the_same_guard_interval() {
    for wlan in [
        "standard = '802.11n'\nband = '5 GHz'\nwidth = 40\nmcs = 15\nguard_interval = '400 ns'",
        "standard = '802.11ac'\nwidth = 80\nmcs = 9\nstreams = 2\nguard_interval = '400 ns'",
        "standard = '802.11ax'\nwidth = 80\nguard_interval = '3200 ns'",
    ] {
        let text = format!(
            "duration = '1 s'\n[wlan]\n{wlan}\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'sta'\n\
             [[flows]]\nname = 'up'\nstation = 'sta'"
        );
        let scenario = Scenario::parse(&text, "overlap.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let wlan = scenario.file.wlan.as_ref().expect("there is a WLAN");
        let (_, own) = wlan.mode(OwnMode::default()).expect("the mode exists");
        for (wide, narrower) in wlan.narrower(&wlan.modes_up_to(OwnMode::default(), own), OwnMode::default()) {
            let widths: Vec<u32> = narrower.iter().map(|mode| mode.width().mhz()).collect();
            let below = [20, 40, 80].into_iter().filter(|width| *width < wide.width().mhz());
            assert_eq!(widths, below.collect::<Vec<_>>(), "{wide:?}");
            for mode in narrower {
                let kept = |mode: &wifair_phy::TxMode| (mode.guard_interval(), mode.streams());
                assert_eq!(kept(&mode), kept(&wide), "{wide:?} {mode:?}");
            }
        }
    }
}
