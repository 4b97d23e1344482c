//! A synthetic conversation, wrapped in frames of any kind.

use super::radio_rates::{ht_rate, vht_rate};
use wifair_capture::frame::{self, Course, Heard, IpHeader, Tcp, WifiDataFrame};
use wifair_capture::link::radiotap::RadioRate;
use wifair_capture::link::wifi::Mac;
use wifair_capture::{Address, Endpoint, LinkType, PcapWriter, TcpOptions, flag};

/// A segment and the time at which it passes, in ns.
pub type Step = (u64, Tcp);

/// Milliseconds in ns.
pub const MS: u64 = 1_000_000;

pub fn ends(v6: bool) -> [Endpoint; 2] {
    let address = |last: u32| {
        if v6 { Address::v6(0x2001_0db8 << 96 | u128::from(last)) } else { Address::v4(0x0a00_0000 | last) }
    };
    [Endpoint { address: address(1), port: 40_000 }, Endpoint { address: address(2), port: 80 }]
}

/// An upload of 40 segments of 1,000 bytes over 20 ms. The 10th segment is lost before the capture point and
/// retransmitted, the 20th is lost after it and retransmitted. Sequence numbers start at `isn`.
pub fn upload(ends: [Endpoint; 2], isn: u32) -> Vec<Step> {
    let [client, server] = ends;
    let mut steps: Vec<Step> = Vec::new();
    let mut id = 0;
    let mut send = |at: u64, tcp: Tcp| {
        id += 1;
        steps.push((at, Tcp { ip: IpHeader { id, ..tcp.ip }, ..tcp }));
    };
    let stamps = |value: u64, echo: u64| Some(((value / MS) as u32, (echo / MS) as u32));
    let syn = TcpOptions {
        mss: Some(1_460),
        scale: Some(7),
        sack_permitted: true,
        timestamps: stamps(5_000 * MS, 0),
        ..TcpOptions::default()
    };
    let answer = isn.wrapping_add(99);
    send(0, Tcp { seq: isn, flags: flag::SYN, window: 64_240, options: syn, ..Tcp::between(client, server) });
    send(
        20 * MS,
        Tcp {
            seq: answer,
            ack: isn.wrapping_add(1),
            flags: flag::SYN | flag::ACK,
            window: 65_160,
            options: TcpOptions { timestamps: stamps(9_000 * MS, 5_000 * MS), ..syn },
            ..Tcp::between(server, client)
        },
    );
    let here = answer.wrapping_add(1);
    send(
        20 * MS + 1,
        Tcp {
            seq: isn.wrapping_add(1),
            ack: here,
            flags: flag::ACK,
            window: 502,
            options: TcpOptions { timestamps: stamps(5_020 * MS, 9_000 * MS), ..TcpOptions::default() },
            ..Tcp::between(client, server)
        },
    );
    let byte = |segment: u32| isn.wrapping_add(1).wrapping_add(segment * 1_000);
    let data = |at: u64, segment: u32| Tcp {
        seq: byte(segment),
        ack: here,
        flags: flag::ACK | if segment % 4 == 3 { flag::PSH } else { 0 },
        window: 502,
        payload: 1_000,
        options: TcpOptions { timestamps: stamps(5_000 * MS + at, 9_000 * MS + at - 20 * MS), ..TcpOptions::default() },
        ..Tcp::between(client, server)
    };
    let ack = |at: u64, segment: u32, sacked: Option<(u32, u32)>| Tcp {
        seq: here,
        ack: byte(segment),
        flags: flag::ACK,
        window: 501,
        options: TcpOptions {
            timestamps: stamps(9_000 * MS + at, 5_000 * MS + at - 20 * MS),
            blocks: sacked.map_or([(0, 0); 4], |(from, to)| [(byte(from), byte(to)), (0, 0), (0, 0), (0, 0)]),
            sacks: u8::from(sacked.is_some()),
            ..TcpOptions::default()
        },
        ..Tcp::between(server, client)
    };
    // Ten segments every 25 ms, acknowledged 20 ms later.
    for flight in 0..4u32 {
        let start = (30 + 25 * u64::from(flight)) * MS;
        let first = flight * 10;
        for i in 0..10 {
            // The tenth segment is lost before the capture point.
            if first + i != 9 {
                send(start + u64::from(i) * MS / 10, data(start, first + i));
            }
        }
        let answered = start + 20 * MS;
        match flight {
            0 => {
                send(answered, ack(answered, 9, None));
                send(answered + MS, data(answered, 9));
                send(answered + 21 * MS / 10, ack(answered, 10, None));
            }
            1 => {
                send(answered, ack(answered, 19, None));
                for i in 1..4 {
                    send(answered + u64::from(i) * MS / 10, ack(answered, 19, Some((20, 20 + i))));
                }
                send(answered + MS, data(answered, 19));
            }
            _ => send(answered, ack(answered, first + 10, None)),
        }
    }
    let end = 160 * MS;
    send(end, Tcp { payload: 0, flags: flag::FIN | flag::ACK, ..data(end, 40) });
    send(end + 20 * MS, Tcp { ack: byte(40).wrapping_add(1), flags: flag::FIN | flag::ACK, ..ack(end, 40, None) });
    send(
        end + 20 * MS + 1,
        Tcp { payload: 0, seq: byte(40).wrapping_add(1), ack: here.wrapping_add(1), ..data(end, 40) },
    );
    steps.sort_by_key(|(at, _)| *at);
    steps
}

