//! Queues by the words of Linux's `tc qdisc add`.
//!
//! What is not said has the default of the kernel, or of `tc` (`man 8 tc`, and a page for each discipline).

use wifair_config::Limit;
use wifair_units::{BitRate, Bytes, Duration};

use super::super::{
    Chosen, QueueSettings, cake, codel, dualpi2, fifo, fq_codel, fq_paced, fq_pie, linux::MTU, linux_red, pie, sfq, tbf,
};

/// Tick of the kernel's timer, which `tc` does not set: that of a kernel with HZ = 100.
const TICK: Duration = Duration::from_millis(10);

/// The settings for a line such as `fq_codel limit 100 quantum 300`.
///
/// # Errors
/// If the discipline or an option is not known, or a value cannot be read; the message names it.
pub fn settings(line: &str) -> Result<QueueSettings, String> {
    let mut words = TcWords { words: line.split_whitespace().collect(), at: 0 };
    let name = words.next().ok_or("no discipline is named")?;
    let usual =
        |discipline, packets| QueueSettings { discipline, limit: Limit::Packets(packets), ..QueueSettings::default() };
    let mut settings = match name {
        "pfifo" | "bfifo" => usual(Chosen::Fifo(fifo::Params::default()), 1000),
        "codel" => {
            let mut params = codel::Params { ecn: false, ..codel::Params::default() };
            let mut limit = 1000;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                _ => codel_option(&mut params, option, words),
            })?;
            usual(Chosen::Codel(params), limit)
        }
        "fq_codel" => {
            let mut params = fq_codel::Params::default();
            let mut limit = 10_240;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "flows" => words.set(&mut params.lines),
                "quantum" => words.set(&mut params.quantum),
                _ => codel_option(&mut params.control, option, words),
            })?;
            usual(Chosen::FqCodel(params), limit)
        }
        "pie" => {
            let mut params = pie::Params { tick: TICK, ..pie::Params::default() };
            let mut limit = 1000;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                _ => pie_option(&mut params, option, words),
            })?;
            usual(Chosen::Pie(params), limit)
        }
        "fq_pie" => {
            let mut params = fq_pie::Params::default();
            params.control.tick = TICK;
            let mut limit = 10_240;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "flows" => words.set(&mut params.lines),
                "quantum" => words.set(&mut params.quantum),
                "ecn_prob" => words.set(&mut params.ecn_limit),
                _ => pie_option(&mut params.control, option, words),
            })?;
            usual(Chosen::FqPie(params), limit)
        }
        "dualpi2" => {
            let mut params = dualpi2::Params::default();
            let mut limit = 10_000;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "target" => words.set(&mut params.target),
                "tupdate" => words.set(&mut params.update),
                "alpha" => words.set(&mut params.alpha),
                "beta" => words.set(&mut params.beta),
                "step_thresh" => words.set(&mut params.step),
                "coupling_factor" => words.set(&mut params.coupling),
                "classic_protection" => words.set(&mut params.classic_share),
                "drop_overload" | "overload" => words.set(&mut params.drop_overload),
                "ecn_mask" => words.set(&mut params.ecn_mask),
                _ => words.unknown(option),
            })?;
            usual(Chosen::DualPi2(params), limit)
        }
        "sfq" => {
            let mut params = sfq::Params::default();
            let mut limit = 127;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "depth" => words.set(&mut params.depth),
                "flows" => words.set(&mut params.flows),
                "divisor" => words.set(&mut params.divisor),
                "quantum" => words.set(&mut params.quantum),
                "headdrop" => said(&mut params.head_drop, true),
                _ => words.unknown(option),
            })?;
            usual(Chosen::Sfq(params), limit)
        }
        "fq" => {
            let mut params = fq_paced::Params { tick: TICK, ..fq_paced::Params::default() };
            let mut limit = 10_000;
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "flow_limit" => words.set(&mut params.flow_limit),
                "quantum" => words.set(&mut params.quantum),
                "initial_quantum" => words.set(&mut params.initial_quantum),
                "maxrate" => words.some(&mut params.max_rate),
                "ce_threshold" => words.some(&mut params.ce_threshold),
                _ => words.unknown(option),
            })?;
            usual(Chosen::FqPaced(params), limit)
        }
        "red" => {
            let mut params = linux_red::Params::default();
            let mut limit = Bytes(0);
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "min" => words.set(&mut params.min),
                "max" => words.set(&mut params.max),
                "avpkt" => words.set(&mut params.mean_packet),
                "burst" => words.set(&mut params.burst),
                "probability" => words.set(&mut params.max_p),
                "bandwidth" => words.some(&mut params.bandwidth),
                "ecn" => said(&mut params.ecn, true),
                "harddrop" => said(&mut params.hard_drop, true),
                _ => words.unknown(option),
            })?;
            QueueSettings { limit: Limit::Bytes(limit), ..usual(Chosen::LinuxRed(params), 0) }
        }
        "tbf" => {
            let mut params = tbf::Params::default();
            let mut limit = Bytes(0);
            words.each(|option, words| match option {
                "limit" => words.set(&mut limit),
                "rate" => words.some(&mut params.rate),
                "burst" => words.set(&mut params.burst),
                _ => words.unknown(option),
            })?;
            QueueSettings { limit: Limit::Bytes(limit), ..usual(Chosen::Tbf(params), 0) }
        }
        "cake" => {
            let mut params = cake::Params { roots: cake::Roots::Newton, ..cake::Params::default() };
            words.each(|option, words| cake_option(&mut params, option, words))?;
            usual(Chosen::Cake(params), 100_000_000)
        }
        _ => return Err(format!("unknown discipline `{name}`")),
    };
    if name == "bfifo" {
        settings.limit = Limit::Bytes(Bytes(1000 * MTU));
    }
    words.each(|option, words| match (option, &mut settings.limit) {
        ("limit", Limit::Packets(limit)) => words.set(limit),
        ("limit", Limit::Bytes(limit)) => words.set(limit),
        _ => words.unknown(option),
    })?;
    Ok(settings)
}

