//! The differentiated services code point of a packet: a number, or one of the standard's names for it.
//!
//! Sources: RFC 2474, section 4.2.2 (class selectors: CS0 to CS7), RFC 2597, section 6 (assured forwarding: AF11 to
//! AF43), RFC 3246 (expedited forwarding: EF), RFC 5865 (VOICE-ADMIT, here VA), RFC 8622 (lower effort: LE). RFC 4594
//! recommends code points for classes of applications.

use wifair_config::{Choice, Content, PlacedValue, Plain, Reader, Shape, Value, Variant, nearest};

/// Name, code point, service class, and the RFC that defines it.
const NAMES: [(&str, u8, &str, &str); 23] = [
    ("CS0", 0, "Default forwarding: standard service.", "RFC 2474, section 4.2.2"),
    ("CS1", 8, "Class selector 1: low-priority data.", "RFC 2474, section 4.2.2"),
    ("CS2", 16, "Class selector 2: operations and management.", "RFC 2474, section 4.2.2"),
    ("CS3", 24, "Class selector 3: broadcast video.", "RFC 2474, section 4.2.2"),
    ("CS4", 32, "Class selector 4: real-time interactive.", "RFC 2474, section 4.2.2"),
    ("CS5", 40, "Class selector 5: signalling.", "RFC 2474, section 4.2.2"),
    ("CS6", 48, "Class selector 6: network control.", "RFC 2474, section 4.2.2"),
    ("CS7", 56, "Class selector 7: reserved for network control.", "RFC 2474, section 4.2.2"),
    ("AF11", 10, "High-throughput data, low drop precedence.", "RFC 2597, section 6"),
    ("AF12", 12, "High-throughput data, medium drop precedence.", "RFC 2597, section 6"),
    ("AF13", 14, "High-throughput data, high drop precedence.", "RFC 2597, section 6"),
    ("AF21", 18, "Low-latency data, low drop precedence.", "RFC 2597, section 6"),
    ("AF22", 20, "Low-latency data, medium drop precedence.", "RFC 2597, section 6"),
    ("AF23", 22, "Low-latency data, high drop precedence.", "RFC 2597, section 6"),
    ("AF31", 26, "Multimedia streaming, low drop precedence.", "RFC 2597, section 6"),
    ("AF32", 28, "Multimedia streaming, medium drop precedence.", "RFC 2597, section 6"),
    ("AF33", 30, "Multimedia streaming, high drop precedence.", "RFC 2597, section 6"),
    ("AF41", 34, "Multimedia conferencing, low drop precedence.", "RFC 2597, section 6"),
    ("AF42", 36, "Multimedia conferencing, medium drop precedence.", "RFC 2597, section 6"),
    ("AF43", 38, "Multimedia conferencing, high drop precedence.", "RFC 2597, section 6"),
    ("EF", 46, "Expedited forwarding: telephony.", "RFC 3246"),
    ("VA", 44, "VOICE-ADMIT: telephony with admission control.", "RFC 5865"),
    ("LE", 1, "Lower effort: traffic that may starve.", "RFC 8622"),
];

/// A differentiated services code point, 0 to 63. A scenario has a number, or a name in capitals or small letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

impl Dscp {
    /// The number: the six high bits of the DS field of the IP header.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Reads a name such as `EF` or `af41`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name.trim())).map(|(_, number, ..)| Self(*number))
    }
}

impl Value for Dscp {
    fn shape() -> Shape {
        let variant = |(name, number, what, source): &(&'static str, u8, &str, &'static str)| Variant {
            name,
            doc: format!("{number}. {what}"),
            source: Some(source),
            outline: false,
            params: None,
        };
        let names = Choice {
            doc: "Names of code points; capitals and small letters are equal.".to_owned(),
            variants: NAMES.iter().map(variant).collect(),
        };
        Shape::OneOf(vec![Shape::Integer { min: 0, max: 63 }, Shape::Choice(names)])
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        let names = NAMES.map(|(name, ..)| name);
        let (message, note) = match &node.content {
            Content::Integer(number) => match u8::try_from(*number) {
                Ok(number @ 0..=63) => return Some(Self(number)),
                _ => (format!("`{key}` is {number}"), "must be from 0 to 63, or a name such as \"EF\"".to_owned()),
            },
            Content::Text(text) => {
                if let Some(dscp) = Self::named(text) {
                    return Some(dscp);
                }
                let meant = nearest(&text.to_ascii_uppercase(), names);
                let meant = meant.map_or(String::new(), |name| format!("did you mean \"{name}\"? "));
                let known = format!("write a number from 0 to 63, without quotes, or one of {}", names.join(", "));
                (format!("unknown {key} `{}`", node.shown()), meant + &known)
            }
            _ => (
                format!("`{key}` is {}, not a code point", node.shown()),
                "write a number from 0 to 63, or a name such as \"EF\"".to_owned(),
            ),
        };
        reader.problem(&node.place, Some(key), &message, &note);
        None
    }
    fn to_plain(&self) -> Plain {
        Plain::Integer(i128::from(self.0))
    }
    fn some() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binary code points of the RFCs.
    #[test]
    fn names_have_the_code_points_of_their_rfcs() {
        for class in 0..8 {
            assert_eq!(Dscp::named(&format!("CS{class}")), Some(Dscp(class << 3)), "xxx000");
        }
        for (class, high) in [(1, 0b001), (2, 0b010), (3, 0b011), (4, 0b100)] {
            for (precedence, low) in [(1, 0b010), (2, 0b100), (3, 0b110)] {
                assert_eq!(Dscp::named(&format!("af{class}{precedence}")), Some(Dscp(high << 3 | low)));
            }
        }
        for (name, number) in [("EF", 0b10_1110), ("ef", 0b10_1110), ("VA", 0b10_1100), ("Le", 0b00_0001)] {
            assert_eq!(Dscp::named(name).map(Dscp::number), Some(number), "{name}");
        }
        for name in ["", "CS8", "AF14", "AF51", "AF1", "46", "EFF", "CS"] {
            assert_eq!(Dscp::named(name), None, "{name}");
        }
    }
}
