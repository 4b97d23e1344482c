//! Linux features for the host's sake: bursts for segmentation offload, and small queues.

use super::*;

/// A sender with segments of 1000 bytes and an RTT of `rtt` ms, whose first ten segments are acknowledged.
fn measured(rtt: u64, settings: &str) -> (Sender, Time) {
    let mut sender = ten_in_flight(settings);
    let now = Time::ZERO + Duration::from_millis(100 + rtt);
    sender.on_packet(now, &Packet { window: u16::MAX, ..ack(10, &[]) });
    (sender, now)
}

/// Linux, tcp_tso_autosize: what leaves in 1/1024 s and, for nearby receivers, 64 KiB halved for each 512 us of the
/// minimum RTT; at least `pacing_burst`, at most 64 KiB.
#[test]
fn bursts_hold_what_leaves_in_a_millisecond() {
    let on = "pacing_burst = 2\ntso_autosize = true";
    for (rtt, settings, rate, segments) in [
        (100, "", 10e6, 1),
        (100, "pacing_burst = 3", 10e6, 3),
        (100, on, 10e6, 9),  // 9765 B
        (100, on, 2.5e6, 2), // 2441 B
        (100, on, 1e6, 2),   // 976 B
        (100, on, 1e9, 65),  // 65,536 B at most
        (1, on, 1e6, 33),    // 976 + 65,536 / 2
        (3, on, 1e6, 3),     // 976 + 65,536 / 2^5
        (16, on, 1e6, 2),    // 976 + 65,536 / 2^31
    ] {
        let (sender, _) = measured(rtt, settings);
        assert_eq!(sender.burst(rate), segments, "{rtt} ms, {settings}, {rate} B/s");
    }
}

/// A window of 291 segments in 100 ms, twice that in slow start: 5.8 MB/s. 5683 bytes in 1/1024 s are a burst of five
/// segments, after which the next waits for the time of five segments. The first one is late, which counts half a
/// segment.
#[test]
fn a_burst_leaves_at_once_and_the_next_after_its_time() {
    let (mut sender, _) = ends(
        "pacing = true\ntso_autosize = true\nhandshake = 'none'\nmss = '1000 B'\nvalidate_window = false
        receive_window = '1 MB'\ninitial_window = '290 packets'",
    );
    sender.open(Time::ZERO);
    sender.supply(10_000);
    assert_eq!(flush(&mut sender).len(), 10);
    sender.supply(1_000_000);
    let mut now = Time::ZERO + Duration::from_millis(200);
    sender.on_packet(now, &Packet { window: 60_000, ..ack(10, &[]) });
    assert_eq!((sender.cwnd(), sender.rtt().srtt()), (291.0, Duration::from_millis(100)));
    for segments in [4.5, 5.0, 5.0] {
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 5);
        let wait = sender.deadline().saturating_since(now).as_secs();
        assert!((wait - segments * 1000.0 / 5.82e6).abs() < 1e-8, "{wait} s");
        now = sender.deadline();
        sender.on_timer(now);
    }
}

/// A sender with an initial window of so many segments, of which ten were sent, and acknowledged after 100 ms. There is
/// now more data than the window takes.
fn wide(window: u32, settings: &str) -> (Sender, Time) {
    let (mut sender, _) = ends(&format!(
        "sack = true\nhandshake = 'none'\nmss = '1000 B'\nvalidate_window = false\ngrowth = 'bytes'
        receive_window = '1 MB'\ninitial_window = '{window} packets'\n{settings}"
    ));
    sender.open(Time::ZERO);
    sender.supply(10_000);
    assert_eq!(flush(&mut sender).len(), 10);
    sender.supply(100_000_000);
    let now = Time::ZERO + Duration::from_millis(200);
    sender.on_packet(now, &Packet { window: 60_000, ..ack(10, &[]) });
    (sender, now)
}

/// Numbers of the segments that leave now; 1000 more for those with PSH.
fn leave(sender: &mut Sender, now: Time) -> Vec<u64> {
    let marked = |packet: Packet| packet.seq / 1000 + if packet.has(flag::PSH) { 1000 } else { 0 };
    std::iter::from_fn(|| sender.poll(now)).map(marked).collect()
}

