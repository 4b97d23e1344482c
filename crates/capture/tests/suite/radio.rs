//! radiotap headers as drivers write them, put together by hand (radiotap.org).

use crate::common::radio_rates::{eht_rate, vector, vht_rate};
use wifair_capture::link::radiotap::{self, RadioInfo, RadioRate};
use wifair_capture::link::wifi::air_time_us;
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

/// U-SIG (TLV 33): 80 MHz (2) is known (bit 1). EHT (TLV 34): the guard interval is known (bit 2), and MCS and streams
/// of two users (0x12), 9 and two, 4 and one. The field has one less than the number of streams, as EHT-SIG does.
fn eht_tlvs() -> Vec<u8> {
    tlvs_of([4, 0, 0], [0x0190_0012, 0x0040_0012])
}

/// `about`: what is known, and two words of values.
fn tlvs_of(about: [u32; 3], users: [u32; 2]) -> Vec<u8> {
    tlvs_with([0x0001_0002, 0, 0], about, users)
}

/// `u_sig`: what is known with its values, and further values with their mask.
fn tlvs_with(u_sig: [u32; 3], about: [u32; 3], users: [u32; 2]) -> Vec<u8> {
    let u_sig = [&[12 << 16 | 33], &u_sig[..]].concat();
    let eht = [&[48 << 16 | 34], &about[..], &[0; 7], &users].concat();
    [u_sig, eht].concat().into_iter().flat_map(u32::to_le_bytes).collect()
}

const EHT: RadioRate = eht_rate(9, 2, 980, 800);

/// Bit 7 marks the user for whom the frame was; without it, the first one counts.
#[test]
fn the_user_of_the_frame_is_the_marked_one() {
    let rate = |users| read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs_of([4, 0, 0], users)].concat()).rate;
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
    assert_eq!([ht(0x17, 0x10), ht(0x17, 0), ht(0x07, 0x10)], [Some(Coding::Ldpc), Some(Coding::Bcc), None]);
    let vht = |coding| code(read(&[1 << 21], &[0x44, 0, 0, 0, 0x72, 0, 0, 0, coding, 0, 0, 0]));
    assert_eq!([vht(1), vht(0)], [Some(Coding::Ldpc), Some(Coding::Bcc)]);
    let he = |known: u16, third: u16| {
        code(read(&[1 << 23], [known, 2, third, 0, 0, 2].map(u16::to_le_bytes).as_flattened()))
    };
    assert_eq!(
        [he(0x40a0, 0x2400), he(0x40a0, 0x0400), he(0x4020, 0x2400)],
        [Some(Coding::Ldpc), Some(Coding::Bcc), None]
    );
    let eht = |user| code(read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs_of([4, 0, 0], [user, 0])].concat()));
    let users = [0x0198_0016, 0x0190_0016, 0x0198_0012];
    assert_eq!(users.map(eht), [Some(Coding::Ldpc), Some(Coding::Bcc), None]);
}

/// By hand (IEEE Std 802.11-2016, 21.3.10.5.4): 770 B at VHT MCS 4 (156 data bits in 208 coded bits) take 40 symbols.
/// 6240 bits need five codewords of 1944 bits, of which 1050 bits are shortened and 9720 - 8320 - 1050 = 350 punctured,
/// more than a tenth of the 2430 bits of parity; and 1050 < 1.2 * 350 * 3. So there is an extra symbol, unless the
/// radio reports none: bit 4 of VHT's known values and flags, bit 8 of the first HE word and bit 14 of the third.
#[test]
fn ldpc_has_an_extra_symbol_unless_the_radio_reports_none() {
    let vht = |known: u8, flags: u8, coding| read(&[1 << 21], &[known, 0, flags, 0, 0x41, 0, 0, 0, coding, 0, 0, 0]);
    let air = |radio: RadioInfo| air_time_us(0..770, radio.rate.expect("a rate"), &radio);
    assert_eq!([air(vht(0x44, 0, 1)), air(vht(0x54, 0x10, 1)), air(vht(0x54, 0, 1))], [204.0, 204.0, 200.0]);
    assert_eq!(air(vht(0x44, 0, 0)), 200.0);
    let he = |known: u16, third: u16| read(&[1 << 23], [known, 2, third, 0, 0, 1].map(u16::to_le_bytes).as_flattened());
    let reported = [he(0x40a0, 0x2400), he(0x41a0, 0x6400), he(0x41a0, 0x2400)].map(|radio| radio.has_no_extra_symbol);
    assert_eq!(reported, [false, false, true]);
}

