//! Changes to a whole IP packet that keep its checksums right: congestion marks (RFC 3168) and receive windows.
//!
//! Checksums are updated incrementally (RFC 1624, equation 3), so a packet that arrived with a wrong checksum keeps a
//! wrong one.

const TCP: u8 = 6;

/// Marks a packet with "congestion experienced" (RFC 3168, section 5). The IPv6 header has no checksum to update.
pub fn mark_congestion(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = word(packet, 0);
            packet[1] |= 3;
            let after = word(packet, 0);
            replace_in_checksum(packet, 10, before, after);
        }
        // The traffic class starts in the middle of the first byte (RFC 8200, section 3).
        Some(6) if packet.len() >= 40 => packet[1] |= 0x30,
        _ => {}
    }
}

/// Sets the window field of a TCP segment; any other packet is left unchanged.
pub fn set_window(packet: &mut [u8], window: u16) {
    let Some(start) = tcp_header(packet) else { return };
    if packet.len() < start + 20 {
        return;
    }
    let before = word(packet, start + 14);
    packet[start + 14..start + 16].copy_from_slice(&window.to_be_bytes());
    replace_in_checksum(packet, start + 16, before, window);
}

/// The offset of the TCP header.
fn tcp_header(packet: &[u8]) -> Option<usize> {
    match packet.first()? >> 4 {
        4 if packet.len() >= 20 && packet[9] == TCP && word(packet, 6) & 0x1fff == 0 => {
            Some(usize::from(packet[0] & 15) * 4)
        }
        6 if packet.len() >= 40 => {
            let (mut next, mut at) = (packet[6], 40);
            // Hop-by-hop, routing and destination options (RFC 8200, section 4): the length field counts units of eight
            // bytes, not including the first eight bytes.
            while matches!(next, 0 | 43 | 60) {
                let head = packet.get(at..at + 2)?;
                next = head[0];
                at += 8 + usize::from(head[1]) * 8;
            }
            (next == TCP).then_some(at)
        }
        _ => None,
    }
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
fn replace_in_checksum(packet: &mut [u8], at: usize, before: u16, after: u16) {
    let mut sum = u32::from(!word(packet, at)) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ones' complement sum (RFC 1071): all ones for a packet with a correct checksum.
    fn sum(words: &[u8]) -> u16 {
        let mut sum: u32 =
            words.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// An ACK with window 501 and 12 bytes of options from 10.16.0.1 or fd00::1, with checksums computed by RFC 1071.
    fn ack(v6: bool) -> (Vec<u8>, usize) {
        let mut packet = if v6 {
            let mut head = vec![0x60, 0x02, 0, 0, 0, 32, TCP, 64];
            head.extend([&[0xfd, 0][..], &[0; 13], &[1], &[0xfd, 0], &[0; 13], &[2]].concat());
            head
        } else {
            vec![0x45, 2, 0, 52, 0, 7, 0x40, 0, 64, TCP, 0, 0, 10, 16, 0, 1, 10, 32, 0, 1]
        };
        let start = packet.len();
        if !v6 {
            let check = !sum(&packet);
            packet[10..12].copy_from_slice(&check.to_be_bytes());
        }
        packet.extend([0x80, 1, 0x13, 0x89, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x10, 1, 0xf5, 0, 0, 0, 0]);
        packet.extend([1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 9]);
        let check = !sum(&pseudo(&packet, start));
        packet[start + 16..start + 18].copy_from_slice(&check.to_be_bytes());
        (packet, start)
    }

    fn pseudo(packet: &[u8], start: usize) -> Vec<u8> {
        let addresses = if start == 20 { &packet[12..20] } else { &packet[8..40] };
        let length = u16::try_from(packet.len() - start).unwrap().to_be_bytes();
        [addresses, &[0, TCP], &length, &packet[start..]].concat()
    }

    #[test]
    fn checksums_stay_right() {
        for v6 in [false, true] {
            for window in [0, 1, 169, 501, 0xffff] {
                let (mut packet, start) = ack(v6);
                assert_eq!(sum(&pseudo(&packet, start)), 0xffff);
                set_window(&mut packet, window);
                mark_congestion(&mut packet);
                assert_eq!(word(&packet, start + 14), window);
                assert_eq!(sum(&pseudo(&packet, start)), 0xffff, "TCP, v6 {v6}, window {window}");
                if v6 {
                    assert_eq!(packet[..2], [0x60, 0x32], "the flow label stays");
                } else {
                    assert_eq!((packet[1], sum(&packet[..20])), (3, 0xffff));
                }
            }
        }
    }

    #[test]
    fn other_packets_stay_as_they_are() {
        let (whole, _) = ack(false);
        let mut datagram = whole.clone();
        datagram[9] = 17;
        let mut fragment = whole.clone();
        fragment[7] = 1;
        for packet in [datagram, fragment, whole[..30].to_vec(), vec![], vec![0x60; 10], vec![0x45]] {
            let mut changed = packet.clone();
            set_window(&mut changed, 3);
            assert_eq!(changed, packet);
            mark_congestion(&mut changed); // must not panic
        }
    }
}
