//! Tests of the receiver.

use super::*;
use crate::pipe::ends;

fn receiver(settings: &str) -> Receiver {
    ends(settings).1
}

/// A segment of 500 bytes, as in the examples of RFC 2018 and RFC 2883, with offsets relative to the first.
fn segment(seq: u64) -> Packet {
    Packet { seq, payload: 500, flags: flag::ACK, ..Packet::default() }
}

/// The ACK sent in response to a segment: its offset and its SACK blocks in absolute offsets.
fn answer(receiver: &mut Receiver, seq: u64) -> Option<(u64, Vec<(u64, u64)>)> {
    receiver.on_packet(Time::ZERO, &segment(seq));
    let ack = receiver.poll(Time::ZERO)?;
    let offset = |relative: u32| ack.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
    let blocks = ack.sack.iter().filter(|(start, end)| start != end).map(|&(s, e)| (offset(s), offset(e)));
    Some((ack.ack, blocks.collect()))
}

/// RFC 2018, section 7, second case, offsets minus 5000: the first segment of eight is lost.
#[test]
fn one_block_grows_while_one_segment_is_missing() {
    let mut receiver = receiver("sack = true");
    for n in 1..8 {
        assert_eq!(answer(&mut receiver, 500 * n), Some((0, vec![(500, 500 * (n + 1))])));
    }
}

/// RFC 2018, section 7, third case, offsets minus 5000: the second, fourth, sixth and eighth segment are lost, then
/// the fourth and the second arrive.
#[test]
fn the_newest_block_stands_first() {
    let mut receiver = receiver("sack = true\ndelayed_ack = false");
    assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
    assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500)])));
    assert_eq!(answer(&mut receiver, 2000), Some((500, vec![(2000, 2500), (1000, 1500)])));
    assert_eq!(answer(&mut receiver, 3000), Some((500, vec![(3000, 3500), (2000, 2500), (1000, 1500)])));
    assert_eq!(receiver.gaps(), 3);
    assert_eq!(answer(&mut receiver, 1500), Some((500, vec![(1000, 2500), (3000, 3500)])));
    assert_eq!(answer(&mut receiver, 500), Some((2500, vec![(3000, 3500)])));
}

/// RFC 2883, section 4.1: a duplicate segment is reported once, below the ACK or within a later block.
#[test]
fn duplicates_are_reported_once() {
    let mut receiver = receiver("sack = true\ndelayed_ack = false");
    assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
    assert_eq!(answer(&mut receiver, 0), Some((500, vec![(0, 500)])));
    assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500)])));
    assert_eq!(answer(&mut receiver, 1500), Some((500, vec![(1000, 2000)])));
    assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500), (1000, 2000)])));
    assert_eq!(receiver.duplicates(), 2);
}

/// RFC 2883, section 4.2: of a segment that is a duplicate in part, the first such part is reported: below the ACK,
/// above a gap, and where the segment fills a gap and contains what was above it.
#[test]
fn parts_that_came_before_are_reported() {
    let mut receiver = receiver("sack = true\ndelayed_ack = false");
    let mut whole = |seq, payload| {
        receiver.on_packet(Time::ZERO, &Packet { payload, ..segment(seq) });
        let ack = receiver.poll(Time::ZERO).expect("no ACK is delayed");
        let offset = |relative: u32| ack.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
        let blocks = ack.sack.iter().filter(|(start, end)| start != end).map(|&(s, e)| (offset(s), offset(e)));
        (ack.ack, blocks.collect::<Vec<_>>(), receiver.duplicates())
    };
    assert_eq!(whole(0, 500), (500, vec![], 0));
    assert_eq!(whole(200, 800), (1000, vec![(200, 500)], 0));
    assert_eq!(whole(1500, 500), (1000, vec![(1500, 2000)], 0));
    assert_eq!(whole(1800, 700), (1000, vec![(1800, 2000), (1500, 2500)], 0));
    assert_eq!(whole(3000, 500), (1000, vec![(3000, 3500), (1500, 2500)], 0));
    assert_eq!(whole(1000, 3000), (4000, vec![(1500, 2500)], 0));
    assert_eq!(whole(3000, 500), (4000, vec![(3000, 3500)], 1));
}

/// RFC 5681, section 4.2: every second segment is acknowledged at once, a single one after the delay, a gap and its
/// filling at once.
#[test]
fn acks_are_delayed_for_segments_in_order_only() {
    let mut receiver = receiver("ack_delay = '150 ms'");
    assert_eq!(answer(&mut receiver, 0), None);
    assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_millis(150));
    assert_eq!(answer(&mut receiver, 500), Some((1000, vec![])));
    assert_eq!(receiver.deadline(), Time::NEVER);
    assert_eq!(answer(&mut receiver, 1500), Some((1000, vec![])));
    assert_eq!(answer(&mut receiver, 1000), Some((2000, vec![])));
    assert_eq!(answer(&mut receiver, 2000), None);
    receiver.on_timer(receiver.deadline());
    assert_eq!(receiver.poll(Time::ZERO).expect("the delay is over").ack, 2500);
}

