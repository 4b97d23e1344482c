//! Packets that join a queue together: a shortcut.

use wifair_mac::{Call, Channel};
use wifair_packet::{NextHops, Packet, Packets};
use wifair_units::{Duration, Time};

use crate::aggregation::{BE, SIZE, aggregation, channel, ht_mcs7};

/// If something is being sent, a train of packets joins the queue, up to the first packet that does not fit or is
/// refused. A category that has nothing to send takes none.
#[test]
fn a_train_joins_a_queue_only_behind_a_frame_in_progress() {
    let mut channel = Channel::General(Box::new(channel(ht_mcs7(), aggregation(), &[BE], 1)));
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let train = |packets: &mut Packets, count: usize| -> Vec<_> {
        (0..count).map(|_| (Time::ZERO, packets.insert(Packet { size: SIZE, ..Packet::default() }))).collect()
    };
    let idle = train(&mut packets, 3);
    assert_eq!(channel.append_train(1, 0, idle.into_iter(), &mut packets, Time::NEVER, |_| true), 0);
    assert_eq!((channel.waiting(1), channel.next()), (0, Time::NEVER));

    let id = train(&mut packets, 1)[0].1;
    channel.offer_in(1, 0, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, NextHops(&[0])));
    let (all, some, many) = (train(&mut packets, 3), train(&mut packets, 5), train(&mut packets, 2000));
    assert_eq!(channel.append_train(1, 0, all.into_iter(), &mut packets, Time::NEVER, |_| true), 3);
    let mut asked = 0;
    let joins = |_: &mut Packet| {
        asked += 1;
        asked <= 2
    };
    assert_eq!(channel.append_train(1, 0, some.into_iter(), &mut packets, Time::NEVER, joins), 2);
    assert_eq!(channel.waiting(1), 5);
    assert_eq!(channel.append_train(1, 0, many.into_iter(), &mut packets, Time::NEVER, |_| true), 1995, "2000 fit");
    assert_eq!(channel.waiting(1), 2000);
}

/// A train ends before the first packet of another size, and before the first that does not fit.
#[test]
fn packets_of_a_train_have_one_size() {
    let mut channel = Channel::General(Box::new(channel(ht_mcs7(), aggregation(), &[BE], 1)));
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let mut ids = |size| packets.insert(Packet { size, ..Packet::default() });
    let (first, mut all) = (ids(SIZE), vec![ids(SIZE), ids(SIZE), ids(SIZE - 1)]);
    all.extend((0..2000).map(|_| ids(SIZE)));
    channel.offer_in(1, 0, first, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, NextHops(&[0])));
    for (from, joined, waiting) in [(0, 2, 2), (2, 1, 3), (3, 1997, 2000), (2000, 0, 2000)] {
        let train = all[from..].iter().map(|id| (Time::ZERO, *id));
        assert_eq!(channel.append_train(1, 0, train, &mut packets, Time::NEVER, |_| true), joined);
        assert_eq!(channel.waiting(1), waiting);
    }
}

/// A train that is refused leaves the record of the access point's queue as it is.
#[test]
fn a_train_that_is_refused_changes_nothing() {
    let mut channel = Channel::General(Box::new(channel(ht_mcs7(), aggregation(), &[BE], 1)));
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let [first, second, late] = [(); 3].map(|()| packets.insert(Packet { size: SIZE, ..Packet::default() }));
    for id in [first, second] {
        channel.offer_in(0, 0, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, NextHops(&[1])));
    }
    let train = || std::iter::once((Time::ZERO + Duration::from_secs(1), late));
    assert_eq!(channel.append_train(0, 0, train(), &mut packets, Time::NEVER, |_| false), 0);
    let after = Time::ZERO + Duration::from_millis(1);
    assert_eq!(channel.ap_queues()[0].read(after), (1.0, 1, 0.0));
    assert_eq!(channel.append_train(0, 0, train(), &mut packets, Time::NEVER, |_| true), 1);
    assert_eq!(channel.ap_queues()[0].level(), (2, false));
}
