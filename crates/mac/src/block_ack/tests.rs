use std::collections::BTreeMap;

use proptest::prelude::*;
use wifair_units::{Bytes, Duration, Time};

use super::*;

const LENGTH: Bytes = Bytes(1_538);
const FOREVER: Duration = Duration::MAX;

fn number(n: u16) -> SequenceNumber {
    SequenceNumber::new(n)
}

fn receive(recipient: &mut Recipient<u16>, numbers: &[u16]) -> Vec<u16> {
    let mut up = Vec::new();
    for n in numbers {
        recipient.on_mpdu(Time::ZERO, number(*n), *n, |payload| up.push(payload));
    }
    up
}

#[test]
fn in_order_goes_up_at_once_and_behind_a_hole_waits() {
    let mut recipient = Recipient::new(BlockAckWindow::Mpdus64, number(4094), FOREVER);
    assert_eq!(receive(&mut recipient, &[4094, 4095, 1, 2]), [4094, 4095]);
    assert_eq!(recipient.buffered(), 2);
    assert_eq!(receive(&mut recipient, &[2, 0]), [0, 1, 2]);
    assert_eq!((recipient.buffered(), recipient.start()), (0, number(3)));
}

/// 10.25.6.6.2: an MPDU behind the window moves it; what falls out goes up, holes are passed over.
#[test]
fn a_number_behind_the_window_moves_it() {
    let mut recipient = Recipient::new(BlockAckWindow::Mpdus64, number(0), FOREVER);
    assert_eq!(receive(&mut recipient, &[1, 3]), [] as [u16; 0]);
    // 66 makes the window 3 to 66: 1 goes up, then 3 in order.
    assert_eq!(receive(&mut recipient, &[66]), [1, 3]);
    assert_eq!(recipient.start(), number(4));
    // The bitmap now begins at 3, and what is before it is forgotten.
    let bitmap = recipient.block_ack();
    assert_eq!((bitmap.start, bitmap.has(number(1)), bitmap.has(number(3))), (number(3), false, true));
    // 2 comes too late.
    assert!(!recipient.on_mpdu(Time::ZERO, number(2), 2, |_| panic!("nothing goes up")));
}

#[test]
fn a_request_gives_up_what_is_before_it() {
    let mut recipient = Recipient::new(BlockAckWindow::Mpdus64, number(0), FOREVER);
    receive(&mut recipient, &[1, 2, 4]);
    let mut up = Vec::new();
    recipient.on_request(Time::ZERO, number(3), |payload| up.push(payload));
    assert_eq!((up, recipient.start(), recipient.block_ack().start), (vec![1, 2], number(3), number(3)));
    assert!(recipient.block_ack().has(number(4)));
}

#[test]
fn a_hole_is_given_up_in_time() {
    let timeout = Duration::from_millis(100);
    let mut recipient = Recipient::new(BlockAckWindow::Mpdus64, number(0), timeout);
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    recipient.on_mpdu(at(5), number(1), 1, |_| panic!("it waits"));
    recipient.on_mpdu(at(6), number(3), 3, |_| panic!("it waits"));
    assert_eq!(recipient.deadline(), at(105));
    let mut up = Vec::new();
    recipient.on_timeout(at(104), |payload| up.push(payload));
    assert!(up.is_empty());
    recipient.on_timeout(at(105), |payload| up.push(payload));
    assert_eq!((up.as_slice(), recipient.deadline()), ([1].as_slice(), at(205)));
    recipient.on_timeout(at(205), |payload| up.push(payload));
    assert_eq!((up.as_slice(), recipient.deadline()), ([1, 3].as_slice(), Time::NEVER));
}

/// Four MPDUs; 1 and 2 are lost. They go again, the window begins at 1; after the third loss of 1 it is given up.
#[test]
fn what_is_lost_goes_again_until_the_limit() {
    let mut originator = Originator::new(BlockAckWindow::Mpdus64, number(0), 3);
    let mut recipient = Recipient::new(BlockAckWindow::Mpdus64, number(0), FOREVER);
    for n in 0..4 {
        originator.push(n, LENGTH, Time::NEVER);
    }
    let mut outcomes = Vec::new();
    for heard in [vec![0, 3], vec![2], vec![]] {
        let pending: Vec<_> = originator.pending().map(|(number, _)| number).collect();
        for number in pending {
            originator.on_sent(number);
        }
        receive(&mut recipient, &heard);
        originator.on_block_ack(recipient.block_ack(), |number, _, outcome| outcomes.push((number.get(), outcome)));
    }
    use Outcome::{Acknowledged, RetryLimit};
    assert_eq!(outcomes, [(0, Acknowledged), (3, Acknowledged), (2, Acknowledged), (1, RetryLimit)]);
    assert!(originator.needs_request());
    assert_eq!((originator.start(), originator.outstanding()), (number(4), 0));
    let mut up = Vec::new();
    recipient.on_request(Time::ZERO, originator.start(), |payload| up.push(payload));
    assert_eq!(up, [2, 3]);
}