/// The link and network headers around a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    Raw,
    Ethernet,
    Vlan,
    QinQ,
    Pppoe,
    Snap,
    Loopback,
    Cooked,
    Cooked2,
    Wifi,
    Radiotap,
    Qos,
    Amsdu,
    Vht,
    Mpls,
    Mesh,
    MeshAmsdu,
    Ppi,
    /// Prism headers whose items have the numbers of linux-wlan-ng, in little endian.
    Prism,
    /// Those of other drivers, in big endian.
    PrismBig,
    /// AVS headers where the file announces Prism headers.
    PrismAvs,
    Avs,
}

pub const WRAPS: [Wrap; 22] = [
    Wrap::Raw,
    Wrap::Ethernet,
    Wrap::Vlan,
    Wrap::QinQ,
    Wrap::Pppoe,
    Wrap::Snap,
    Wrap::Loopback,
    Wrap::Cooked,
    Wrap::Cooked2,
    Wrap::Wifi,
    Wrap::Radiotap,
    Wrap::Qos,
    Wrap::Amsdu,
    Wrap::Vht,
    Wrap::Mpls,
    Wrap::Mesh,
    Wrap::MeshAmsdu,
    Wrap::Ppi,
    Wrap::Prism,
    Wrap::PrismBig,
    Wrap::PrismAvs,
    Wrap::Avs,
];

impl Wrap {
    pub fn link(self) -> LinkType {
        match self {
            Self::Raw => LinkType::RawIp,
            Self::Ethernet | Self::Vlan | Self::QinQ | Self::Pppoe | Self::Snap | Self::Mpls => LinkType::Ethernet,
            Self::Loopback => LinkType::Loopback,
            Self::Cooked => LinkType::Cooked,
            Self::Cooked2 => LinkType::Cooked2,
            Self::Wifi => LinkType::Wifi,
            Self::Ppi => LinkType::Ppi,
            Self::Prism | Self::PrismBig | Self::PrismAvs => LinkType::Prism,
            Self::Avs => LinkType::Avs,
            _ => LinkType::Radiotap,
        }
    }

