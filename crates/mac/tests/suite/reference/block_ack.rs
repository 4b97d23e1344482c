//! Block ACK between one sender and one receiver, as two ends that share nothing but sequence numbers (IEEE Std
//! 802.11-2016, 10.24.7). Sequence numbers are not reduced modulo 4096, and nothing is ever removed.

use std::collections::{BTreeMap, BTreeSet};

use wifair_packet::PacketId;
use wifair_units::Time;

/// What the originator knows of an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Pending,
    Acknowledged,
    GivenUp,
}

/// An MPDU at its originator.
#[derive(Clone, Debug)]
pub struct Mpdu {
    /// One, or those of an A-MSDU.
    pub packets: Vec<PacketId>,
    /// From the MAC header to the FCS, in bytes.
    pub length: u64,
    pub attempts: u32,
    /// How often it was not sent because the RTS got no CTS.
    pub rts_failures: u32,
    pub outcome: Outcome,
}

/// The originator's end, with its peer.
#[derive(Clone, Debug)]
pub struct Originator {
    pub to: u32,
    /// Number of MPDUs that may be outstanding.
    size: u64,
    /// Whether block ACK is used; otherwise MPDUs are sent and acknowledged one by one.
    block_ack: bool,
    /// By sequence number.
    pub mpdus: Vec<Mpdu>,
    /// Whether a BlockAckReq is due.
    pub request_due: bool,
    /// When a block ACK for MPDUs sent for the first time was last missed, unless there was an answer since.
    pub missed_since: Option<Time>,
    pub recipient: Recipient,
}

impl Originator {
    pub fn new(to: u32, size: u64, block_ack: bool) -> Self {
        let recipient = Recipient { size, start: 0, got: BTreeSet::new(), held: BTreeMap::new() };
        Self { to, size, block_ack, mpdus: vec![], request_due: false, missed_since: None, recipient }
    }

    /// `WinStartO`: all earlier MPDUs are acknowledged or given up.
    pub fn start(&self) -> u64 {
        let is_pending = |mpdu: &Mpdu| mpdu.outcome == Outcome::Pending;
        self.mpdus.iter().position(is_pending).unwrap_or(self.mpdus.len()) as u64
    }

    /// The next sequence number to be assigned.
    pub fn next(&self) -> u64 {
        self.mpdus.len() as u64
    }

    pub fn has_room(&self) -> bool {
        self.next() < self.start() + self.size
    }

    pub fn has_pending(&self) -> bool {
        self.start() < self.next()
    }

    pub fn push(&mut self, id: PacketId, length: u64) {
        assert!(self.has_room(), "a sequence number beyond the window");
        let outcome = Outcome::Pending;
        self.mpdus.push(Mpdu { packets: vec![id], length, attempts: 0, rts_failures: 0, outcome });
    }

    pub fn mpdu(&mut self, number: u64) -> &mut Mpdu {
        &mut self.mpdus[usize::try_from(number).expect("few MPDUs")]
    }

    /// The MPDU that a further packet may join as an A-MSDU: the last, if it was never part of a PPDU.
    pub fn extensible(&mut self) -> Option<&mut Mpdu> {
        let is_new =
            |mpdu: &&mut Mpdu| mpdu.attempts == 0 && mpdu.rts_failures == 0 && mpdu.outcome == Outcome::Pending;
        self.mpdus.last_mut().filter(is_new)
    }

    /// Acknowledges an MPDU; returns whether it was not yet acknowledged.
    pub fn acknowledge(&mut self, number: u64) -> bool {
        let mpdu = self.mpdu(number);
        let is_news = mpdu.outcome == Outcome::Pending;
        if is_news {
            mpdu.outcome = Outcome::Acknowledged;
        }
        is_news
    }

    /// Gives up an MPDU if it is still pending; returns whether it was. Packets that the recipient does not have are
    /// appended to `lost`.
    pub fn give_up(&mut self, number: u64, lost: &mut Vec<PacketId>) -> bool {
        let has_got = self.recipient.has_got(number);
        let mpdu = self.mpdu(number);
        if mpdu.outcome != Outcome::Pending {
            return false;
        }
        mpdu.outcome = Outcome::GivenUp;
        if !has_got {
            lost.extend(&mpdu.packets);
        }
        true
    }

    /// After MPDUs were given up: if the recipient waits for one of them, it must be told (10.24.7.7). Without block
    /// ACK it never waits.
    pub fn after_giving_up(&mut self) {
        self.request_due |= self.block_ack && self.recipient.start < self.start();
    }

    /// Without block ACK the recipient does not wait for what was given up.
    pub fn skip_without_block_ack(&mut self) {
        if !self.block_ack {
            self.recipient.start = self.recipient.start.max(self.start());
        }
    }
}

/// The recipient's end: the reordering buffer.
#[derive(Clone, Debug)]
pub struct Recipient {
    size: u64,
    /// `WinStartB`: all earlier MPDUs were passed up or passed over.
    start: u64,
    /// All MPDUs ever received.
    got: BTreeSet<u64>,
    /// MPDUs behind a gap, with the time of their arrival.
    held: BTreeMap<u64, Time>,
}

impl Recipient {
    pub fn has_got(&self, number: u64) -> bool {
        self.got.contains(&number)
    }

    /// Since when it has held the first MPDU behind a gap.
    pub fn blocked_since(&self) -> Option<Time> {
        self.held.first_key_value().map(|(_, time)| *time)
    }

    /// Receives an MPDU; appends what is passed up to `up`. Returns false if it comes too late, and is lost.
    pub fn receive(&mut self, now: Time, number: u64, up: &mut Vec<u64>) -> bool {
        if !self.got.insert(number) {
            return true; // a duplicate
        }
        if number < self.start {
            return false;
        }
        self.held.insert(number, now);
        if number >= self.start + self.size {
            self.pass_over(number - self.size + 1, up); // 10.24.7.6.2
        }
        if number == self.start && self.held.len() == 1 {
            self.pass_up_in_order(up);
        }
        true
    }

    /// Passes up what no gap precedes.
    pub fn pass_up_in_order(&mut self, up: &mut Vec<u64>) {
        while self.held.remove(&self.start).is_some() {
            up.push(self.start);
            self.start += 1;
        }
    }

    /// Stops waiting for MPDUs before `number`.
    pub fn pass_over(&mut self, number: u64, up: &mut Vec<u64>) {
        if number > self.start {
            let behind = self.held.split_off(&number);
            up.extend(std::mem::replace(&mut self.held, behind).into_keys());
            self.start = number;
        }
    }

    /// Stops waiting for what is missing before the first MPDU held.
    pub fn time_out(&mut self, up: &mut Vec<u64>) {
        if let Some((first, _)) = self.held.first_key_value() {
            self.pass_over(*first, up);
        }
        self.pass_up_in_order(up);
    }
}
