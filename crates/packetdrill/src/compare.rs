//! Compares a segment sent with the one that a script expects.

use crate::script::{Ecn, ScriptSegment, TcpOption};

/// The first difference between `got` and `expected`; `None` if they match. `check_stamp` compares two timestamp
/// values, the script's and ours.
pub fn difference(
    expected: &ScriptSegment,
    got: &ScriptSegment,
    check_stamp: &dyn Fn(u32, u32) -> bool,
) -> Option<String> {
    let field = |name: &str, expected: String, got: String| Some(format!("{name}: expected {expected}, got {got}"));
    if expected.flags != got.flags {
        return field("flags", expected.flags.to_string(), got.flags.to_string());
    }
    let range = |s: &ScriptSegment| format!("{}:{}({})", s.seq, s.seq.wrapping_add(s.payload), s.payload);
    if (expected.seq, expected.payload) != (got.seq, got.payload) {
        return field("bytes", range(expected), range(got));
    }
    if expected.flags.ack && expected.ack != got.ack {
        return field("ack", expected.ack.to_string(), got.ack.to_string());
    }
    if let (Some(expected), Some(got)) = (expected.window, got.window)
        && expected != got
    {
        return field("window", expected.to_string(), got.to_string());
    }
    let same_ecn = match (expected.ecn, got.ecn) {
        (None, _) => true,
        (Some(Ecn::AnyEct), Some(Ecn::Ect0 | Ecn::Ect1)) => true,
        (expected, got) => expected == got,
    };
    if !same_ecn {
        let name = |ecn: Option<Ecn>| ecn.map_or_else(|| "none".to_owned(), |ecn| ecn.to_string());
        return field("ECN", name(expected.ecn), name(got.ecn));
    }
    let Some(wanted) = &expected.options else { return None };
    let have = got.options.as_deref().unwrap_or_default();
    let same = |(a, b): (&TcpOption, &TcpOption)| match (a, b) {
        (TcpOption::Timestamp(value, echo), TcpOption::Timestamp(our_value, our_echo)) => {
            echo == our_echo && check_stamp(*value, *our_value)
        }
        (a, b) => a == b,
    };
    if wanted.len() == have.len() && wanted.iter().zip(have).all(same) {
        return None;
    }
    let list =
        |options: &[TcpOption]| format!("<{}>", options.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    field("options", list(wanted), list(have))
}