#[test]
fn the_first_acks_of_linux_are_quick() {
    let mut receiver = receiver("stack = 'modern'\nquick_acks = 3");
    let quick: Vec<_> = (0..6).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
    assert_eq!(quick, [true, true, true, false, true, false]);
}

/// The fourth ACK for a gap is held back for 1 ms, together with those after it. The segment that fills the gap is
/// acknowledged at once, and the next gap is reported at once again. Of many held-back ACKs the 45th is sent.
#[test]
fn acks_for_a_gap_are_held_back_together() {
    let mut receiver = receiver("sack = true\nsack_compression = '1 ms'");
    assert!(answer(&mut receiver, 0).is_none());
    let told: Vec<_> = (2..8).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
    assert_eq!(told, [true, true, true, false, false, false]);
    assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_millis(1));
    receiver.on_timer(receiver.deadline());
    let held = receiver.poll(Time::ZERO).expect("the time is over");
    assert_eq!((held.ack, held.sack[0]), (500, (500, 3500)));
    assert_eq!(answer(&mut receiver, 500).map(|(ack, _)| ack), Some(4000));
    let told: Vec<_> = (9..100).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
    let at_once: Vec<_> = (9..).zip(told).filter_map(|(n, told)| told.then_some(n)).collect();
    assert_eq!(at_once, [9, 10, 11, 56]);
}

/// The ACKs sent during a sequence of segments at one instant, and those sent at the end of the instant.
fn answers(receiver: &mut Receiver, segments: &[Packet]) -> (Vec<u64>, Vec<u64>) {
    fn polled(receiver: &mut Receiver) -> Vec<u64> {
        std::iter::from_fn(|| receiver.poll(Time::ZERO)).map(|ack| ack.ack).collect()
    }
    let mut at_once = vec![];
    for segment in segments {
        receiver.on_packet(Time::ZERO, segment);
        at_once.extend(polled(receiver));
    }
    assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_nanos(1));
    receiver.on_timer(receiver.deadline());
    (at_once, polled(receiver))
}

/// Linux: segments that the network card delivers together are one arrival. Ten segments get one ACK instead of
/// five. A gap ends a batch, and the batch after it is reported once. A batch ends with a short segment, or when an
/// IP packet is full: 130 times 500 bytes.
#[test]
fn a_batch_of_segments_has_one_ack() {
    let of = |numbers: std::ops::Range<u64>| numbers.map(|n| segment(500 * n)).collect::<Vec<_>>();
    let gro = || receiver("sack = true\ngro = true");
    assert_eq!(answers(&mut gro(), &of(0..10)), (vec![], vec![5000]));
    assert_eq!(answers(&mut gro(), &of(0..1)), (vec![], vec![])); // a single segment has a delayed ACK
    assert_eq!(answers(&mut gro(), &[of(0..4), of(5..9)].concat()), (vec![2000], vec![2000]));
    assert_eq!(answers(&mut gro(), &of(0..140)), (vec![130 * 500], vec![140 * 500]));
    let short = Packet { payload: 100, ..segment(1000) };
    let behind = Packet { seq: 1100, ..segment(0) };
    assert_eq!(answers(&mut gro(), &[segment(0), segment(500), short, behind]), (vec![1100], vec![]));
    let marked = |n: u64| Packet { flags: flag::ACK | flag::CE, ..segment(500 * n) };
    assert_eq!(answers(&mut gro(), &[segment(0), segment(500), marked(2), marked(3)]), (vec![1000], vec![2000]));
    let later = |n: u64| Packet { ts_val: 1000, ..segment(500 * n) };
    let mut stamped = receiver("gro = true\ntimestamps = true");
    assert_eq!(answers(&mut stamped, &[segment(0), segment(500), later(2), later(3)]), (vec![1000], vec![2000]));
}

/// A segment with PSH is the last of its batch, which is not held back for others.
#[test]
fn psh_ends_a_batch() {
    let pushed = |n: u64| Packet { flags: flag::ACK | flag::PSH, ..segment(500 * n) };
    let mut receiver = receiver("gro = true\ngro_flush_timeout = '1 ms'");
    let mut answer = |packet: Packet| {
        receiver.on_packet(Time::ZERO, &packet);
        receiver.poll(Time::ZERO).map(|ack| ack.ack)
    };
    let segments = [segment(0), segment(500), pushed(2), segment(1500), pushed(4), pushed(5), pushed(6)];
    assert_eq!(segments.map(&mut answer), [None, None, Some(1500), None, Some(2500), None, Some(3500)]);
}