fn codel_option(params: &mut codel::Params, option: &str, words: &mut TcWords<'_>) -> Result<(), String> {
    match option {
        "target" => words.set(&mut params.target),
        "interval" => words.set(&mut params.interval),
        "ecn" => said(&mut params.ecn, true),
        "noecn" => said(&mut params.ecn, false),
        _ => words.unknown(option),
    }
}

fn pie_option(params: &mut pie::Params, option: &str, words: &mut TcWords<'_>) -> Result<(), String> {
    match option {
        "target" => words.set(&mut params.target),
        "tupdate" => words.set(&mut params.update),
        "alpha" => words.set(&mut params.alpha),
        "beta" => words.set(&mut params.beta),
        "ecn" => said(&mut params.ecn, true),
        "noecn" => said(&mut params.ecn, false),
        "bytemode" => said(&mut params.bytemode, true),
        "nobytemode" => said(&mut params.bytemode, false),
        _ => words.unknown(option),
    }
}

fn cake_option(params: &mut cake::Params, option: &str, words: &mut TcWords<'_>) -> Result<(), String> {
    match option {
        "bandwidth" => return words.some(&mut params.bandwidth),
        "unlimited" => params.bandwidth = None,
        "rtt" => return words.set(&mut params.rtt),
        "overhead" => return words.some(&mut params.overhead),
        "mpu" => return words.set(&mut params.min_packet),
        "memlimit" => return words.some(&mut params.memory),
        "raw" => params.overhead = None,
        "ingress" => params.ingress = true,
        "egress" => params.ingress = false,
        "ack-filter" => params.ack_filter = cake::AckFilter::On,
        "ack-filter-aggressive" => params.ack_filter = cake::AckFilter::Aggressive,
        "no-ack-filter" => params.ack_filter = cake::AckFilter::Off,
        _ => {
            let diffserv = cake::Diffserv::ALL.into_iter().find(|chosen| chosen.name() == option);
            let isolation = cake::Isolation::ALL.into_iter().find(|chosen| chosen.name() == option);
            if diffserv.is_none() && isolation.is_none() {
                return words.unknown(option);
            }
            params.diffserv = diffserv.unwrap_or(params.diffserv);
            params.isolation = isolation.unwrap_or(params.isolation);
        }
    }
    Ok(())
}

/// Sets a switch that has no value.
fn said(switch: &mut bool, value: bool) -> Result<(), String> {
    *switch = value;
    Ok(())
}

