//! Agents that choose congestion windows in a contended Wi-Fi network, step by step, in many networks at a time.
//!
//! An agent is a sender that keeps as many datagrams under way as its window allows. The other end acknowledges each by
//! a datagram of 40 bytes, which contends for the air, too. An agent sees what a sender can see: acknowledgments, their
//! round-trip times, and losses by later acknowledgments or a timeout. It does not see the network.
//!
//! Left out: flow control, pacing, and bytes that are sent again; a lost datagram only counts as lost.

mod agent;

use std::thread;
use std::time::Duration;

use wifair_link::{Delivered, LinkDatagram, LinkError, LinkHost, WifiLink};

use agent::Agent;
pub use agent::Observation;

/// Bytes of payload of each datagram: 1500 bytes with its headers.
pub const PAYLOAD: usize = 1472;
/// Bytes of payload of an acknowledgment: 40 with its headers.
const ACK_PAYLOAD: usize = 12;

/// A network, agents at its hosts, and the time between two decisions.
#[derive(Clone, Debug)]
pub struct CellPlan {
    /// The scenario as TOML; its flows run inside.
    pub scenario: String,
    /// Source and destination of each agent's datagrams.
    pub agents: Vec<(String, String)>,
    /// Time between two decisions.
    pub step: Duration,
    /// When the agents begin.
    pub begin: Duration,
}

/// One network with its agents.
#[derive(Debug)]
pub struct AgentCell {
    network: WifiLink,
    agents: Vec<Agent>,
    step: Duration,
}

impl AgentCell {
    /// The network at the time at which the agents begin.
    ///
    /// # Errors
    /// If the scenario is wrong, it ends before the agents begin, or a host does not exist.
    pub fn new(plan: &CellPlan, seed: u64) -> Result<Self, LinkError> {
        let mut network = WifiLink::from_toml(&plan.scenario, seed, &[])?;
        let host = |name: &str| -> Result<LinkHost, LinkError> {
            network.host(name).ok_or_else(|| LinkError::Scenario(format!("error: no station or server `{name}`")))
        };
        let agents = plan.agents.iter().map(|(from, to)| Ok(Agent::new(host(from)?, host(to)?)));
        let agents = agents.collect::<Result<Vec<_>, LinkError>>()?;
        network.advance(plan.begin)?;
        while network.poll_loss().is_some() || network.poll_delivery().is_some() {}
        Ok(Self { network, agents, step: plan.step })
    }

    /// Whether another step ends before the network does.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.network.now() + self.step <= self.network.end()
    }

    /// Lets the agents send with these windows, in datagrams, for one step; at least one each. Returns what each saw.
    ///
    /// # Errors
    /// If the network ends before.
    ///
    /// # Panics
    /// If there is not one window for each agent.
    pub fn step(&mut self, windows: &[f64]) -> Result<Vec<Observation>, LinkError> {
        assert_eq!(windows.len(), self.agents.len(), "a window for each agent");
        let until = self.network.now() + self.step;
        for (agent, window) in self.agents.iter_mut().zip(windows) {
            agent.begin_step(*window);
        }
        loop {
            let now = self.network.now();
            for (number, agent) in self.agents.iter_mut().enumerate() {
                agent.check_timeout(now);
                while let Some(datagram) = agent.poll(now) {
                    let payload = datagram.to_be_bytes().to_vec();
                    let padding = PAYLOAD - payload.len();
                    let sent = LinkDatagram { payload, padding, flow: flow(number), ..LinkDatagram::default() };
                    self.network.offer(now, agent.source, agent.destination, sent)?;
                }
            }
            while self.network.poll_loss().is_some() {}
            let Some(next) = self.network.next_event().filter(|next| *next <= until) else { break };
            self.network.advance(next)?;
            while let Some(delivery) = self.network.poll_delivery() {
                self.take(delivery)?;
            }
        }
        self.network.advance(until)?;
        while let Some(delivery) = self.network.poll_delivery() {
            self.take(delivery)?;
        }
        Ok(self.agents.iter().map(|agent| agent.observation(self.step)).collect())
    }

    fn take(&mut self, delivery: Delivered) -> Result<(), LinkError> {
        let number = usize::from(delivery.flow) - 1;
        let agent = &mut self.agents[number];
        let datagram = u64::from_be_bytes(delivery.payload[..8].try_into().expect("eight bytes"));
        if delivery.to == agent.destination {
            let padding = ACK_PAYLOAD - delivery.payload.len();
            let ack =
                LinkDatagram { payload: delivery.payload, padding, flow: delivery.flow, ..LinkDatagram::default() };
            self.network.offer(self.network.now(), agent.destination, agent.source, ack)?;
        } else {
            agent.on_ack(self.network.now(), datagram);
        }
        Ok(())
    }
}

/// Flow numbers of agents begin at 1, as 0 is that of everybody's datagrams.
fn flow(number: usize) -> u16 {
    u16::try_from(number + 1).expect("fewer than 65,535 agents")
}

/// Many networks of one plan, which differ in their seeds.
#[derive(Debug)]
pub struct AgentCells {
    plan: CellPlan,
    cells: Vec<AgentCell>,
}

impl AgentCells {
    /// A network for each seed.
    ///
    /// # Errors
    /// As from [`AgentCell::new`].
    pub fn new(plan: CellPlan, seeds: &[u64]) -> Result<Self, LinkError> {
        let cells = seeds.iter().map(|seed| AgentCell::new(&plan, *seed)).collect::<Result<_, _>>()?;
        Ok(Self { plan, cells })
    }

    /// Begins the network `index` anew.
    ///
    /// # Errors
    /// As from [`AgentCell::new`].
    pub fn reset(&mut self, index: usize, seed: u64) -> Result<(), LinkError> {
        self.cells[index] = AgentCell::new(&self.plan, seed)?;
        Ok(())
    }

    /// Whether another step ends before each network does.
    pub fn have_time(&self) -> impl Iterator<Item = bool> + '_ {
        self.cells.iter().map(AgentCell::has_time)
    }

    /// One step in each network, with the windows of all agents of the first, then of the second and so on, on
    /// `threads` threads. A network without time does nothing and returns nothing.
    ///
    /// # Errors
    /// As from [`AgentCell::step`].
    ///
    /// # Panics
    /// If the number of windows is wrong.
    pub fn step(&mut self, windows: &[f64], threads: usize) -> Result<Vec<Vec<Observation>>, LinkError> {
        let each = self.plan.agents.len();
        assert_eq!(windows.len(), each * self.cells.len(), "a window for each agent");
        let many = self.cells.len().div_ceil(threads.max(1)).max(1);
        let run = |cells: &mut [AgentCell], windows: &[f64]| -> Result<Vec<Vec<Observation>>, LinkError> {
            let steps = cells.iter_mut().zip(windows.chunks(each.max(1)));
            steps.map(|(cell, windows)| if cell.has_time() { cell.step(windows) } else { Ok(vec![]) }).collect()
        };
        if many >= self.cells.len() {
            return run(&mut self.cells, windows);
        }
        let parts = self.cells.chunks_mut(many).zip(windows.chunks(many * each));
        let found: Result<Vec<_>, LinkError> = thread::scope(|scope| {
            let run = &run;
            let started: Vec<_> = parts.map(|(cells, windows)| scope.spawn(move || run(cells, windows))).collect();
            started.into_iter().map(|one| one.join().expect("a step does not panic")).collect()
        });
        Ok(found?.into_iter().flatten().collect())
    }
}
