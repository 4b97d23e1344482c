//! The settings of the host, read from the text of the shell commands in a script.
//!
//! No command is ever run. `docs/packetdrill.md` lists the commands recognised; any other makes a script unsupported.

use wifair_tcp::accecn::EcnFeedback;

/// Settings of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// `net.ipv4.tcp_congestion_control`.
    pub congestion_control: String,
    /// `net.ipv4.tcp_timestamps`.
    pub timestamps: bool,
    /// `net.ipv4.tcp_sack`.
    pub sack: bool,
    /// `net.ipv4.tcp_window_scaling`.
    pub window_scaling: bool,
    /// `net.ipv4.tcp_ecn`: 0 is off, 1 requests and accepts ECN, 2 only accepts it, 3 requests and accepts accurate
    /// ECN, 4 accepts it and requests ECN, 5 only accepts it.
    pub ecn: u8,
    /// `net.ipv4.tcp_ecn_option`: whether the option of accurate ECN is sent.
    pub ecn_option: bool,
    /// `net.ipv4.tcp_ecn_fallback`: whether an ECN field that looks mangled stops the use of ECN.
    pub ecn_fallback: bool,
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// Tail loss probes: `net.ipv4.tcp_early_retrans` is 3 or 4.
    pub tail_loss_probes: bool,
    /// `net.ipv4.tcp_recovery`: bit 0 is RACK.
    pub rack: bool,
    /// `net.ipv4.tcp_frto`.
    pub frto: bool,
    /// `net.ipv4.tcp_reordering`.
    pub reordering: u32,
    /// `net.ipv4.tcp_retries2`.
    pub retries: u32,
    /// `net.ipv4.tcp_syn_retries` and `tcp_synack_retries`.
    pub syn_retries: u32,
    /// `net.ipv4.tcp_syn_linear_timeouts`: so many timeouts of a SYN do not double the next one.
    pub linear_timeouts: usize,
    /// Largest and initial receive buffer: the third and second numbers of `net.ipv4.tcp_rmem`.
    pub receive_buffer: (u64, u64),
    /// `net.ipv4.tcp_min_tso_segs`.
    pub min_tso_segments: u32,
    /// `net.ipv4.tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in percent.
    pub pacing_ratios: (u64, u64),
    /// Whether the queue discipline is `fq`.
    pub fq: bool,
    /// Whether the queue of the device takes no packets (`limit 0`).
    pub device_full: bool,
    /// Whether the cubic module's `hystart_detect` is not 0.
    pub hystart: bool,
    /// MTU of the device, in bytes.
    pub mtu: u16,
    /// Minimum retransmission timeout, in milliseconds.
    pub min_rto_ms: u64,
    /// Initial window, in segments.
    pub initial_window: u64,
}

impl Default for System {
    fn default() -> Self {
        Self {
            congestion_control: "cubic".to_owned(),
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: 0,
            ecn_option: true,
            ecn_fallback: true,
            slow_start_after_idle: false,
            tail_loss_probes: true,
            rack: true,
            frto: true,
            reordering: 3,
            retries: 15,
            syn_retries: 5,
            linear_timeouts: 4,
            receive_buffer: (15 << 20, 540_000),
            min_tso_segments: 2,
            pacing_ratios: (200, 120),
            fq: false,
            device_full: false,
            hystart: true,
            mtu: 1500,
            min_rto_ms: 200,
            initial_window: 10,
        }
    }
}

/// Reads a file that a script names, such as `../common/defaults.sh`, as text.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

impl System {
    /// The feedback that a client asks for.
    pub const fn asks(&self) -> EcnFeedback {
        match self.ecn {
            3 => EcnFeedback::Accurate,
            1 | 4 => EcnFeedback::Classic,
            _ => EcnFeedback::Off,
        }
    }

    /// The most that a server agrees to.
    pub const fn accepts(&self) -> EcnFeedback {
        match self.ecn {
            3.. => EcnFeedback::Accurate,
            1 | 2 => EcnFeedback::Classic,
            0 => EcnFeedback::Off,
        }
    }
}

/// The congestion controls that Linux and this project both have.
pub const CONGESTION_CONTROLS: [&str; 13] = [
    "reno", "cubic", "bbr", "dctcp", "vegas", "westwood", "illinois", "htcp", "hybla", "yeah", "veno", "bic",
    "scalable",
];

/// Settings that are fixed here, or have no effect that scripts can see.
const FIXED: &str = "\
    tcp_dsack tcp_fack tcp_wmem tcp_notsent_lowat tcp_fastopen tcp_fastopen_key tcp_syncookies tcp_ecn_option_beacon \
    tcp_no_metrics_save tcp_mtu_probing tcp_limit_output_bytes tcp_autocorking tcp_tw_reuse tcp_moderate_rcvbuf \
    tcp_retries1 wmem_max rmem_max tcp_challenge_ack_limit tcp_invalid_ratelimit \
    tcp_comp_sack_nr tcp_fin_timeout tcp_shrink_window tcp_orphan_retries tcp_abc tcp_tso_win_divisor \
    ip_local_port_range";

