//! A scenario put together by method calls.

use std::time::Duration;

use crate::{LinkError, WifiLink};

/// Puts a network together: one cell of 802.11ax on 20 MHz unless [`LinkBuilder::standard`] says otherwise.
///
/// Names may be of letters, digits, `-` and `_`; [`LinkBuilder::build`] reports all mistakes together.
#[derive(Clone, Debug)]
pub struct LinkBuilder {
    standard: String,
    groups: String,
    flows: String,
    settings: Vec<(String, String)>,
    seed: u64,
    lifetime: Duration,
}

impl Default for LinkBuilder {
    fn default() -> Self {
        Self {
            standard: "802.11ax".to_owned(),
            groups: String::new(),
            flows: String::new(),
            settings: Vec::new(),
            seed: 1,
            lifetime: Duration::from_secs(600),
        }
    }
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            other if other.is_control() => quoted += &format!("\\u{:04X}", u32::from(other)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

fn time(duration: Duration) -> String {
    quoted(&format!("{} ns", duration.as_nanos()))
}

impl LinkBuilder {
    /// `802.11b`, `802.11g`, `802.11a`, `802.11n`, `802.11ac`, `802.11ax` or `802.11be`.
    #[must_use]
    pub fn standard(mut self, standard: &str) -> Self {
        standard.clone_into(&mut self.standard);
        self
    }

    /// A station of this name.
    #[must_use]
    pub fn station(mut self, name: &str) -> Self {
        self.groups += &format!("[[stations]]\nname = {}\n", quoted(name));
        self
    }

    /// A server behind the access point, with this delay one way.
    #[must_use]
    pub fn server(mut self, name: &str, delay: Duration) -> Self {
        self.groups += &format!("[[servers]]\nname = {}\ndelay = {}\n", quoted(name), time(delay));
        self
    }

    /// So many more stations, each of which uploads without end, with the TCP of current systems (CUBIC), to a server
    /// of its group that is 10 ms away.
    #[must_use]
    pub fn background_uploads(self, name: &str, count: usize) -> Self {
        self.background(name, count, "up")
    }

    /// So many more stations, each of which downloads without end.
    #[must_use]
    pub fn background_downloads(self, name: &str, count: usize) -> Self {
        self.background(name, count, "down")
    }

    fn background(mut self, name: &str, count: usize, direction: &str) -> Self {
        let (station, server) = (quoted(name), quoted(&format!("{name}-server")));
        self.groups += &format!("[[stations]]\nname = {station}\ncount = {count}\n");
        self.groups += &format!("[[servers]]\nname = {server}\ndelay = \"10 ms\"\n");
        self.flows += &format!(
            "[[flows]]\nname = {station}\nstation = {station}\nserver = {server}\ndirection = \"{direction}\"\n\
             tcp.stack = \"modern\"\ntcp.cc = \"cubic\"\n"
        );
        self
    }

    /// Any key of a scenario, as `wifair run --set` takes it: `set("ap.queue.discipline", "fq-codel")`.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Seed of all random draws; 1 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long the network exists; 600 s by default.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The scenario as a file that `wifair run` and [`WifiLink::from_toml`] read, without what [`LinkBuilder::set`]
    /// changes.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let standard = quoted(&self.standard);
        let head = format!("duration = {}\n[wlan]\nstandard = {standard}\n", time(self.lifetime));
        format!("{head}{}{}", self.groups, self.flows)
    }

    /// The network at time zero.
    ///
    /// # Errors
    /// [`LinkError::Scenario`] with all problems: names that occur twice, values that do not exist, and so on.
    pub fn build(&self) -> Result<WifiLink, LinkError> {
        let settings: Vec<String> = self.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        WifiLink::from_toml(&self.to_toml(), self.seed, &settings)
    }
}
