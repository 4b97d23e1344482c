//! System calls of a script: their effects and return values.

use wifair_units::Duration;

use crate::connection::{ConnectionStage, ScriptConnection, SocketOptions};
use crate::error::ScriptStop;
use crate::host::{ScriptHost, Socket};
use crate::script::{Argument, SystemCall};
use crate::system::CONGESTION_CONTROLS;

/// The result of a call: the number returned, and the error if that is -1.
type Returned = (i64, Option<&'static str>);

/// The name that is used here for an error that has two names in Linux (`errno.h`).
fn linux_errno(name: &str) -> &str {
    match name {
        "EWOULDBLOCK" => "EAGAIN",
        "EDEADLOCK" => "EDEADLK",
        "ENOTSUP" => "EOPNOTSUPP",
        other => other,
    }
}

fn failed(errno: &'static str) -> Result<Returned, ScriptStop> {
    Ok((-1, Some(errno)))
}

/// Compares what an option is with what the script expects.
fn compare(what: &str, got: i64, wanted: &Argument) -> Result<Returned, ScriptStop> {
    match option_value(wanted) {
        Some(wanted) if wanted != got => ScriptStop::differs(format!("{what} is {got}, expected {wanted}")),
        _ => Ok((0, None)),
    }
}

fn argument(call: &SystemCall, index: usize) -> Result<&Argument, ScriptStop> {
    call.arguments.get(index).ok_or_else(|| ScriptStop::Unsupported(format!("`{}` with so few arguments", call.name)))
}

fn number(call: &SystemCall, index: usize) -> Result<i64, ScriptStop> {
    let value = argument(call, index)?;
    value.integer().ok_or_else(|| ScriptStop::Unsupported(format!("argument {} of `{}`", index + 1, call.name)))
}

fn bytes(call: &SystemCall, index: usize) -> Result<u64, ScriptStop> {
    match argument(call, index)? {
        Argument::Any => ScriptStop::unsupported(format!("`{}` of unknown length", call.name)),
        _ => u64::try_from(number(call, index)?)
            .ok()
            .filter(|bytes| *bytes < 1 << 40)
            .ok_or_else(|| ScriptStop::Unsupported(format!("the length in `{}`", call.name))),
    }
}

/// The first number of `[n]` or `n`.
fn option_value(value: &Argument) -> Option<i64> {
    match value {
        Argument::List(items) => items.first().and_then(Argument::integer),
        other => other.integer(),
    }
}

impl ScriptHost {
    /// Makes a system call of the application.
    ///
    /// # Errors
    /// If the result differs from the script, or if the call is not supported.
    pub fn call(&mut self, call: &SystemCall) -> Result<(), ScriptStop> {
        let (value, errno) = self.returned(call)?;
        let as_expected = match &call.result {
            Argument::Any => true,
            result => result.integer() == Some(value) && call.errno.as_deref().map(linux_errno) == errno,
        };
        if as_expected {
            return Ok(());
        }
        let show = |value: &str, errno: Option<&str>| match errno {
            Some(errno) => format!("{value} {errno}"),
            None => value.to_owned(),
        };
        let wanted = match &call.result {
            Argument::Integer(value) => value.to_string(),
            other => format!("{other:?}"),
        };
        Err(ScriptStop::Differs(format!(
            "`{}` returned {}, expected {}",
            call.name,
            show(&value.to_string(), errno),
            show(&wanted, call.errno.as_deref())
        )))
    }

    fn returned(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let unsupported = || ScriptStop::Unsupported(format!("the system call `{}`", call.name));
        match call.name.as_str() {
            "socket" => {
                let kind = argument(call, 1)?;
                if !kind.names("SOCK_STREAM") {
                    return ScriptStop::unsupported("sockets other than SOCK_STREAM");
                }
                if let Some(protocol) = call.arguments.get(2).and_then(Argument::word)
                    && !["IPPROTO_TCP", "IPPROTO_IP"].contains(&protocol)
                {
                    return ScriptStop::unsupported(format!("sockets of {protocol}"));
                }
                let fd = call.result.integer().unwrap_or(3);
                let options = SocketOptions { nonblocking: kind.names("SOCK_NONBLOCK"), ..SocketOptions::default() };
                self.sockets.insert(fd, Socket::Fresh(options));
                Ok((fd, None))
            }
            "bind" | "sync" => Ok((0, None)),
            "listen" => {
                if let Some(socket) = self.sockets.get_mut(&number(call, 0)?)
                    && let Socket::Fresh(options) = socket
                {
                    *socket = Socket::Listening(options.clone());
                }
                Ok((0, None))
            }
            "accept" | "accept4" => self.accept(call),
            "connect" => self.connect(call),
            "close" => {
                let fd = number(call, 0)?;
                let linger_zero = self.lingers_not.remove(&fd);
                if let Some(Socket::Connected(index)) = self.sockets.remove(&fd) {
                    self.act(|connections, moment| connections[index].close(moment, linger_zero));
                }
                Ok((0, None))
            }
            "shutdown" => {
                let how = argument(call, 1)?.clone();
                let index = self.connected_index(call)?;
                if how.names("SHUT_RD") || how.names("SHUT_RDWR") {
                    self.connections[index].read_closed = true;
                }
                if how.names("SHUT_WR") || how.names("SHUT_RDWR") {
                    self.act(|connections, moment| connections[index].close_write(moment));
                }
                Ok((0, None))
            }
            "write" | "send" | "sendto" | "read" | "recv" | "recvfrom" if argument(call, 1)?.names("NULL") => {
                failed("EFAULT")
            }
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.write(call),
            "ioctl" => self.queue_length(call),
            "read" | "recv" | "recvfrom" => {
                let most = bytes(call, 2)?;
                let connection = self.connected(call)?;
                if let Some(error) = connection.error.take() {
                    return failed(error);
                }
                let (available, end) = connection.readable();
                let taken = available.min(most);
                connection.read += taken;
                Ok(if taken > 0 || end { (taken as i64, None) } else { (-1, Some("EAGAIN")) })
            }
            "setsockopt" => self.set_option(call),
            "getsockopt" => self.get_option(call),
            "fcntl" => {
                let fd = number(call, 0)?;
                let Some(options) = self.socket_options(fd) else { return failed("EBADF") };
                if argument(call, 1)?.names("F_GETFL") {
                    return Ok((2 | if options.nonblocking { 0x800 } else { 0 }, None));
                }
                if !argument(call, 1)?.names("F_SETFL") {
                    return Err(unsupported());
                }
                options.nonblocking = argument(call, 2)?.names("O_NONBLOCK");
                Ok((0, None))
            }
            _ => Err(unsupported()),
        }
    }

    fn socket_options(&mut self, fd: i64) -> Option<&mut SocketOptions> {
        match self.sockets.get_mut(&fd)? {
            Socket::Fresh(options) | Socket::Listening(options) => Some(options),
            Socket::Connected(index) => Some(&mut self.connections[*index].options),
        }
    }

    /// The connection of the first argument.
    fn connected(&mut self, call: &SystemCall) -> Result<&mut ScriptConnection, ScriptStop> {
        let index = self.connected_index(call)?;
        Ok(&mut self.connections[index])
    }

    fn connected_index(&self, call: &SystemCall) -> Result<usize, ScriptStop> {
        let fd = number(call, 0)?;
        match self.sockets.get(&fd) {
            Some(Socket::Connected(index)) => Ok(*index),
            _ => ScriptStop::differs(format!("`{}`: file descriptor {fd} is not connected", call.name)),
        }
    }

    fn accept(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let ready =
            self.waiting.iter().position(|&index| self.connections[index].stage == ConnectionStage::Established);
        let Some(index) = ready.and_then(|at| self.waiting.remove(at)) else { return failed("EAGAIN") };
        let fd = call.result.integer().unwrap_or(4);
        self.sockets.insert(fd, Socket::Connected(index));
        Ok((fd, None))
    }

    fn connect(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let fd = number(call, 0)?;
        match self.sockets.get(&fd) {
            Some(Socket::Connected(index)) => {
                let connection = &mut self.connections[*index];
                Ok(match (connection.error.take(), connection.stage) {
                    (Some(error), _) => (-1, Some(error)),
                    (None, ConnectionStage::Established) => (0, None),
                    _ => (-1, Some("EALREADY")),
                })
            }
            Some(Socket::Fresh(options)) => {
                let options = options.clone();
                let nonblocking = options.nonblocking;
                self.act(|connections, moment| connections.push(ScriptConnection::connect(moment, options)));
                self.sockets.insert(fd, Socket::Connected(self.connections.len() - 1));
                Ok(if nonblocking { (-1, Some("EINPROGRESS")) } else { (0, None) })
            }
            _ => failed("EBADF"),
        }
    }

    fn write(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let name = call.name.as_str();
        let length = match name {
            "write" | "send" | "sendto" => bytes(call, 2)?,
            _ => {
                let vectors = match (name, argument(call, 1)?) {
                    ("sendmsg", Argument::Struct(fields)) => {
                        fields.iter().find_map(|(field, value)| (field.as_deref() == Some("msg_iov")).then_some(value))
                    }
                    (_, value) => Some(value),
                };
                let Some(Argument::List(vectors)) = vectors else {
                    return ScriptStop::unsupported(format!("the vectors of `{name}`"));
                };
                let mut sum = 0_u64;
                for vector in vectors {
                    let length = match vector {
                        Argument::Struct(fields) => fields.get(1).and_then(|(_, value)| value.integer()),
                        _ => None,
                    };
                    let length =
                        length.and_then(|length| u64::try_from(length).ok()).filter(|length| *length < 1 << 40);
                    sum += length.ok_or_else(|| ScriptStop::Unsupported(format!("the vectors of `{name}`")))?;
                }
                sum
            }
        };
        let flags = match name {
            "send" | "sendto" => argument(call, 3)?.clone(),
            "sendmsg" => argument(call, 2)?.clone(),
            _ => Argument::Integer(0),
        };
        for other in ["MSG_ZEROCOPY", "MSG_FASTOPEN", "MSG_OOB"] {
            if flags.names(other) {
                return ScriptStop::unsupported(format!("the flag {other}"));
            }
        }
        let index = self.connected_index(call)?;
        let connection = &mut self.connections[index];
        if let Some(error) = connection.error.take() {
            return failed(error);
        }
        if connection.write_closed || connection.stage == ConnectionStage::Gone {
            return failed("EPIPE");
        }
        let (more, record) = (flags.names("MSG_MORE"), flags.names("MSG_EOR"));
        let taken = self.act(|connections, moment| connections[index].write(moment, length, more, record));
        Ok(if taken == 0 && length > 0 { (-1, Some("EAGAIN")) } else { (taken as i64, None) })
    }

    /// Bytes that the application may read (`SIOCINQ`), or bytes not acknowledged yet (`SIOCOUTQ`).
    fn queue_length(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let name = argument(call, 1)?.word().unwrap_or_default().to_owned();
        let wanted = argument(call, 2)?.clone();
        let connection = self.connected(call)?;
        let got = match name.as_str() {
            "SIOCINQ" | "FIONREAD" => connection.readable().0,
            "SIOCOUTQ" | "TIOCOUTQ" => connection.unacknowledged(),
            _ => return ScriptStop::unsupported(format!("the ioctl {name}")),
        };
        compare(&name, got as i64, &wanted)
    }

    fn set_option(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let fd = number(call, 0)?;
        let name = argument(call, 2)?.word().unwrap_or_default().to_owned();
        let value = argument(call, 3)?.clone();
        let number = option_value(&value);
        let flag = number.map(|number| number != 0);
        let unsupported = || ScriptStop::Unsupported(format!("the socket option {name}"));
        match name.as_str() {
            "TCP_NODELAY" | "TCP_CORK" => {
                let on = flag.ok_or_else(unsupported)?;
                if let Some(Socket::Connected(index)) = self.sockets.get(&fd) {
                    let index = *index;
                    let (nodelay, cork) = if name == "TCP_CORK" { (None, Some(on)) } else { (Some(on), None) };
                    self.act(|connections, moment| connections[index].set_small_segments(moment, nodelay, cork));
                    return Ok((0, None));
                }
            }
            "SO_LINGER" => {
                if let Argument::Struct(fields) = &value {
                    let field = |index: usize| fields.get(index).and_then(|(_, value)| value.integer());
                    if (field(0), field(1)) == (Some(1), Some(0)) {
                        self.lingers_not.insert(fd);
                    }
                    return Ok((0, None));
                }
                return Err(unsupported());
            }
            _ => {}
        }
        let connected = matches!(self.sockets.get(&fd), Some(Socket::Connected(_)));
        let Some(options) = self.socket_options(fd) else { return failed("EBADF") };
        let count = number.and_then(|number| u64::try_from(number).ok());
        match name.as_str() {
            "TCP_NODELAY" => options.nodelay = flag.ok_or_else(unsupported)?,
            "TCP_CORK" => options.cork = flag.ok_or_else(unsupported)?,
            "TCP_MAXSEG" => {
                let mss = count.and_then(|count| u16::try_from(count).ok()).filter(|mss| (88..=32_767).contains(mss));
                let Some(mss) = mss else { return failed("EINVAL") };
                options.max_segment = Some(mss);
            }
            "SO_SNDBUF" => options.send_buffer = Some(count.ok_or_else(unsupported)?.saturating_mul(2)),
            // The buffer of an existing connection does not change.
            "SO_RCVBUF" if !connected => {
                options.receive_buffer = Some(count.filter(|count| *count < 1 << 31).ok_or_else(unsupported)?);
            }
            "TCP_USER_TIMEOUT" => {
                let timeout = count.filter(|millis| *millis < 1 << 31).ok_or_else(unsupported)?;
                let timeout = Duration::from_millis(timeout);
                options.user_timeout = Some(timeout);
                if let Some(Socket::Connected(index)) = self.sockets.get(&fd) {
                    self.connections[*index].set_user_timeout(timeout);
                }
            }
            "TCP_CONGESTION" => match &value {
                Argument::Text(name) if CONGESTION_CONTROLS.contains(&name.as_str()) => {
                    options.congestion_control = Some(name.clone());
                }
                _ => return Err(unsupported()),
            },
            // These options do not affect what is sent here.
            "SO_REUSEADDR" | "SO_REUSEPORT" | "SO_KEEPALIVE" | "SO_PRIORITY" | "IP_TOS" | "IP_MTU_DISCOVER"
            | "SO_RCVTIMEO" | "SO_SNDTIMEO" | "IP_FREEBIND" | "IP_TTL" => {}
            _ => return Err(unsupported()),
        }
        Ok((0, None))
    }

    fn get_option(&mut self, call: &SystemCall) -> Result<Returned, ScriptStop> {
        let fd = number(call, 0)?;
        let name = argument(call, 2)?.word().unwrap_or_default().to_owned();
        let wanted = argument(call, 3)?.clone();
        let system = self.system.clone();
        let index = match self.sockets.get(&fd) {
            Some(Socket::Connected(index)) => Some(*index),
            _ => None,
        };
        let error = match index {
            Some(index) if name == "SO_ERROR" => self.connections[index].error.take(),
            _ => None,
        };
        let connected = index.map(|index| i64::from(self.connections[index].max_segment(&system)));
        let Some(options) = self.socket_options(fd) else { return failed("EBADF") };
        let got = match name.as_str() {
            "TCP_MAXSEG" => connected.unwrap_or_else(|| options.max_segment.map_or(536, i64::from)),
            "SO_ERROR" => match error {
                None => 0,
                Some(error) => return compare_name(&wanted, error),
            },
            "SO_SNDBUF" => options.send_buffer.map_or(-1, |buffer| buffer as i64),
            "TCP_NODELAY" => options.nodelay.into(),
            "TCP_CORK" => options.cork.into(),
            "TCP_USER_TIMEOUT" => options.user_timeout.map_or(0, |timeout| (timeout.as_nanos() / 1_000_000) as i64),
            _ => return ScriptStop::unsupported(format!("the socket option {name}")),
        };
        compare(&format!("the socket option {name}"), got, &wanted)
    }
}

/// Compares the error of `SO_ERROR`, by name, with the script.
fn compare_name(wanted: &Argument, error: &str) -> Result<Returned, ScriptStop> {
    match wanted {
        Argument::List(items) if items.first().and_then(Argument::word).map(linux_errno) == Some(error) => {
            Ok((0, None))
        }
        _ => ScriptStop::differs(format!("the pending error is {error}")),
    }
}
