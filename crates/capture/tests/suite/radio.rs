//! radiotap headers as drivers write them, put together by hand (radiotap.org).

use crate::common::radio_rates::{eht_rate, vector, vht_rate};
use wifair_capture::link::radiotap::{self, RadioInfo, RadioRate};
use wifair_capture::{Datagram, DecodeOutcome, LinkType, decode};
use wifair_phy::{Coding, Ltf, TxVector};

/// Reads a header with these presence words and fields.
fn read(present: &[u32], fields: &[u8]) -> RadioInfo {
    let mut bytes = vec![0, 0, (4 + 4 * present.len() + fields.len()) as u8, 0];
    bytes.extend(present.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(fields);
    radiotap::parse(&bytes).expect("a header").0
}

const MORE: u32 = 1 << 31;
const RADIOTAP: u32 = 1 << 29;
const VENDOR: u32 = 1 << 30;
const TLVS: u32 = 1 << 28;

/// U-SIG (TLV 33): 80 MHz (2) is known (bit 1). EHT (TLV 34): MCS and streams of two users are known (0x12), 9 and two,
/// 4 and one. The field has one less than the number of streams, as EHT-SIG does.
fn eht_tlvs() -> Vec<u8> {
    tlvs_of([0; 3], [0x0190_0012, 0x0040_0012])
}

/// `about`: what is known, and two words of values.
fn tlvs_of(about: [u32; 3], users: [u32; 2]) -> Vec<u8> {
    let u_sig = [12 << 16 | 33, 0x0001_0002, 0, 0];
    let eht = [&[48 << 16 | 34], &about[..], &[0; 7], &users].concat();
    [&u_sig, &eht[..]].concat().into_iter().flat_map(u32::to_le_bytes).collect()
}

const EHT: RadioRate = eht_rate(9, 2, 980, 800);

/// Bit 7 marks the user for whom the frame was; without it, the first one counts.
#[test]
fn the_user_of_the_frame_is_the_marked_one() {
    let rate = |users| read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs_of([0; 3], users)].concat()).rate;
    assert_eq!(rate([0x0190_0012, 0x0040_0012]), Some(EHT));
    let second = eht_rate(4, 1, 980, 800);
    assert_eq!(rate([0x0190_0012, 0x0040_0092]), Some(second));
}

/// Linux writes a presence word for each antenna (signal and number), and sets the bit for TLVs in the last word.
#[test]
fn tlvs_follow_the_fields_of_all_antennas() {
    let antenna = 1 << 5 | 1 << 11;
    let present = [MORE | RADIOTAP | 1 << 1 | 1 << 5, MORE | RADIOTAP | antenna, antenna | TLVS];
    // Flags, signal; then signal and number of two antennas; two bytes of padding.
    let fields = [vec![0x10, 0xd0, 0xc0, 0, 0xcf, 1, 0, 0], eht_tlvs()].concat();
    let radio = read(&present, &fields);
    assert_eq!((radio.rate, radio.signal, radio.has_fcs), (Some(EHT), Some(-48), true));
}

/// The fields of a vendor are skipped by the length before them. The word after them may be of radiotap again.
#[test]
fn fields_of_vendors_are_skipped() {
    let present = [MORE | VENDOR | 1 << 1, MORE | RADIOTAP | 0x0fff_ffff, TLVS];
    // Flags and a byte of padding; OUI, number, length; five bytes of the vendor; one byte of padding.
    let fields = [vec![0x10, 0, 1, 2, 3, 0, 5, 0, 9, 9, 9, 9, 9, 0, 0, 0], eht_tlvs()].concat();
    assert_eq!(read(&present, &fields).rate, Some(EHT));
    // Without the bit, the second word is the vendor's: its TLV bit means something else.
    let present = [MORE | VENDOR | 1 << 1, TLVS];
    assert_eq!(read(&present, &fields).rate, None);
}

