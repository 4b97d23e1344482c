//! A video sender over Wi-Fi: 30 pictures a second of 8 kB, each in datagrams of 1200 bytes, due within 100 ms.

use std::collections::BTreeMap;
use std::time::Duration;

use wifair_link::{LinkDatagram, WifiLink};

const PICTURES: u32 = 300;
const DUE: Duration = Duration::from_millis(100);

/// How many pictures arrive complete and in time, from a server to a phone beside `downloads` of the neighbour's.
fn pictures_in_time(downloads: usize, discipline: &str) -> usize {
    let mut network = WifiLink::builder()
        .standard("802.11g")
        .station("phone")
        .server("server", Duration::from_millis(10))
        .background_downloads("neighbour", downloads)
        .set("ap.queue.limit", "300 packets")
        .set("ap.queue.discipline", discipline)
        .build()
        .expect("a network");
    let (server, phone) = (network.host("server").expect("there"), network.host("phone").expect("there"));
    let start = Duration::from_secs(3);
    let mut missing: BTreeMap<u32, usize> = BTreeMap::new(); // bytes of each picture that have not arrived in time
    let picture_of = |number: u64| u32::try_from(number / 7).expect("few"); // seven datagrams a picture
    for picture in 0..PICTURES {
        let at = start + Duration::from_secs(1) * picture / 30;
        for part in 0..7 {
            let length = if part < 6 { 1200 } else { 800 };
            network.offer(at, server, phone, LinkDatagram::of_length(length)).expect("it fits");
        }
        missing.insert(picture, 8000);
    }
    network.advance(Duration::from_secs(20)).expect("before the end");
    while let Some(delivery) = network.poll_delivery() {
        let picture = picture_of(delivery.number);
        if delivery.time <= start + Duration::from_secs(1) * picture / 30 + DUE {
            *missing.get_mut(&picture).expect("it was sent") -= delivery.length;
        }
    }
    missing.values().filter(|bytes| **bytes == 0).count()
}

/// Alone all pictures are in time. Four downloads fill a FIFO of 300 packets, 130 ms of 802.11g, so most are late.
/// The control: a queue that takes flows in turn lets the video pass.
#[test]
fn downloads_delay_video_unless_queues_take_turns() {
    assert_eq!(pictures_in_time(0, "fifo"), PICTURES as usize);
    let fifo = pictures_in_time(4, "fifo");
    let fair = pictures_in_time(4, "fq-codel");
    assert!(fifo < PICTURES as usize / 2, "{fifo}");
    assert!(fair > PICTURES as usize * 9 / 10, "{fair}");
}