/// The words that are left.
struct TcWords<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> TcWords<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    /// Passes each option to `take`, which takes its values.
    fn each(&mut self, mut take: impl FnMut(&str, &mut Self) -> Result<(), String>) -> Result<(), String> {
        while let Some(option) = self.next() {
            take(option, self)?;
        }
        Ok(())
    }

    /// The value of the last option.
    fn value<T: TcValue>(&mut self) -> Result<T, String> {
        let option = self.words[self.at - 1];
        let word = self.next().ok_or_else(|| format!("`{option}` has no value"))?;
        T::read(word).ok_or_else(|| format!("`{word}` is not a value of `{option}`"))
    }

    /// Sets a parameter to the value of the last option.
    fn set<T: TcValue>(&mut self, parameter: &mut T) -> Result<(), String> {
        *parameter = self.value()?;
        Ok(())
    }

    /// Likewise, for a parameter that may be absent.
    fn some<T: TcValue>(&mut self, parameter: &mut Option<T>) -> Result<(), String> {
        *parameter = Some(self.value()?);
        Ok(())
    }

    fn unknown(&self, option: &str) -> Result<(), String> {
        Err(format!("unknown option `{option}` of `{}`", self.words[0]))
    }
}

/// A value as `tc` writes it.
trait TcValue: Sized {
    fn read(word: &str) -> Option<Self>;
}

/// A number with one of these units, each with its factor; the first one may be left out.
fn with_unit(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    let split = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(split);
    let unit = unit.to_ascii_lowercase();
    let factor = if unit.is_empty() { units[0].1 } else { units.iter().find(|(name, _)| *name == unit)?.1 };
    Some(number.parse::<f64>().ok()? * factor)
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl TcValue for $type {
            fn read(word: &str) -> Option<Self> {
                word.parse().ok()
            }
        })+
    };
}

whole_numbers!(u32, u64, f64);

impl TcValue for bool {
    fn read(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "true" | "drop" => Some(true),
            "false" | "overflow" => Some(false),
            _ => None,
        }
    }
}

impl TcValue for dualpi2::EcnMask {
    fn read(word: &str) -> Option<Self> {
        match word {
            "any" => Some(Self::Any),
            "l4s" | "l4s_ect" => Some(Self::L4s),
            _ => None,
        }
    }
}

impl TcValue for Duration {
    fn read(word: &str) -> Option<Self> {
        let nanos = with_unit(word, &[("us", 1e3), ("ns", 1.0), ("ms", 1e6), ("s", 1e9)])?;
        Some(Self::from_nanos(nanos.round() as u64))
    }
}

impl TcValue for Bytes {
    fn read(word: &str) -> Option<Self> {
        let bytes =
            with_unit(word, &[("b", 1.0), ("k", 1024.0), ("kb", 1024.0), ("m", 1_048_576.0), ("mb", 1_048_576.0)])?;
        Some(Self(bytes.round() as u64))
    }
}

impl TcValue for BitRate {
    fn read(word: &str) -> Option<Self> {
        let bits = with_unit(
            word,
            &[
                ("bit", 1.0),
                ("kbit", 1e3),
                ("mbit", 1e6),
                ("gbit", 1e9),
                ("bps", 8.0),
                ("kbps", 8e3),
                ("mbps", 8e6),
                ("gbps", 8e9),
            ],
        )?;
        Some(Self::from_bps(bits.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tc_are_understood() {
        let codel = settings("codel target 20ms interval 1s limit 40 ecn").expect("a line of tc");
        let Chosen::Codel(params) = &codel.discipline else { panic!("not CoDel") };
        assert_eq!((params.target, params.interval), (Duration::from_millis(20), Duration::from_secs(1)));
        assert!(params.ecn && codel.limit == Limit::Packets(40));
        let bfifo = settings("bfifo limit 30000").expect("a line of tc");
        assert_eq!(bfifo.limit, Limit::Bytes(Bytes(30_000)));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let message = |line| settings(line).expect_err("a line with a mistake");
        assert_eq!(message("quic"), "unknown discipline `quic`");
        assert_eq!(message("codel speed 3"), "unknown option `speed` of `codel`");
        assert_eq!(message("codel limit"), "`limit` has no value");
        assert_eq!(message("codel target fast"), "`fast` is not a value of `target`");
    }
}