/// By hand (IEEE Std 802.11ax-2021, 27.3.11.5 and 27.3.13), MCS 0 in 20 MHz. HE SU with a guard interval of 0.8 us:
/// 23.2 us of preamble follow L-SIG, 31.2 us with extended range; with 3.2 us they are 32 us. LENGTH is three times the
/// duration behind L-SIG in units of 4 us, rounded up, minus 5, with extended range minus 4.
///
/// One symbol and 16 us are 52.8 us behind L-SIG, so 14 units: LENGTH 37. The rounding and the extension together
/// exceed a symbol, so PE Disambiguity is 1. One symbol with 4 us: 11 units; with none: 10. With extended range and 8
/// us: 14. One symbol of 16 us with an extension of 16 us has the same LENGTH as two symbols without.
#[test]
fn the_packet_extension_follows_from_l_sig() {
    let extension = |format: u16, (more_known, fifth, sixth): (u16, u16, u16), l_length: u16| {
        let he = [0x4020 | format, 0x0002 | more_known, 0, 0, fifth, sixth, 0x0002, l_length << 4];
        read(&[1 << 23 | 1 << 27], he.map(u16::to_le_bytes).as_flattened())
    };
    let (su, er, mu, known, short, long, is_set) = (0, 1, 2, 0x20, 0x80, 0xe0, 0x8000);
    for (format, fields, l_length, expected) in [
        (su, (known, short | is_set, 1), 37, 16),
        (su, (known, short, 1), 28, 4),
        (su, (known, short, 1), 25, 0),
        (er, (known, short, 1), 38, 8),
        (su, (known, long | is_set, 1), 43, 16),
        (su, (known, long, 1), 43, 0),
        // Unknown: the disambiguity, the LTF size, the length of HE-SIG-B, the number of midambles. In the last case
        // LENGTH is a multiple of 3, as it is not in HE.
        (su, (0, short | is_set, 1), 37, 0),
        (su, (known, is_set, 1), 37, 0),
        (mu, (known, short | is_set, 1), 38, 0),
        (su, (known, short | is_set, 0x11), 37, 0),
        (su, (known, short | is_set, 1), 39, 0),
    ] {
        let found = extension(format, fields, l_length).packet_extension;
        assert_eq!(found.as_nanos(), 1_000 * expected, "{format} {fields:x?} {l_length}");
    }
    // 11 bytes fill the symbol. The extension belongs to the first frame of a PPDU.
    let radio = extension(su, (known, short | is_set, 1), 37);
    let air = |range| air_time_us(range, radio.rate.expect("a rate"), &radio);
    assert!((air(0..11) - 72.8).abs() < 1e-9 && (air(11..25) - 13.6).abs() < 1e-9, "{} {}", air(0..11), air(11..25));
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

/// The rate in a field of the HE kind: six words.
fn he_rate_of(words: [u16; 6]) -> Option<RadioRate> {
    read(&[1 << 23], words.map(u16::to_le_bytes).as_flattened()).rate
}

/// The rate in U-SIG and EHT.
fn eht_rate_of(u_sig: [u32; 3], about: [u32; 3], user: u32) -> Option<RadioRate> {
    let tlvs = tlvs_with(u_sig, about, [user, 0]);
    read(&[1 << 1 | TLVS], &[vec![0x10, 0, 0, 0], tlvs].concat()).rate
}

/// radiotap.org: a rate follows from MCS, streams, width and guard interval. A frame of which one of them is not known
/// has none. The number of streams of VHT and HE has no such bit; it is known unless it is 0.
#[test]
fn a_rate_needs_mcs_streams_width_and_guard_interval() {
    let ht = |known| read(&[1 << 19], &[known, 0, 9]).rate;
    assert!(ht(0x07).is_some());
    assert_eq!([0x06, 0x05, 0x03].map(ht), [None; 3], "width, MCS, guard interval");
    let vht = |known, user| read(&[1 << 21], &[known, 0, 0, 4, user, 0, 0, 0, 0, 0, 0, 0]).rate;
    assert!(vht(0x44, 0x92).is_some());
    assert_eq!([vht(0x04, 0x92), vht(0x40, 0x92), vht(0x44, 0x90)], [None; 3], "width, guard interval, streams");
    let he = |known, more_known, streams| he_rate_of([known, more_known, 0x0900, 0, 2, streams]);
    assert!(he(0x4020, 2, 2).is_some());
    let unknown = [he(0x0020, 2, 2), he(0x4000, 2, 2), he(0x4020, 0, 2), he(0x4020, 2, 0)];
    assert_eq!(unknown, [None; 4], "width, MCS, guard interval, streams");
    let eht =
        |width: u32, known, user: u32| eht_rate_of([0x0001_0000 | width, 0, 0], [known, 0, 2], 0x0190_0000 | user);
    assert_eq!(eht(2, 0x04, 0x12), Some(EHT));
    assert_eq!(eht(0, 0x0040_0004, 0x12), Some(eht_rate(9, 2, 102, 800)), "106 tones");
    let unknown = [eht(0, 0x04, 0x12), eht(2, 0, 0x12), eht(2, 0x04, 0x10), eht(2, 0x04, 0x02)];
    assert_eq!(unknown, [None; 4], "width, guard interval, MCS, streams");
}

/// radiotap.org: codes without a meaning. VHT has bandwidths 0 to 25; HE has sizes 0 to 10 and guard intervals 0 to 2;
/// EHT has bandwidths 0 to 5, units 0 to 15 and guard intervals 0 to 2.
#[test]
fn reserved_codes_have_no_rate() {
    let vht = |bandwidth| read(&[1 << 21], &[0x44, 0, 0, bandwidth, 0x72, 0, 0, 0, 0, 0, 0, 0]).rate.is_some();
    assert_eq!([25, 26, 31].map(vht), [true, false, false]);
    let he = |fifth| he_rate_of([0x4020, 2, 0x0900, 0, fifth, 1]).is_some();
    assert_eq!([10, 11, 15, 2 << 4, 3 << 4].map(he), [true, false, false, true, false]);
    let eht = |bandwidth: u32| eht_rate_of([bandwidth << 15 | 2, 0, 0], [4, 0, 0], 0x0190_0012).is_some();
    assert_eq!([5, 6, 7].map(eht), [true, false, false]);
    let unit = |size| eht_rate_of([0x0001_0002, 0, 0], [0x0040_0004, 0, size], 0x0190_0012).is_some();
    assert_eq!([15, 16, 31].map(unit), [true, false, false]);
    let guard = |code: u32| eht_rate_of([0x0001_0002, 0, 0], [4, code << 7, 0], 0x0190_0012).is_some();
    assert_eq!([2, 3].map(guard), [true, false]);
}

/// VHT has MCS 0 to 9 (IEEE Std 802.11-2020, 21.5), and vendors add 10 and 11, which Linux passes on
/// (`ieee80211_rx_list`); HE has 0 to 11 (802.11ax, 27.5), EHT 0 to 15 (802.11be, 36.5). All have 1 to 8 streams.
#[test]
fn modes_that_do_not_exist_have_no_rate() {
    let vht = |mcs: u8, streams: u8| read(&[1 << 21], &[0x44, 0, 0, 4, mcs << 4 | streams, 0, 0, 0, 0, 0, 0, 0]).rate;
    let found = [(9, 1), (11, 8), (12, 1), (14, 1), (15, 1), (9, 9), (9, 15)].map(|(mcs, n)| vht(mcs, n).is_some());
    assert_eq!(found, [true, true, false, false, false, false, false]);
    let he = |mcs: u16, streams| he_rate_of([0x4020, 2, mcs << 8, 0, 2, streams]);
    let found = [(11, 1), (11, 8), (12, 1), (15, 1), (11, 9), (11, 15)].map(|(mcs, n)| he(mcs, n).is_some());
    assert_eq!(found, [true, true, false, false, false, false]);
    let eht = |mcs: u32, more_streams: u32| {
        eht_rate_of([0x0001_0002, 0, 0], [4, 0, 0], more_streams << 24 | mcs << 20 | 0x12)
    };
    let found = [(13, 7), (14, 0), (15, 0), (13, 8), (13, 15)].map(|(mcs, more)| eht(mcs, more).is_some());
    assert_eq!(found, [true, true, true, false, false]);
}

/// radiotap.org, U-SIG: bits 6 and 7 of the third field are B0 and B1 of U-SIG-2, the type of the PPDU. Type 0 is OFDMA
/// (802.11be, table 36-28): the width is that of all users, and only the resource unit gives the rate of one.
#[test]
fn the_width_of_an_ofdma_ppdu_is_not_that_of_a_user() {
    let rate = |kind, mask, known| eht_rate_of([0x0001_0002, kind, mask], [known, 0, 2], 0x0190_0012);
    assert_eq!(rate(0, 0xc0, 4), None);
    assert_eq!(rate(0, 0xc0, 0x0040_0004), Some(eht_rate(9, 2, 102, 800)));
    assert_eq!([rate(0x40, 0xc0, 4), rate(0, 0, 4)], [Some(EHT); 2], "single user; unknown");
}
