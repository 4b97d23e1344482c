//! The network: offers in, deliveries out, time in between.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use wifair_config::{Override, Source};
use wifair_mac::{AccessCategory, DscpMapping};
use wifair_packet::{Kind, Packet, flag};
use wifair_sim::scenario::Scenario;
use wifair_sim::world::RealPacket;
use wifair_sim::{Run, RunOptions};
use wifair_units::Time;

use crate::flows::FlowConnections;
use crate::{Delivered, EcnField, HEADERS, LinkBuilder, LinkDatagram, Lost, MTU, Snapshot, snapshot};

/// A station or server of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkHost(usize);

/// Why something could not be done. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// The scenario has mistakes: all of them, with line and remedy.
    Scenario(String),
    /// The time lies before [`WifiLink::now`], given second.
    Past(Duration, Duration),
    /// The time lies after the network's end, given second.
    AfterEnd(Duration, Duration),
    /// The datagram with its headers has more bytes, given first, than [`MTU`].
    TooLong(usize),
    /// A code point above 63.
    Dscp(u8),
    /// No path leads from the first host to the second, or they are the same.
    NoPath(LinkHost, LinkHost),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(problems) => f.write_str(problems),
            Self::Past(time, now) => write!(f, "{time:?} has passed: it is {now:?}"),
            Self::AfterEnd(time, end) => {
                write!(f, "{time:?} is after the network's end at {end:?}: give the scenario a longer `duration`")
            }
            Self::TooLong(bytes) => {
                write!(
                    f,
                    "an IP packet of {bytes} bytes is longer than {MTU}: at most {} of payload fit",
                    MTU - HEADERS
                )
            }
            Self::Dscp(dscp) => write!(f, "no code point {dscp}: there are 0 to 63"),
            Self::NoPath(from, to) => write!(f, "no path leads from host {} to host {}", from.0, to.0),
        }
    }
}

impl std::error::Error for LinkError {}

/// A datagram under way.
#[derive(Clone, Debug)]
struct UnderWay {
    number: u64,
    from: LinkHost,
    to: LinkHost,
    datagram: LinkDatagram,
}

/// A simulated network between the endpoints of a test; see the [crate](crate).
#[derive(Debug)]
pub struct WifiLink {
    run: Run,
    flows: FlowConnections,
    mapping: Option<DscpMapping>,
    under_way: Vec<Option<UnderWay>>,
    free: Vec<u32>,
    deliveries: VecDeque<Delivered>,
    losses: VecDeque<Lost>,
    offered: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
}

fn span(time: Time) -> Duration {
    Duration::from_nanos(time.as_nanos())
}

impl WifiLink {
    /// Puts a network together by method calls.
    #[must_use]
    pub fn builder() -> LinkBuilder {
        LinkBuilder::default()
    }

    /// The network that a scenario describes, at time zero. `settings` are `KEY=VALUE` as for `wifair run --set`. The
    /// scenario's flows run inside it; it needs none.
    ///
    /// # Errors
    /// [`LinkError::Scenario`] with all problems of the scenario, each with its line.
    pub fn from_toml(text: &str, seed: u64, settings: &[&str]) -> Result<Self, LinkError> {
        let settings: Vec<Override> = settings.iter().map(|setting| Override::new("setting", setting)).collect();
        let mut no_files = |_: &str| Err("a network for tests reads no files".to_owned());
        let scenario = Scenario::read(Source::file("scenario", text), &settings, &mut no_files, false)
            .map_err(|problems| LinkError::Scenario(problems.to_string()))?;
        if let Some((class, _)) = scenario.classes().first() {
            return Err(LinkError::Scenario(format!(
                "error: `{class}` is a class in Python, which this network cannot run"
            )));
        }
        let options = RunOptions { real_programs: true, ..RunOptions::default() };
        let wlan = scenario.file.wlan.as_ref();
        Ok(Self {
            run: Run::new(&scenario, seed, &options),
            flows: FlowConnections::default(),
            mapping: wlan.filter(|wlan| wlan.standard.has_mcs()).map(|wlan| wlan.dscp_mapping),
            under_way: Vec::new(),
            free: Vec::new(),
            deliveries: VecDeque::new(),
            losses: VecDeque::new(),
            offered: 0,
            delivered: 0,
            lost: 0,
            marked: 0,
        })
    }