/// Linux, tcp_write_xmit, by hand. Twice a window of 300 segments in 100 ms are 6 MB/s, of which 5859 bytes leave in
/// 1/1024 s: bursts of five segments. The 55 segments up to the end of the buffer of 65 are eleven bursts.
#[test]
fn the_last_segment_of_a_burst_has_psh() {
    let (mut sender, now) = wide(290, "tso_autosize = true");
    assert_eq!((sender.cwnd(), sender.rtt().srtt()), (300.0, Duration::from_millis(100)));
    let sent = leave(&mut sender, now);
    let expected: Vec<u64> = (10..310).map(|n| if n % 5 == 4 { 1000 + n } else { n }).collect();
    assert_eq!(sent, expected);
}

/// Linux, tcp_tso_should_defer, by hand. Each ACK of two segments lets four leave in slow start. The first comes 100 ms
/// after the last segment left, so the four leave at once. Those of the second ACK wait for the third. Three remain,
/// which leave once the last burst is more than 1 ms ago.
#[test]
fn a_small_burst_waits_for_more_acks() {
    let (mut sender, now) = wide(290, "tso_autosize = true");
    leave(&mut sender, now);
    let mut released = |number: u32, millis: u64| {
        let now = now + Duration::from_millis(millis);
        sender.on_packet(now, &Packet { window: 60_000, ..ack(number, &[]) });
        (leave(&mut sender, now), sender.window_limited)
    };
    assert_eq!(released(12, 100), (vec![310, 311, 312, 1313], true));
    assert_eq!(released(14, 100), (vec![], true));
    assert_eq!(released(16, 100), (vec![314, 315, 316, 317, 1318], true));
    assert_eq!(leave(&mut sender, now + Duration::from_millis(101)), []);
    assert_eq!(leave(&mut sender, now + Duration::from_millis(102)), [319, 320, 1321]);
    // Without bursts all that the window allows leaves at once.
    let (mut sender, now) = wide(290, "");
    leave(&mut sender, now);
    let now = now + Duration::from_millis(100);
    for (number, last) in [(12, 313), (14, 317), (16, 321)] {
        sender.on_packet(now, &Packet { window: 60_000, ..ack(number, &[]) });
        assert_eq!(leave(&mut sender, now), (last - 3..=last).collect::<Vec<u64>>());
    }
}

/// A small burst does not wait if the next ACK is far, during recovery, at the end of a buffer or of all data, or if a
/// third of the window is open. A window for which data waits counts as full.
#[test]
fn some_small_bursts_do_not_wait() {
    let released = |window: u32, change: &dyn Fn(&mut Sender)| {
        let (mut sender, now) = wide(window, "tso_autosize = true\ntrack_use = true");
        leave(&mut sender, now);
        let now = now + Duration::from_millis(100);
        change(&mut sender);
        sender.last_send = now;
        sender.on_packet(now, &Packet { window: 60_000, ..ack(12, &[]) });
        (leave(&mut sender, now).len(), sender.used.full)
    };
    assert_eq!(released(290, &|_| {}), (0, true));
    assert_eq!(released(290, &|sender| sender.rtt.sample(Time::ZERO, seconds(10))).0, 4);
    let enter_loss = |sender: &mut Sender| (sender.phase, sender.recover) = (RecoveryPhase::Loss, 1_000_000);
    assert_eq!(released(290, &enter_loss).0, 4);
    assert_eq!(released(301, &|sender| assert_eq!(sender.nxt, 321_000)).0, 4, "321 + 4 = 5 * 65");
    assert_eq!(released(290, &|sender| sender.supplied = 313_500).0, 0);
    assert_eq!(released(290, &|sender| (sender.supplied, sender.closing) = (313_500, true)).0, 4);
    // Two of 11 segments wait; of eight of 14, half the window leaves.
    for (acked, segments) in [(1, 0), (4, 7)] {
        let mut sender = ten_in_flight("tso_autosize = true\npacing_burst = 20\nsack = true\ngrowth = 'bytes'");
        let now = Time::ZERO + Duration::from_millis(200);
        sender.last_send = now;
        sender.on_packet(now, &ack(acked, &[]));
        assert_eq!(leave(&mut sender, now).len(), segments);
    }
}