/// The greatest depth of files that name files.
const MAX_DEPTH: u32 = 4;

impl System {
    /// Applies the text of a command.
    ///
    /// # Errors
    /// The part of the command that is not recognised.
    pub fn apply(&mut self, command: &str, read: ReadFile<'_>) -> Result<(), String> {
        self.apply_nested(command, read, 0)
    }

    fn apply_nested(&mut self, command: &str, read: ReadFile<'_>, depth: u32) -> Result<(), String> {
        for part in simple_commands(command) {
            self.simple(&part, read, depth).map_err(|()| format!("the command `{}`", part.join(" ")))?;
        }
        Ok(())
    }

    fn simple(&mut self, words: &[String], read: ReadFile<'_>, depth: u32) -> Result<(), ()> {
        let Some((name, arguments)) = words.split_first() else { return Ok(()) };
        let program = name.rsplit('/').next().unwrap_or_default();
        let texts: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.contains(">&")).collect();
        match program {
            "sysctl" | "set_sysctls.py" => {
                for setting in texts.iter().filter(|word| !word.starts_with('-')) {
                    // A setting restored from the output of a command was never changed here, so it is skipped.
                    if let Some((key, value)) = setting.split_once('=').filter(|(_, value)| !value.contains('`')) {
                        self.sysctl(key, value)?;
                    }
                }
                Ok(())
            }
            "echo" => match texts.iter().position(|word| *word == ">") {
                Some(at) if texts.len() == at + 2 => self.sysctl(texts[at + 1], &texts[..at].join(" ")),
                None => Ok(()),
                Some(_) => Err(()),
            },
            "tc" => self.queue_discipline(&texts),
            "ethtool" | "true" | ":" | "sync" | "sleep" => Ok(()),
            "ip" => self.route(&texts),
            _ if program.starts_with("sysctl_restore") => Ok(()),
            _ if program.ends_with(".sh") && depth < MAX_DEPTH => match read(name) {
                Some(text) => self.apply_nested(&text, read, depth + 1).map_err(|_| ()),
                None if program == "defaults.sh" || program == "set_sysctls.sh" => Ok(()),
                None => Err(()),
            },
            _ => Err(()),
        }
    }

    fn sysctl(&mut self, key: &str, value: &str) -> Result<(), ()> {
        let key = key.rsplit(['.', '/']).next().unwrap_or_default();
        let mut numbers = value.split_whitespace().map(arithmetic);
        let mut number = || numbers.next().flatten().ok_or(());
        match key {
            "tcp_congestion_control" if CONGESTION_CONTROLS.contains(&value) => {
                value.clone_into(&mut self.congestion_control);
            }
            "tcp_timestamps" => self.timestamps = number()? != 0,
            "tcp_sack" => self.sack = number()? != 0,
            "tcp_window_scaling" => self.window_scaling = number()? != 0,
            "tcp_ecn" => self.ecn = u8::try_from(number()?).ok().filter(|ecn| *ecn <= 5).ok_or(())?,
            "tcp_ecn_option" => self.ecn_option = number()? > 0,
            "tcp_ecn_fallback" => self.ecn_fallback = number()? > 0,
            "tcp_syn_linear_timeouts" => {
                self.linear_timeouts = usize::try_from(number()?).map_err(|_| ())?;
            }
            "tcp_slow_start_after_idle" => self.slow_start_after_idle = number()? != 0,
            "tcp_early_retrans" => self.tail_loss_probes = matches!(number()?, 3 | 4),
            "tcp_recovery" => self.rack = number()? & 1 != 0,
            "tcp_frto" => self.frto = number()? != 0,
            "tcp_reordering" => self.reordering = u32::try_from(number()?.clamp(1, 300)).map_err(|_| ())?,
            "tcp_retries2" => self.retries = u32::try_from(number()?).map_err(|_| ())?,
            "tcp_syn_retries" | "tcp_synack_retries" => {
                self.syn_retries = u32::try_from(number()?).map_err(|_| ())?;
            }
            "tcp_rmem" => {
                let (_, initial, largest) = (number()?, number()?, number()?);
                self.receive_buffer = (largest, initial);
            }
            "tcp_min_tso_segs" => self.min_tso_segments = u32::try_from(number()?.max(1)).map_err(|_| ())?,
            "tcp_pacing_ss_ratio" => self.pacing_ratios.0 = number()?,
            "tcp_pacing_ca_ratio" => self.pacing_ratios.1 = number()?,
            "tcp_rto_min_us" => self.min_rto_ms = number()? / 1000,
            "hystart_detect" | "hystart" => self.hystart = number()? != 0,
            "default_qdisc" => self.fq = value == "fq",
            _ if FIXED.split_whitespace().any(|fixed| fixed == key) => {}
            _ => return Err(()),
        }
        Ok(())
    }

    fn queue_discipline(&mut self, texts: &[&str]) -> Result<(), ()> {
        if texts.first() != Some(&"qdisc") {
            return Err(());
        }
        if texts.iter().any(|word| word.starts_with("del")) {
            (self.fq, self.device_full) = (false, false);
            return Ok(());
        }
        let kind = texts.iter().position(|word| *word == "root").and_then(|at| texts.get(at + 1)).ok_or(())?;
        self.fq = *kind == "fq";
        self.device_full = texts.windows(2).any(|pair| pair == ["limit", "0"]);
        if ["fq", "pfifo", "bfifo", "pfifo_fast", "fq_codel", "noqueue"].contains(kind) { Ok(()) } else { Err(()) }
    }

    fn route(&mut self, texts: &[&str]) -> Result<(), ()> {
        let after = |key: &str| texts.iter().position(|word| *word == key).and_then(|at| texts.get(at + 1)).copied();
        match texts.first() {
            Some(&"tcp_metrics") => Ok(()),
            Some(&"route" | &"ro" | &"r") => {
                if let Some(window) = after("initcwnd") {
                    self.initial_window = window.parse().map_err(|_| ())?;
                }
                if let Some(rto) = after("rto_min") {
                    let (digits, unit) = rto.split_at(rto.find(|c: char| !c.is_ascii_digit()).unwrap_or(rto.len()));
                    let value: u64 = digits.parse().map_err(|_| ())?;
                    self.min_rto_ms = match unit {
                        "ms" => value,
                        "s" => value * 1000,
                        _ => return Err(()),
                    };
                }
                Ok(())
            }
            Some(&"link") => {
                if let Some(mtu) = after("mtu") {
                    self.mtu = mtu.parse().map_err(|_| ())?;
                }
                Ok(())
            }
            _ => Err(()),
        }
    }
}

