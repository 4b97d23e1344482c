//! What columns of one kind differ in: access categories, widths, and statistics of delays by category.

use wifair_mac::AccessCategory;
use wifair_metrics::Histogram;
use wifair_phy::ChannelWidth;
use wifair_units::Duration;

use super::{Each, Family};

/// Part of a column's name and its words, in the order of [`AccessCategory::ALL`].
const CATEGORIES: [(&str, &str); AccessCategory::ALL.len()] =
    [("voice", "voice"), ("video", "video"), ("best_effort", "best effort"), ("background", "background")];

/// A statistic of the delays of a category: part of its name, its words, and how it is computed.
type DelayStatistic = (&'static str, &'static str, fn(&Histogram) -> f64);

const DELAY_STATISTICS: [DelayStatistic; 4] = [
    ("mean", "Mean delay", Histogram::mean),
    ("p50", "Median, at most 1/64 too high, of the delay", |delays| percentile(delays, 0.50)),
    ("p95", "95th percentile, at most 1/64 too high, of the delay", |delays| percentile(delays, 0.95)),
    ("p99", "99th percentile, at most 1/64 too high, of the delay", |delays| percentile(delays, 0.99)),
];

/// Number of columns of delays by category.
pub const DELAYS: usize = CATEGORIES.len() * DELAY_STATISTICS.len();

fn percentile(delays: &Histogram, p: f64) -> f64 {
    delays.percentile(p).map_or(f64::NAN, Duration::nearest_secs)
}

pub fn categories() -> Family {
    CATEGORIES.iter().map(|(part, words)| ((*part).to_owned(), (*words).to_owned())).collect()
}

pub fn widths() -> Family {
    ChannelWidth::ALL.iter().map(|width| (width.mhz().to_string(), width.mhz().to_string())).collect()
}

pub fn delays() -> Family {
    let of = |(category, of): &(&str, &str)| {
        let category = (*category).to_owned();
        let of = (*of).to_owned();
        DELAY_STATISTICS.map(|(part, words, _)| {
            (format!("{category}_{part}"), format!("{words} of packets of access category {of}"))
        })
    };
    CATEGORIES.iter().flat_map(of).collect()
}

/// The statistics of the delays of each category.
pub fn category_delays(delays: &[Histogram; CATEGORIES.len()]) -> Each<f64, DELAYS> {
    let mut all = delays.iter().flat_map(|own| DELAY_STATISTICS.map(|(_, _, compute)| compute(own)));
    Each(std::array::from_fn(|_| all.next().expect("a value for each category and statistic")))
}