#[test]
fn an_mpdu_whose_time_has_passed_is_given_up_unless_it_is_in_flight() {
    let mut originator = Originator::new(BlockAckWindow::Mpdus64, number(10), 7);
    let first = originator.push('a', LENGTH, Time::from_nanos(5));
    originator.push('b', LENGTH, Time::from_nanos(5));
    originator.push('c', LENGTH, Time::from_nanos(9));
    originator.on_sent(first);
    let mut gone = Vec::new();
    originator.expire(Time::from_nanos(5), |_, payload, outcome| gone.push((payload, outcome)));
    assert_eq!(gone, [('b', Outcome::Expired)]);
    assert_eq!((originator.start(), originator.outstanding()), (first, 3));
}

proptest! {
    /// A lossy channel between both ends, from any first number, far around the circle: every MSDU goes up once and in order, or
    /// was given up; what the originator calls acknowledged has been received; no window is ever exceeded.
    #[test]
    fn each_msdu_goes_up_once_in_order_or_was_given_up(
        first in 0_u16..4096,
        window in prop::sample::select(vec![
            BlockAckWindow::Mpdus64,
            BlockAckWindow::Mpdus256,
            BlockAckWindow::Mpdus1024,
        ]),
        retry_limit in 1_u8..5,
        data_loss in 0_u32..90,
        ack_loss in 0_u32..60,
        seed in any::<u64>(),
    ) {
        const MSDUS: u32 = 6_000;
        let mut state = seed | 1;
        let mut lost = |percent: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) % 100 < u64::from(percent)
        };
        let mut originator = Originator::new(window, number(first), retry_limit);
        let mut recipient = Recipient::new(window, number(first), FOREVER);
        let (mut offered, mut up, mut received) = (0_u32, Vec::new(), vec![false; MSDUS as usize]);
        let mut outcomes: BTreeMap<u32, Outcome> = BTreeMap::new();
        while outcomes.len() < MSDUS as usize || originator.needs_request() {
            while offered < MSDUS && originator.has_room() {
                originator.push(offered, LENGTH, Time::NEVER);
                offered += 1;
            }
            prop_assert!(originator.outstanding() <= window.mpdus());
            if originator.needs_request() {
                // Explicit, and repeated until it is answered.
                if lost(data_loss) {
                    continue;
                }
                recipient.on_request(Time::ZERO, originator.start(), |msdu| up.push(msdu));
                if !lost(ack_loss) {
                    originator.on_request_answered();
                }
                continue;
            }
            let burst: Vec<SequenceNumber> = originator.pending().map(|(number, _)| number).take(64).collect();
            let mut heard = false;
            for number in burst {
                originator.on_sent(number);
                if !lost(data_loss) {
                    heard = true;
                    let msdu = offered - u32::from(originator.outstanding())
                        + u32::from(number.ahead_of(originator.start()));
                    received[msdu as usize] = true;
                    recipient.on_mpdu(Time::ZERO, number, msdu, |msdu| up.push(msdu));
                }
                prop_assert!(recipient.buffered() < usize::from(window.mpdus()));
            }
            let mut done = |_, msdu, outcome| {
                assert_eq!(outcomes.insert(msdu, outcome), None, "one outcome only");
            };
            if heard && !lost(ack_loss) {
                originator.on_block_ack(recipient.block_ack(), &mut done);
            } else {
                originator.on_no_block_ack(&mut done);
            }
        }
        prop_assert!(up.windows(2).all(|pair| pair[0] < pair[1]), "in order, once");
        prop_assert_eq!(recipient.buffered(), 0);
        let went_up: Vec<bool> = (0..MSDUS).map(|msdu| up.binary_search(&msdu).is_ok()).collect();
        for (msdu, outcome) in &outcomes {
            let index = *msdu as usize;
            if *outcome == Outcome::Acknowledged {
                prop_assert!(went_up[index] && received[index]);
            }
            prop_assert!(!went_up[index] || received[index]);
        }
    }
}