    /// The frame of a segment; `number` counts the frames.
    pub fn frame(self, tcp: &Tcp, number: u16) -> Vec<u8> {
        let v6 = tcp.ip.source.address.is_v6();
        let up = tcp.ip.source.port != 80;
        let mut ip = Vec::new();
        frame::tcp(&mut ip, tcp, u32::MAX);
        let mut out = Vec::new();
        let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
        match self {
            Self::Raw => {}
            Self::Ethernet | Self::Vlan | Self::QinQ => {
                frame::ethernet(&mut out, [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1], v6);
                if self != Self::Ethernet {
                    out.splice(12..12, [0x81, 0x00, 0, 42]);
                }
                if self == Self::QinQ {
                    // The outer tag precedes the inner one.
                    out.splice(12..12, [0x88, 0xa8, 0, 7]);
                }
            }
            Self::Pppoe => {
                out.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0x64, 0x11, 0, 0, 1]);
                out.extend((ip.len() as u16 + 2).to_be_bytes());
                out.extend(if v6 { [0, 0x57] } else { [0, 0x21] });
            }
            Self::Mpls => {
                // Two labels; the second is the bottom of the stack.
                out.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 63]);
            }
            Self::Snap => {
                out.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
                out.extend((ip.len() as u16 + 8).to_be_bytes());
                out.extend([0xaa, 0xaa, 3, 0, 0, 0]);
                out.extend(kind);
            }
            Self::Loopback => out.extend(if v6 { [30, 0, 0, 0] } else { [2, 0, 0, 0] }),
            Self::Cooked => {
                out.extend([0, if up { 0 } else { 4 }, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
                out.extend(kind);
            }
            Self::Cooked2 => {
                out.extend(kind);
                out.extend([0, 0, 0, 0, 0, 3, 0, 1, if up { 0 } else { 4 }, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
            }
            _ => return self.air(&ip, up, v6, number),
        }
        out.extend(ip);
        out
    }

    fn air(self, ip: &[u8], up: bool, v6: bool, number: u16) -> Vec<u8> {
        let mut out = Vec::new();
        let rate = match self {
            Self::Vht => vht_rate(5, 2, 80, true),
            Self::Amsdu => ht_rate(7, true, false),
            _ => RadioRate::Legacy(22),
        };
        match self.link() {
            LinkType::Radiotap => frame::radiotap(
                &mut out,
                &Heard { rate: Some(rate), frequency: 2_437, levels: Some((-50, -95)), ..Heard::default() },
            ),
            LinkType::Wifi => {}
            _ => self.monitor(&mut out),
        }
        let start = out.len();
        let (station, access_point) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 9]));
        let data = WifiDataFrame {
            course: if up { Course::ToAccessPoint } else { Course::FromAccessPoint },
            retry: false,
            receiver: if up { access_point } else { station },
            transmitter: if up { station } else { access_point },
            third: Mac([2, 0, 0, 0, 0, 7]),
            sequence: number & 0x0fff,
            tid: (!matches!(self, Self::Radiotap | Self::Wifi | Self::Ppi | Self::Avs)).then_some(0),
            duration: 314,
        };
        frame::wifi_data(&mut out, &data, v6);
        if matches!(self, Self::Mesh | Self::MeshAmsdu) {
            // Between two access points: a fourth address before the QoS field. Its bit 8 announces Mesh Control: no
            // address or two, TTL 31, sequence number.
            let qos = out.len() - 10;
            out[start + 1] |= 3;
            out[qos + 1] |= 1;
            out.splice(qos..qos, [2, 0, 0, 0, 0, 1]);
            let control = [vec![if up { 0 } else { 2 }, 31, 7, 0, 0, 0], vec![2; if up { 0 } else { 12 }]].concat();
            let llc = out.split_off(qos + 8);
            if self == Self::MeshAmsdu {
                out[qos + 6] |= 0x80;
                out.extend([2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1]);
                out.extend((llc.len() as u16 + ip.len() as u16).to_be_bytes());
            }
            out.extend(control);
            out.extend(llc);
        }
        if self == Self::Amsdu {
            // Repeat the header without LLC, followed by two subframes: another protocol, and the packet.
            let llc = out.split_off(out.len() - 8);
            let qos = out.len() - 2;
            out[qos] |= 0x80;
            out.extend([2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1, 0, 9]);
            out.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5, 0, 0]); // an experimental protocol, one byte of it, padding
            out.truncate(qos + 2 + 24);
            out.extend([2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1]);
            out.extend((llc.len() as u16 + ip.len() as u16).to_be_bytes());
            out.extend(llc);
        }
        out.extend(ip);
        if matches!(self.link(), LinkType::Radiotap | LinkType::Ppi) {
            frame::fcs(&mut out, start);
        }
        out
    }

    /// A header of 11 Mb/s on channel 6 at -50 dBm, above noise at -95 dBm.
    fn monitor(self, out: &mut Vec<u8>) {
        match self {
            Self::Ppi => {
                // Version, aligned fields, length, 802.11. A field of three bytes that nobody knows, padded; then
                // 802.11-Common: timer, FCS at the end, rate, frequency, CCK in 2.4 GHz, hopping, levels.
                out.extend([0, 1, 40, 0, 105, 0, 0, 0, 9, 0, 3, 0, 1, 2, 3, 0]);
                out.extend([2, 0, 20, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 22, 0, 0x85, 0x09, 0xa0, 0, 0, 0, 0xce, 0xa1]);
            }
            Self::Prism | Self::PrismBig => {
                let is_big = self == Self::PrismBig;
                let mut word = |value: u32| out.extend(if is_big { value.to_be_bytes() } else { value.to_le_bytes() });
                word(if is_big { 0x41 } else { 0x44 });
                word(144);
                (0..4).for_each(|_| word(0));
                // Host time, TSF, channel, RSSI, SQ, signal, noise, rate in either unit, direction, length. The fifth
                // has no value.
                let rate = if is_big { 110 } else { 22 };
                for (at, value) in
                    [3, 9, 6, 200, 77, 50_u32.wrapping_neg(), 95_u32.wrapping_neg(), rate, 0, 0].into_iter().enumerate()
                {
                    let item = at as u32 + 1;
                    word(if is_big { item << 12 | 0x41 } else { item << 16 | 0x44 });
                    let status = u32::from(at == 4);
                    word(if is_big { status << 16 | 4 } else { 4 << 16 | status });
                    word(value);
                }
            }
            _ => {
                // Magic, length, TSF, host time (two words each); PHY, channel, rate, antenna, priority, levels in dBm,
                // signal, noise, long preamble, CCK.
                let words = [0x8021_1001, 64, 0, 9, 0, 3, 4, 6, 110, 0, 0, 2];
                let levels = [50_u32.wrapping_neg(), 95_u32.wrapping_neg(), 2, 1];
                out.extend(words.iter().chain(&levels).flat_map(|word| word.to_be_bytes()));
            }
        }
    }
}

/// A capture of the steps in frames of one kind; the first one is stamped `origin` ns.
pub fn capture(steps: &[Step], wrap: Wrap, origin: u64, snap: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, wrap.link(), snap).expect("memory can be written");
    for (number, (at, tcp)) in steps.iter().enumerate() {
        let frame = wrap.frame(tcp, number as u16);
        writer.write(origin + at, frame.len() as u32, &frame).expect("memory can be written");
    }
    file
}