#[test]
fn a_fin_ends_a_batch() {
    let mut receiver = receiver("gro = true");
    receiver.on_packet(Time::ZERO, &segment(0));
    assert!(receiver.poll(Time::ZERO).is_none());
    receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::FIN, ..segment(500) });
    let ack = receiver.poll(Time::ZERO).expect("a FIN is acknowledged at once");
    assert!(receiver.is_finished() && ack.has(flag::FIN) && ack.ack == 1000);
    assert_eq!(receiver.deadline(), Time::NEVER);
}

/// RFC 8257, section 3.2, figure 1: when marks begin or end, an ACK for earlier data is sent first.
#[test]
fn each_mark_is_echoed_as_it_came() {
    let mut receiver = receiver("cc = 'dctcp'\necn = true");
    let mut acks = Vec::new();
    for (n, marked) in [(0, false), (1, false), (2, false), (3, true), (4, true), (5, true), (6, false)] {
        let mark = if marked { flag::CE } else { 0 };
        receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::ECT | mark, ..segment(500 * n) });
        while let Some(ack) = receiver.poll(Time::ZERO) {
            acks.push((ack.ack, ack.has(flag::ECE)));
        }
    }
    assert_eq!(acks, [(1000, false), (1500, false), (2500, true), (3000, true)]);
}

/// RFC 8257, section 3.2, in detail: when marks begin, the ACK for earlier data is sent, and the marked segment
/// waits for the next one. If the next one has arrived, its ACK is due at once.
#[test]
fn an_earlier_ack_tells_whether_another_one_is_due() {
    let mut packet = Packet::default();
    let mut more = |segments: &[(u64, u8)]| {
        let mut receiver = receiver("cc = 'dctcp'\necn = true");
        for &(n, mark) in segments {
            receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::ECT | mark, ..segment(500 * n) });
        }
        let more = receiver.write(Time::ZERO, &mut packet);
        (packet.ack, more, receiver.is_due())
    };
    assert_eq!(more(&[(0, 0), (1, flag::CE)]), (500, false, false));
    assert_eq!(more(&[(0, 0), (1, flag::CE), (2, flag::CE)]), (500, true, true));
}

/// RFC 7323, section 2: 6 MB are advertised as 46875 times 2^7 bytes.
#[test]
fn the_window_is_advertised_with_its_scale() {
    let mut receiver = receiver("stack = 'modern'");
    receiver.on_packet(Time::ZERO, &segment(0));
    assert_eq!(receiver.poll(Time::ZERO).expect("a quick ACK").window, 46_875);
}

/// A FIN without data is no block, wherever it arrives.
#[test]
fn a_fin_beyond_a_gap_waits_for_the_data_before_it() {
    let mut receiver = receiver("sack = true");
    receiver.on_packet(Time::ZERO, &Packet { payload: 0, flags: flag::ACK | flag::FIN, ..segment(500) });
    let ack = receiver.poll(Time::ZERO).expect("what arrives beyond a gap is acknowledged at once");
    assert_eq!((ack.ack, ack.sack[0], ack.has(flag::FIN)), (0, (0, 0), false));
    assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
    assert!(receiver.is_finished());
}

/// The segment that fills the first of two gaps came once: no block reports it, and the first block is the range
/// behind the remaining gap.
#[test]
fn the_segment_that_fills_a_gap_is_no_duplicate() {
    let mut receiver = receiver("sack = true");
    answer(&mut receiver, 0);
    answer(&mut receiver, 1000);
    answer(&mut receiver, 2000);
    receiver.on_packet(Time::ZERO, &segment(500));
    let ack = receiver.poll(Time::ZERO).expect("it is acknowledged at once");
    assert_eq!((ack.ack, ack.sack[0], ack.sack[1]), (1500, (500, 1000), (0, 0)));
}

/// Segments 1, 3 and 4 wait for segment 0 when counting begins. What was in order before does not count as early, nor
/// what arrives later; what still waits counts when its gap closes.
#[test]
fn bytes_that_waited_behind_a_gap_are_early() {
    let mut receiver = receiver("sack = true");
    for n in [1, 3, 4] {
        receiver.on_packet(Time::ZERO, &segment(500 * n));
    }
    receiver.restart_count();
    assert_eq!((receiver.delivered(), receiver.early()), (0, 0));
    receiver.on_packet(Time::ZERO, &segment(2500));
    receiver.on_packet(Time::ZERO, &segment(0));
    assert_eq!((receiver.delivered(), receiver.early()), (1000, 500));
    receiver.on_packet(Time::ZERO, &segment(1000));
    assert_eq!((receiver.delivered(), receiver.early()), (3000, 1500));
}