/// radiotap.org, bandwidth of the VHT field: 20, 40, 20L, 20U, 80, 40L, 40U, 20LL, 20LU, 20UL, 20UU, 160, 80L, 80U,
/// 40LL to 40UU, and eight parts of 20 MHz. L and U say which part of the channel the frame occupied.
#[test]
fn a_vht_frame_may_occupy_a_part_of_the_channel() {
    let widths =
        [20, 40, 20, 20, 80, 40, 40, 20, 20, 20, 20, 160, 80, 80, 40, 40, 40, 40, 20, 20, 20, 20, 20, 20, 20, 20];
    for (code, width) in (0..).zip(widths) {
        let radio = read(&[1 << 21], &[0x44, 0, 0, code, 0x72, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(radio.rate, Some(vht_rate(7, 2, width, false)), "{code}");
    }
}

/// radiotap.org: bits 5 and 6 of the MCS flags count STBC streams; bit 0 of the VHT flags and bit 15 of the third HE
/// word tell whether there is STBC. HE gives the number of space-time streams: two carry one spatial stream.
#[test]
fn stbc_is_read() {
    let vector = |radio: RadioInfo| vector(radio.rate.expect("a rate"));
    let ht = |known, flags| vector(read(&[1 << 19], &[known, flags, 9])).stbc;
    assert_eq!([ht(0x27, 0x20), ht(0x27, 0x40), ht(0x07, 0x20)], [1, 2, 0]);
    let vht = |known, flags| vector(read(&[1 << 21], &[known, 0, flags, 0, 0x72, 0, 0, 0, 0, 0, 0, 0])).stbc;
    assert_eq!([vht(0x45, 1), vht(0x45, 0), vht(0x44, 1)], [2, 0, 0]);
    let he = |known: u16, third: u16| {
        let words = [known, 2, third, 0, 0, 2].map(u16::to_le_bytes);
        let TxVector { streams, stbc, .. } = vector(read(&[1 << 23], words.as_flattened()));
        (streams, stbc)
    };
    assert_eq!([he(0x4220, 0x8400), he(0x4220, 0x0400), he(0x4020, 0x8400)], [(1, 1), (2, 0), (2, 0)]);
}

/// radiotap.org: LDPC is bit 4 of the MCS flags, bit 0 of the ninth byte of VHT (always known), bit 13 of the third HE
/// word, and bit 19 of a user of EHT.
#[test]
fn the_code_is_read() {
    let code = |radio: RadioInfo| vector(radio.rate.expect("a rate")).coding;
    let ht = |known, flags| code(read(&[1 << 19], &[known, flags, 9]));
    assert_eq!([ht(0x12, 0x10), ht(0x12, 0), ht(0x02, 0x10)], [Some(Coding::Ldpc), Some(Coding::Bcc), None]);
    let vht = |coding| code(read(&[1 << 21], &[0x44, 0, 0, 0, 0x72, 0, 0, 0, coding, 0, 0, 0]));
    assert_eq!([vht(1), vht(0)], [Some(Coding::Ldpc), Some(Coding::Bcc)]);
    let he = |known: u16, third: u16| {
        code(read(&[1 << 23], [known, 2, third, 0, 0, 2].map(u16::to_le_bytes).as_flattened()))
    };
    assert_eq!(
        [he(0x40a0, 0x2400), he(0x40a0, 0x0400), he(0x4020, 0x2400)],
        [Some(Coding::Ldpc), Some(Coding::Bcc), None]
    );
    let eht = |user| code(read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs_of([0; 3], [user, 0])].concat()));
    let users = [0x0198_0016, 0x0190_0016, 0x0198_0012];
    assert_eq!(users.map(eht), [Some(Coding::Ldpc), Some(Coding::Bcc), None]);
}

/// radiotap.org, channel flags: 0x4000 is a channel of 10 MHz, 0x8000 one of 5 MHz.
#[test]
fn narrow_channels_are_read() {
    let halvings = |flags: u16| read(&[1 << 3], &[0x3c, 0x14, flags as u8, (flags >> 8) as u8]).halvings;
    assert_eq!([0x0140, 0x4140, 0x8140].map(halvings), [0, 1, 2]);
}

/// IEEE Std 802.11-2020, 19.5: MCS 33 to 76 have streams of unequal modulations; the rate of such a frame is unknown.
#[test]
fn unequal_modulations_have_no_rate() {
    let rate = |mcs| read(&[1 << 19], &[0x07, 0, mcs]).rate;
    assert_eq!([32, 33, 76, 255].map(|mcs| rate(mcs).is_some()), [true, false, false, false]);
}

/// radiotap.org, zero-length PSDU: no frame follows the header, which is not an error.
#[test]
fn a_ppdu_may_be_empty() {
    let header = [0, 0, 9, 0, 0, 0, 0, 4, 0];
    let outcome = |header: &[u8]| decode(LinkType::Radiotap, header, 9, &mut |_: &Datagram<'_>| {});
    assert_eq!(outcome(&header), DecodeOutcome::Other);
    assert_eq!(outcome(&[0, 0, 8, 0, 0, 0, 0, 0]), DecodeOutcome::Malformed);
}

/// radiotap.org, field EHT: if bit 22 says that it is known, the size of the resource unit is in the second word of
/// values, and the length of the training fields (2: 6.4 us) in the first. Units have 24, 48, 102, 234, 468 and 980
/// data subcarriers (26 to 996 tones); number 11 is 996 + 484 tones.
#[test]
fn frames_of_802_11be_may_have_a_resource_unit() {
    for (size, carriers) in [(0, 24), (2, 102), (3, 234), (7, 3_920), (8, 48 + 24), (11, 980 + 468), (15, 3_408)] {
        let tlvs = tlvs_of([0x0040_0004, 2 << 9, size], [0x0010_0012, 0]);
        let radio = read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs].concat());
        assert_eq!(radio.rate, Some(eht_rate(1, 1, carriers, 800)), "{size}");
        assert_eq!(vector(radio.rate.unwrap()).ltf, Ltf::X2);
    }
}
