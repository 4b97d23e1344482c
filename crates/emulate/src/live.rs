//! Runs an [`EmulatedCell`] in real time, with packets from and to TUN devices in network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CloneFlags, setns};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::signal::SigSet;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use tappers::{Interface, Tun};
use wifair_metrics::Histogram;
use wifair_units::{Duration, Time};

use crate::cell::EmulatedCell;
use crate::record::Recorder;

/// The most packets read from one device before the next device has its turn.
const BATCH: usize = 32;
/// The longest packet that is read whole, in bytes; longer ones are truncated, and then refused.
const LONGEST_READ: usize = 1 << 16;
/// The longest time between two checks for whether the loop must end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A packet delivered later than this counts as late.
pub const LATE: Duration = Duration::from_micros(100);
/// A packet delivered later than this is too late. The machine does not keep up if more than one in a hundred is.
pub const TOO_LATE: Duration = Duration::from_millis(1);
/// How often the fraction of packets that are too late is computed.
const JUDGE_EVERY: Duration = Duration::from_secs(1);
/// The least number of packets for which that fraction counts.
const JUDGE_FROM: u64 = 100;

/// The TUN device of a host.
pub struct Device {
    inner: Tun,
    is_gone: bool,
}

impl Device {
    /// Creates the TUN device `name` in the network namespace of the file `namespace`. It has no addresses yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(namespace: &Path, name: &str) -> io::Result<Self> {
        let (namespace, name) = (File::open(namespace)?, name.to_owned());
        // Only this thread enters the namespace; it ends when the device exists. The device stays in the namespace.
        let thread = std::thread::Builder::new().spawn(move || -> io::Result<Tun> {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            let mut device = Tun::new_named(Interface::new(name)?)?;
            device.set_nonblocking(true)?;
            Ok(device)
        })?;
        let inner = thread.join().map_err(|_| io::Error::other("the thread that creates the device has failed"))??;
        Ok(Self { inner, is_gone: false })
    }
}

/// How long after their simulated time of arrival packets were delivered to their programs.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Lateness of the packets delivered.
    pub deliveries: Histogram,
    /// Packets later than [`LATE`].
    pub late: u64,
    /// Packets later than [`TOO_LATE`].
    pub too_late: u64,
    /// Seconds in which the machine did not keep up.
    pub seconds_behind: u64,
    /// Packets that a device refused, because it was down, its buffer was full, or the packet was invalid.
    pub refused_by_device: u64,
    /// Devices that have vanished.
    pub vanished: u64,
}

/// State shared by the loop and its caller.
#[derive(Debug, Default)]
pub struct LiveControl {
    stop: AtomicBool,
    sent: Mutex<Vec<u64>>,
}