/// Linux, tcp_cwnd_test: a burst is at most half the window, so that two are in flight.
#[test]
fn a_burst_is_at_most_half_the_window() {
    let (mut sender, _) = ends(
        "tso_autosize = true\npacing_burst = 20\nsack = true\nhandshake = 'none'\nmss = '1000 B'
        initial_window = '10 packets'",
    );
    sender.open(Time::ZERO);
    sender.supply(1_000_000);
    assert_eq!(leave(&mut sender, Time::ZERO), [0, 1, 2, 3, 1004, 5, 6, 7, 8, 1009]);
}

/// RFC 9293, section 3.9.1.2: the last segment of what the application has supplied has PSH.
#[test]
fn the_last_segment_supplied_has_psh() {
    for settings in ["", "sack = true", "stack = 'ns2'"] {
        let (mut sender, _) = ends(&format!("handshake = 'none'\nmss = '1000 B'\n{settings}"));
        sender.open(Time::ZERO);
        sender.supply(1500);
        assert_eq!(leave(&mut sender, Time::ZERO), [0, 1001], "{settings}");
    }
}

/// Linux, tcp_small_queue_check, by hand: twice a window of 20 in 100 ms are 400 kB/s, or 4000 bytes in 10 ms. Another
/// segment leaves while the station's queue holds no more than that, so five wait; two departures let two follow.
#[test]
fn a_sender_leaves_little_in_the_queue_of_its_station() {
    for sack in [false, true] {
        let settings = format!("sack = {sack}\nreceive_window = '60 packets'");
        let (mut sender, now) = small_queue(&settings);
        let mut sends = || std::iter::from_fn(|| sender.poll(now)).count();
        assert_eq!(sends(), 5);
        assert_eq!(sends(), 0);
        assert_eq!((sender.cwnd(), sender.in_flight()), (20.0, 5000));
        // The window did not limit it.
        assert!(!sender.window_limited && sender.deadline() > now);
        assert!(sender.on_departure(1000) && sender.on_departure(1000));
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 2);
        // One segment may always be in flight, whatever waits.
        sender.on_packet(now, &ack(17, &[]));
        sender.queued = 1_000_000;
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 2);
        assert!(sender.queue_waits);
        // Nothing to send: no departure is waited for.
        sender.queued = 0;
        sender.discard_unsent();
        assert!(sender.poll(now).is_none() && !sender.on_departure(0));
    }
}

/// The limit is doubled in recovery, and never less than two bursts.
#[test]
fn recovery_and_bursts_widen_a_small_queue() {
    let (mut sender, now) = small_queue("receive_window = '60 packets'");
    sender.phase = RecoveryPhase::Recovery;
    assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 9);
    let (mut sender, now) = small_queue("receive_window = '60 packets'\npacing_burst = 4");
    assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 9);
}

/// A station's sender with `small_queue = "10 ms"` and a window of 20 segments; ten were acknowledged after 100 ms and
/// have left the queue.
fn small_queue(settings: &str) -> (Sender, Time) {
    let text = format!(
        "mss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'\nsmall_queue = '10 ms'
        growth = 'bytes'\n{settings}"
    );
    let (config, _) = wifair_config::Document::parse(wifair_config::Source::file("tcp.toml", &text))
        .read::<crate::TcpSettings>()
        .unwrap_or_else(|problems| panic!("{problems}"))
        .resolve_at_station();
    let mut sender = Sender::new(&config, 0);
    sender.open(Time::ZERO);
    sender.supply(u64::MAX);
    assert_eq!(flush(&mut sender).len(), 10, "no round-trip time yet");
    assert!(!sender.on_departure(10_000));
    let now = Time::ZERO + Duration::from_millis(200);
    sender.on_packet(now, &ack(10, &[]));
    (sender, now)
}

/// A server has no limit, since nothing reports departures to it.
#[test]
fn small_queues_are_those_of_stations() {
    let (sender, _) = ends("small_queue = '10 ms'");
    assert!(!sender.has_small_queue());
}
