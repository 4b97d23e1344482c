//! "did you mean": the known word nearest to a misspelt one.

/// The word of `known` nearest to `word`, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect();
    let length = word.chars().count();
    let allowed = (length / 3).max(1).min(length.saturating_sub(1)); // a word has a letter in common with what is meant
    known.into_iter().map(|k| (distance(&word, k), k)).filter(|(d, _)| *d <= allowed).min().map(|(_, k)| k)
}

/// The most words that "did you mean" proposes.
const MOST_MEANT: usize = 8;

/// Words for the same: the access categories of IEEE Std 802.11 in tables, in the standard and in flows.
const SYNONYMS: [[&str; 3]; 4] =
    [["vo", "ac_vo", "voice"], ["vi", "ac_vi", "video"], ["be", "ac_be", "best-effort"], ["bk", "ac_bk", "background"]];

/// The words of `known` that `word` may be short for: another word for the same; the one that differs in capitals only;
/// those that end with it as a part, as `data_rate` does with `rate`; if there are none, those that have it as another
/// part.
fn longer<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let parts = |name: &'a str| name.split(['_', '-']);
    let like = |name: &&&str| name.eq_ignore_ascii_case(word);
    if let Some(name) = known.iter().find(like) {
        return vec![name];
    }
    let words = SYNONYMS.iter().find(|words| words.iter().any(|same| distance(&word.to_ascii_lowercase(), same) == 0));
    if let Some(name) = words.and_then(|words| known.iter().find(|name| words.contains(name))) {
        return vec![name];
    }
    let inside: Vec<&str> = known.iter().copied().filter(|name| name.contains('.') && name.ends_with(word)).collect();
    if let [name] = inside[..] {
        return vec![name]; // as `ac` is the end of 802.11ac
    }
    let ending: Vec<&str> = known.iter().copied().filter(|name| parts(name).next_back() == Some(word)).collect();
    if ending.is_empty() {
        known.iter().copied().filter(|name| parts(name).any(|part| part == word)).collect()
    } else {
        ending
    }
}

/// A hint for a message: `did you mean ...`, the choices if they are few, or nothing.
pub fn hint(word: &str, known: &[&str]) -> String {
    let longer = longer(word, known);
    match nearest(word, known.iter().copied()) {
        Some(known) => format!("did you mean `{known}`?"),
        None if !longer.is_empty() && longer.len() <= MOST_MEANT => {
            let quoted: Vec<String> = longer.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean {}?", quoted.join(" or "))
        }
        None if known.is_empty() => String::new(),
        None if known.len() == 1 => format!("the only one is `{}`", known[0]),
        None if known.len() <= 16 => format!("one of {}", known.join(", ")),
        None => format!("one of {}, ... ({} in all)", known[..12].join(", "), known.len()),
    }
}

/// The number of edits that turn `a` into `b`: insert, delete, replace, swap neighbours. Case matters; `-` and `_` are
/// equal.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().map(|c| if c == '_' { '-' } else { c }).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    if a == b {
        return 0;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["cw_min", "cw_max", "slot", "retry_limit"];
        assert_eq!(nearest("cwmin", known), Some("cw_min"));
        assert_eq!(nearest("solt", known), Some("slot"));
        assert_eq!(nearest("cw-max", known), Some("cw_max"));
        assert_eq!(nearest("frequency", known), None);
        assert_eq!(hint("frequency", &known), "one of cw_min, cw_max, slot, retry_limit");
    }

    #[test]
    fn a_word_of_one_letter_or_none_resembles_no_other() {
        assert_eq!(nearest("x", ["a", "ap"]), None);
        assert_eq!(hint("", &["a", "ap"]), "one of a, ap");
        assert_eq!(hint("d", &["c"]), "the only one is `c`");
    }

    #[test]
    fn a_word_may_be_short_for_a_longer_one() {
        let known = ["data_rate", "rate_adaptation", "basic_rate", "count"];
        assert_eq!(hint("rate", &known), "did you mean `data_rate` or `basic_rate`?");
        assert_eq!(hint("adaptation", &known), "did you mean `rate_adaptation`?");
        assert_eq!(hint("data", &known), "did you mean `data_rate`?");
        assert_eq!(hint("RATE_Adaptation", &known), "did you mean `rate_adaptation`?");
        let standards = ["802.11b", "802.11n", "802.11ac", "802.11ax"];
        assert_eq!(hint("ac", &standards), "did you mean `802.11ac`?");
        assert_eq!(hint("11b", &standards), "did you mean `802.11b`?");
        let categories = ["voice", "video", "best-effort", "background"];
        assert_eq!(hint("vo", &categories), "did you mean `voice`?");
        assert_eq!(hint("AC_BE", &categories), "did you mean `best-effort`?");
        assert_eq!(hint("voice", &["vo", "vi", "be", "bk"]), "did you mean `vo`?");
        assert_eq!(hint("best_effort", &["vo", "vi", "be", "bk"]), "did you mean `be`?");
        assert_eq!(hint("wifi6", &standards), "one of 802.11b, 802.11n, 802.11ac, 802.11ax");
    }
}