    /// The station or server of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<LinkHost> {
        self.run.hosts().list().iter().position(|host| host.name == name).map(LinkHost)
    }

    /// All stations, then all servers, with their names.
    pub fn hosts(&self) -> impl Iterator<Item = (LinkHost, &str)> {
        self.run.hosts().list().iter().enumerate().map(|(index, host)| (LinkHost(index), host.name.as_str()))
    }

    /// The present, from the beginning of the network.
    #[must_use]
    pub fn now(&self) -> Duration {
        span(self.run.now())
    }

    /// The end, after which nothing happens: the scenario's `duration`.
    #[must_use]
    pub fn end(&self) -> Duration {
        span(self.run.end())
    }

    /// When something happens next, here or in the background; `None` if nothing will before the end.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Duration> {
        let next = self.run.world().next();
        (next < self.run.end()).then(|| span(next))
    }

    /// Lets time pass up to and including `until`. To act on each delivery at its own time, advance to
    /// [`WifiLink::next_event`].
    ///
    /// # Errors
    /// If `until` lies in the past or after the end.
    pub fn advance(&mut self, until: Duration) -> Result<(), LinkError> {
        let until = self.time(until)?;
        self.run.advance(until);
        self.collect();
        Ok(())
    }

    /// Sends a datagram at `now`, to which time advances, after all else that happens at that instant. Returns its
    /// number: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// If `now` lies in the past or after the end, no path joins the hosts, or the datagram is too long.
    pub fn offer(
        &mut self,
        now: Duration,
        from: LinkHost,
        to: LinkHost,
        datagram: LinkDatagram,
    ) -> Result<u64, LinkError> {
        let size = datagram.length() + HEADERS;
        if size > MTU {
            return Err(LinkError::TooLong(size));
        }
        if datagram.dscp > 63 {
            return Err(LinkError::Dscp(datagram.dscp));
        }
        let (path, reverse) = self.path(from, to)?;
        self.advance(now)?;
        let category = self.mapping.map_or(AccessCategory::Be, |mapping| mapping.category(datagram.dscp));
        let connection = self.flows.connection(self.run.world(), path, datagram.flow, category.index());
        let packet = Packet {
            size: u16::try_from(size).expect("the MTU fits"),
            payload: u16::try_from(datagram.length()).expect("the MTU fits"),
            flags: datagram.ecn.flags(),
            kind: Kind::Udp,
            ..Packet::default()
        };
        let ect1 = datagram.ecn == EcnField::Ect1;
        let number = self.offered;
        self.offered += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            u32::try_from(self.under_way.len() - 1).expect("fewer than 2^32 datagrams are under way")
        });
        self.under_way[place as usize] = Some(UnderWay { number, from, to, datagram });
        self.run.world().inject(connection, reverse, packet, RealPacket { number: place, tcp: None, ect1 });
        self.collect();
        Ok(number)
    }

    /// Takes the next datagram that has arrived, in order of time.
    pub fn poll_delivery(&mut self) -> Option<Delivered> {
        self.deliveries.pop_front()
    }

    /// Takes the next datagram that was lost, in order of time.
    pub fn poll_loss(&mut self) -> Option<Lost> {
        self.losses.pop_front()
    }

    /// Datagrams that have neither arrived nor been lost.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.under_way.len() - self.free.len()
    }

    /// What has happened so far.
    #[must_use]
    pub fn snapshot(&mut self) -> Snapshot {
        let outcome = self.run.outcome();
        Snapshot {
            time: self.now(),
            offered: self.offered,
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            air_idle: outcome.cell.air_idle,
            air_collision: outcome.cell.air_collision,
            ap_queue_mean_packets: outcome.cell.ap_queue_mean_packets,
            stations: snapshot::stations(&outcome),
        }
    }

    fn time(&self, time: Duration) -> Result<Time, LinkError> {
        if time < self.now() {
            return Err(LinkError::Past(time, self.now()));
        }
        match u64::try_from(time.as_nanos()) {
            Ok(nanos) if time <= self.end() => Ok(Time::from_nanos(nanos)),
            _ => Err(LinkError::AfterEnd(time, self.end())),
        }
    }

    fn path(&self, from: LinkHost, to: LinkHost) -> Result<(usize, bool), LinkError> {
        let count = self.run.hosts().list().len();
        let known = from.0 < count && to.0 < count;
        known.then(|| self.run.hosts().path(from.0, to.0)).flatten().ok_or(LinkError::NoPath(from, to))
    }

    fn collect(&mut self) {
        while let Some(carried) = self.run.world().collect() {
            let datagram = self.under_way[carried.number as usize].take().expect("it was offered, and ends once");
            self.free.push(carried.number);
            let UnderWay { number, from, to, datagram } = datagram;
            let time = span(carried.time);
            if let Some(loss) = carried.lost {
                self.lost += 1;
                self.losses.push_back(Lost { time, number, place: loss.into() });
                continue;
            }
            self.delivered += 1;
            let is_marked = carried.packet.has(flag::CE) && datagram.ecn != EcnField::Ce;
            self.marked += u64::from(is_marked);
            let (length, flow) = (datagram.length(), datagram.flow);
            let ecn = if is_marked { EcnField::Ce } else { datagram.ecn };
            self.deliveries.push_back(Delivered {
                time,
                number,
                from,
                to,
                payload: datagram.payload,
                length,
                ecn,
                flow,
            });
        }
    }
}