impl LiveControl {
    /// Asks the loop to end soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Packets that each host has sent so far.
    pub fn sent(&self) -> Vec<u64> {
        self.sent.lock().map(|sent| sent.clone()).unwrap_or_default()
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The caller stopped it.
    Stopped,
    /// The scenario's duration is over.
    Over,
    /// The machine did not keep up, and the loop was strict.
    Behind,
}

/// The monotonic clock.
fn clock() -> Time {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    Time::from_nanos(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// The system's identifier of this thread.
pub fn thread_id() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// Locks the program's memory against paging. Returns whether that was permitted.
pub fn lock_memory() -> bool {
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok()
}

/// The loop that runs a cell in real time.
pub struct Live<'a> {
    cell: &'a mut EmulatedCell,
    devices: &'a mut [Device],
    control: &'a LiveControl,
    recorder: Option<Recorder<io::BufWriter<File>>>,
    failure: Option<io::Error>,
    started: Time,
    lateness: Lateness,
    strict: bool,
    sent: Vec<u64>,
    judged: (Time, u64, u64),
}

impl<'a> Live<'a> {
    /// A loop that carries packets between `devices`, one for each host of `cell` in order. With `strict` it ends when
    /// the machine does not keep up.
    pub fn new(cell: &'a mut EmulatedCell, devices: &'a mut [Device], control: &'a LiveControl, strict: bool) -> Self {
        let sent = vec![0; devices.len()];
        Self {
            cell,
            devices,
            control,
            recorder: None,
            failure: None,
            started: Time::ZERO,
            lateness: Lateness::default(),
            strict,
            sent,
            judged: (Time::ZERO, 0, 0),
        }
    }

    /// Makes the loop write a recording.
    #[must_use]
    pub fn recording(mut self, recorder: Option<Recorder<io::BufWriter<File>>>) -> Self {
        self.recorder = recorder;
        self
    }

    fn elapsed(&self) -> Time {
        Time::ZERO + clock().saturating_since(self.started)
    }

    /// Carries packets until the end.
    ///
    /// # Errors
    /// If the recording cannot be written.
    pub fn run(mut self) -> io::Result<(Ended, Lateness)> {
        // The caller's thread handles signals.
        let _ = SigSet::all().thread_block();
        // By default Linux may wake a thread without a real-time class up to 50 us late, to serve timers together.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut buffers = vec![vec![0; LONGEST_READ]; BATCH];
        self.started = clock();
        let ended = loop {
            self.wait();
            for host in 0..self.devices.len() {
                self.read(host, &mut buffers);
            }
            let now = self.elapsed().min(self.cell.end());
            self.cell.run_until(now);
            self.deliver();
            if let Ok(mut sent) = self.control.sent.try_lock() {
                sent.clone_from(&self.sent);
            }
            if self.judge(now) && self.strict {
                break Ended::Behind;
            }
            if self.control.stop.load(Ordering::Relaxed) {
                break Ended::Stopped;
            }
            if now >= self.cell.end() {
                break Ended::Over;
            }
        };
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if let Some(recorder) = self.recorder.take() {
            recorder.finish(self.cell.now())?;
        }
        Ok((ended, self.lateness))
    }

    /// Waits for a packet of a program, the next event, or the next check, whichever comes first.
    fn wait(&mut self) {
        let next = self.cell.next_event().min(self.cell.end());
        let rest = next.saturating_since(self.elapsed()).min(LOOK_EVERY);
        if rest == Duration::ZERO {
            return;
        }
        let fds = self.devices.iter().filter(|device| !device.is_gone).map(|device| device.inner.as_fd());
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = TimeSpec::new(0, rest.as_nanos() as i64);
        let _ = ppoll(&mut fds, Some(timeout), None); // a signal may end it early
    }

    /// Reads the packets that programs at a host have sent.
    fn read(&mut self, host: usize, buffers: &mut [Vec<u8>]) {
        if self.devices[host].is_gone {
            return;
        }
        let mut lengths = [0; BATCH];
        let mut count = 0;
        for (buffer, length) in buffers.iter_mut().zip(&mut lengths) {
            match self.devices[host].inner.recv(buffer) {
                Ok(read) => *length = read,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => break,
                Err(_) => {
                    self.lose_device(host);
                    break;
                }
            }
            count += 1;
        }
        if count == 0 {
            return;
        }
        self.sent[host] += count as u64;
        // The packets arrived by now, so earlier events are processed first.
        let now = self.elapsed().min(self.cell.end());
        self.cell.run_until(now);
        for (buffer, length) in buffers.iter().zip(lengths).take(count) {
            let packet = &buffer[..length];
            if self.cell.inject(host, packet).is_ok()
                && let Some(recorder) = &mut self.recorder
                && let Err(error) = recorder.inject(now, host, packet)
            {
                self.stop_recording(error);
            }
        }
        self.deliver();
    }

    /// Delivers the packets that have arrived.
    fn deliver(&mut self) {
        while let Some(delivery) = self.cell.collect() {
            if let Some(recorder) = &mut self.recorder
                && let Err(error) = recorder.collect(&delivery)
            {
                (self.recorder, self.failure) = (None, Some(error));
                self.control.stop();
            }
            if delivery.lost.is_some() {
                continue;
            }
            let (time, to) = (delivery.time, delivery.to);
            let device = &mut self.devices[to];
            if device.is_gone {
                continue;
            }
            match device.inner.send(delivery.bytes) {
                Ok(_) => {
                    let late = (Time::ZERO + clock().saturating_since(self.started)).saturating_since(time);
                    self.lateness.deliveries.add(late);
                    self.lateness.late += u64::from(late > LATE);
                    self.lateness.too_late += u64::from(late > TOO_LATE);
                }
                // The device is down, or its buffer is full.
                Err(error) if matches!(error.raw_os_error(), Some(5 | 11 | 12 | 105)) => {
                    self.lateness.refused_by_device += 1;
                }
                // The system finds the packet invalid.
                Err(error) if error.raw_os_error() == Some(22) => self.lateness.refused_by_device += 1,
                Err(_) => self.lose_device(to),
            }
        }
    }

    fn stop_recording(&mut self, error: io::Error) {
        (self.recorder, self.failure) = (None, Some(error));
        self.control.stop();
    }

    fn lose_device(&mut self, host: usize) {
        self.devices[host].is_gone = true;
        self.lateness.vanished += 1;
    }

    /// Returns whether the machine has failed to keep up since the last time this was computed.
    fn judge(&mut self, now: Time) -> bool {
        let (since, samples, too_late) = self.judged;
        if now.saturating_since(since) < JUDGE_EVERY {
            return false;
        }
        let (all, bad) = (self.lateness.deliveries.samples(), self.lateness.too_late);
        self.judged = (now, all, bad);
        let is_behind = all - samples >= JUDGE_FROM && (bad - too_late) * 100 > all - samples;
        if is_behind {
            self.lateness.seconds_behind += 1;
        }
        is_behind
    }
}
