//! ACKs that arrive together.

use proptest::prelude::*;

use super::*;
use crate::pipe::ends;

/// Segments that ACKs release, and RTT samples, if each ACK is processed by itself.
fn one_by_one(sender: &mut Sender, now: Time, acks: &[Packet]) -> (Vec<Packet>, Vec<Duration>) {
    let (mut released, mut rtts) = (vec![], vec![]);
    for ack in acks {
        sender.on_packet(now, ack);
        rtts.extend(sender.rtt_sample());
        released.extend(std::iter::from_fn(|| sender.poll(now)));
    }
    (released, rtts)
}

/// The same with [`Sender::on_acks`], as far as it goes.
fn together(sender: &mut Sender, now: Time, mut acks: &[Packet]) -> (Vec<Packet>, Vec<Duration>, usize) {
    let (mut released, mut rtts, mut taken) = (vec![], vec![], 0);
    while !acks.is_empty() {
        let train = sender.on_acks(now, acks.iter(), |rtt, count| rtts.extend((0..count).map(|_| rtt)));
        let first = sender.first_released(now, train.segments);
        for number in 0..train.segments {
            released.push(Packet { seq: first.seq + number * 1000, ..first });
        }
        taken += train.acks;
        if train.acks == 0 {
            sender.on_packet(now, &acks[0]);
            rtts.extend(sender.rtt_sample());
        }
        released.extend(std::iter::from_fn(|| sender.poll(now)));
        acks = &acks[train.acks.max(1)..];
    }
    (released, rtts, taken)
}

/// Bursts of segments arrive, and their ACKs come back together: the states of a sender that takes them together and of
/// one that takes each by itself are equal after each burst. A burst is a number of segments, the time before it in ms,
/// and a segment of it that is lost. Returns the number of ACKs processed together, and of all ACKs.
fn play(settings: &str, supplied: u64, bursts: &[(usize, u64, Option<usize>)]) -> (usize, usize) {
    let settings = format!("{settings}\nmss = '1000 B'\nhandshake = 'none'");
    let ((mut sender, mut receiver), (mut other, _)) = (ends(&settings), ends(&settings));
    let mut now = Time::ZERO;
    for one in [&mut sender, &mut other] {
        one.open(now);
        one.supply(supplied);
    }
    let mut flying: Vec<Packet> = std::iter::from_fn(|| sender.poll(now)).collect();
    assert_eq!(flying.len(), std::iter::from_fn(|| other.poll(now)).count());
    let (mut taken, mut all) = (0, 0);
    for &(count, wait, lost) in bursts {
        now += Duration::from_millis(wait);
        let mut acks = vec![];
        for (number, packet) in flying.drain(..count.min(flying.len())).enumerate() {
            if Some(number) != lost {
                receiver.on_packet(now, &packet);
                acks.extend(receiver.poll(now));
            }
        }
        now += Duration::from_millis(1);
        while sender.deadline() <= now {
            sender.on_timer(now);
            other.on_timer(now);
            flying.extend(std::iter::from_fn(|| sender.poll(now)));
            std::iter::from_fn(|| other.poll(now)).for_each(drop);
        }
        let (released, rtts, by_trains) = together(&mut sender, now, &acks);
        let expected = one_by_one(&mut other, now, &acks);
        assert_eq!(format!("{:?}", (&released, rtts)), format!("{expected:?}"));
        assert_eq!(format!("{sender:?}"), format!("{other:?}"));
        taken += by_trains;
        all += acks.len();
        flying.extend(released);
    }
    (taken, all)
}

/// Only the first ACK, which brings the receive window, is taken by itself.
#[test]
fn acks_in_order_are_taken_together() {
    let (taken, all) = play("stack = 'modern'\nmax_cwnd = '60 packets'", u64::MAX, &[(30, 20, None); 50]);
    assert!(all > 700 && taken == all - 1, "{taken} of {all}");
}

proptest! {
    #[test]
    fn acks_that_arrive_together_do_what_each_does(
        settings in prop::sample::select(vec![
            "stack = 'modern'",
            "stack = 'modern'\ncc = 'newreno'\nmax_cwnd = '30 packets'",
            "stack = 'modern'\nreceive_window = '40000 B'",
            "stack = 'modern'\ncubic.hystart = 'classic'\ndelayed_ack = false",
            "stack = 'modern'\ncc = 'bbr'",
            "recovery = 'sack'\nsack = true",
            "delayed_ack = false",
        ]),
        supplied in prop::sample::select(vec![u64::MAX, 150_300]),
        bursts in prop::collection::vec((1_usize..70, 1_u64..50, prop::option::weighted(0.1, 0_usize..70)), 1..40),
    ) {
        play(settings, supplied, &bursts);
    }
}