/// The value of a number, or of a product in `$((...))`.
fn arithmetic(text: &str) -> Option<u64> {
    let inside = text.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")).unwrap_or(text);
    inside.split('*').try_fold(1_u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}

/// The simple commands of a shell text as lists of words, without quotes, comments and redirections to `/dev/null`.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.replace("\\\n", " ").chars().collect::<Vec<_>>().into_iter().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.get_or_insert_with(String::new).push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, '#') if word.is_none() => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
            }
            (None, '\n' | ';' | '&' | '|') if !(c == '&' && word.as_ref().is_some_and(|w| w.ends_with('>'))) => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, '>') => {
                // `2>` and `>` end a word; the name of the file follows.
                if word.as_deref() == Some("2") {
                    word = None;
                }
                words.extend(word.take());
                words.push(">".to_owned());
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_with(String::new).push(c),
        }
    }
    words.extend(word.take());
    commands.push(words);
    for command in &mut commands {
        while let Some(at) = command.windows(2).position(|pair| pair[0] == ">" && pair[1] == "/dev/null") {
            command.drain(at..at + 2);
        }
        // The rest of `2>&1`.
        if command.last().is_some_and(|last| last == ">") {
            command.pop();
        }
    }
    commands.retain(|command| !command.is_empty() && command[0] != "1");
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn settings_are_read_and_nothing_is_run() {
        let mut system = System::default();
        let read = |path: &str| {
            (path == "../common/defaults.sh").then(|| {
                "#!/bin/bash\nip tcp_metrics flush all > /dev/null 2>&1\n\
                 sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\nsysctl -q net.ipv4.tcp_sack=0\n\
                 tc qdisc add dev tun0 root pfifo\n"
                    .to_owned()
            })
        };
        let command = "../common/defaults.sh\nsysctl -q net.ipv4.tcp_ecn=2    # a comment\n\
                       echo 0 > /sys/module/tcp_cubic/parameters/hystart_detect\n\
                       ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n /proc/sys/net/ipv4/tcp_min_tso_segs=10\n\
                       tc qdisc replace dev tun0 root fq";
        assert_eq!(system.apply(command, &read), Ok(()));
        assert_eq!((system.sack, system.ecn, system.hystart, system.timestamps), (false, 2, false, false));
        assert_eq!((system.min_tso_segments, system.fq, system.receive_buffer), (10, true, (15_728_640, 540_000)));
        assert_eq!(
            system.apply("tc qdisc delete dev tun0 root 2>/dev/null ; tc qdisc add dev tun0 root pfifo limit 0", &none),
            Ok(())
        );
        assert_eq!((system.fq, system.device_full), (false, true));
    }

    #[test]
    fn other_commands_are_named() {
        let refused = System::default().apply("rm -rf /", &none);
        assert_eq!(refused, Err("the command `rm -rf /`".to_owned()));
        assert!(System::default().apply("sysctl net.ipv4.tcp_unheard_of=1", &none).is_err());
        assert!(System::default().apply("./mystery.sh", &none).is_err());
    }
}
