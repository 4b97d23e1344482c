//! PPDUs of datagrams that are counted instead of written as packets.
//!
//! A window towards one receiver needs no MPDUs if it holds datagrams of a [`SaturatedSource`] only, each PPDU has all
//! of them, and they cannot be lost one by one: the receiver gets all or none. Such datagrams are kept as runs from the
//! queue until the receiver passes them up, and handled in one step for any number. Packets and MPDUs are written when
//! datagrams may be given up, and when the source is detached.

use wifair_packet::{NextHops, Packets};
use wifair_units::{Duration, Time};

use super::super::ppdu::{rules_between, single_psdu};
use super::super::window::Mpdu;
use super::super::{AggregationRules, BROADCAST, Bytes, Edcaf, Edcafs, Station, Task, number, rate_of};
use super::EdcafShortcuts;
use crate::MacEvent;
use crate::exchange::Purpose;
use crate::fast::{DatagramRuns, MpduLeads, SaturatedSource};
use crate::psdu_builder::{BuildState, PsduBuilder};
use crate::station::frame_length;

/// What a source's datagrams to one receiver have in common.
#[derive(Clone, Copy, Debug)]
struct RunPlan {
    to: u32,
    /// Window towards the receiver.
    place: usize,
    /// Length of each MPDU.
    length: u64,
    /// Most MPDUs in a PPDU; zero if datagrams may be lost or given up one by one.
    most: u64,
    /// A PSDU without MPDUs.
    empty: PsduBuilder,
}

impl RunPlan {
    /// The PSDU with `count` MPDUs.
    fn psdu(&self, count: u64) -> PsduBuilder {
        let mut builder = self.empty;
        builder.add_many(self.length, count);
        builder
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct RunPpdu {
    datagrams: DatagramRuns,
    plan: Option<RunPlan>,
    /// Number of PPDUs in which the datagrams were sent.
    attempts: u8,
    /// Batches of datagrams that joined together: the number of PPDUs sent before, and the number of datagrams.
    joined: Vec<(u8, u64)>,
    /// Whether the receiver has the datagrams.
    is_received: bool,
    /// How long before the end of the PPDU the receiver gets each datagram, and the length of the PSDU for which this
    /// holds.
    leads: MpduLeads,
    leads_of: Bytes,
}

impl RunPpdu {
    /// Prepares for datagrams of this source.
    pub fn begin_source(&mut self, source: &SaturatedSource) {
        self.datagrams = DatagramRuns::of(&source.packet, source.interval);
        self.plan = None;
        self.leads_of = Bytes(0);
    }

    /// Number of datagrams that the sender does not know to have arrived.
    pub fn len(&self) -> u64 {
        self.datagrams.len()
    }

    /// Number of datagrams that the receiver does not have yet.
    #[allow(clippy::cast_possible_truncation)]
    pub fn len_under_way(&self) -> usize {
        if self.is_received { 0 } else { self.len() as usize }
    }

    /// Takes up to `most` datagrams from those waiting at the source.
    fn take_from(&mut self, source: &mut SaturatedSource, most: u64) -> u64 {
        let count = self.datagrams.take_from(&mut source.unwritten, most);
        match self.joined.last_mut() {
            Some((attempts, together)) if *attempts == self.attempts => *together += count,
            _ if count > 0 => self.joined.push((self.attempts, count)),
            _ => {}
        }
        count
    }

    fn clear(&mut self) {
        self.datagrams.clear();
        self.joined.clear();
        self.attempts = 0;
        self.is_received = false;
    }
}

impl Edcaf {
    /// Whether the EDCAF sends datagrams for which no packets are written.
    #[inline]
    pub fn sends_run(&self) -> bool {
        self.shortcuts.run.as_ref().is_some_and(|run| run.len() > 0)
    }

    /// Number of datagrams in its PPDU that the receiver does not have yet.
    pub fn packets_in_run(&self) -> usize {
        self.shortcuts.run.as_ref().map_or(0, |run| run.len_under_way())
    }

    /// Number of datagrams in its queue and PPDU for which no packets are written.
    #[allow(clippy::cast_possible_truncation)]
    pub fn unwritten(&self) -> usize {
        let waiting = self.shortcuts.source.as_ref().map_or(0, |source| source.unwritten.len());
        waiting as usize + self.shortcuts.run.as_ref().map_or(0, |run| run.len_under_way())
    }
}

impl Edcafs {
    /// Makes an EDCAF send the next datagram of its source, if nothing is ahead of it; returns whether it does. If the
    /// datagram needs a packet, the packet is written into the queue instead.
    pub(in crate::edcaf) fn begin_run(
        &mut self,
        now: Time,
        index: usize,
        packets: &mut Packets,
        next_hops: NextHops<'_>,
    ) -> bool {
        let Edcaf { shortcuts: EdcafShortcuts { source, run, .. }, waiting, .. } = &self.contenders[index];
        let (Some(source), Some(run)) = (source, run) else { return false };
        if source.unwritten.is_empty() || waiting.one_fifo().is_none_or(|fifo| fifo.written() > 0) {
            return false;
        }
        let to = next_hops.of(&source.packet);
        let plan = match run.plan {
            Some(plan) if plan.to == to => plan,
            _ => self.plan_run(now, index, to),
        };
        let Edcaf {
            shortcuts: EdcafShortcuts { source: Some(source), run: Some(run), .. },
            waiting,
            windows,
            task,
            ..
        } = &mut self.contenders[index]
        else {
            return false;
        };
        if plan.most == 0 || !windows[plan.place].is_unused() {
            self.write_out(index, 1, packets);
            return false;
        }
        *task = Some(Task::Data(plan.place));
        run.clear();
        run.take_from(source, 1);
        waiting.change_fifo(|fifo| fifo.give_up_reserved(1, source.packet.size));
        true
    }

    /// Determines what the datagrams of a source to this receiver have in common.
    #[cold]
    fn plan_run(&mut self, now: Time, index: usize, to: u32) -> RunPlan {
        let station = self.station_of(index);
        let rules = self.stations[rate_of(&self.stations, station, to)].rules.as_ref();
        let contender = &mut self.contenders[index];
        let place = contender.window_to(to, rules);
        let like = contender.shortcuts.source.as_ref().expect("the source whose datagrams are sent").packet;
        let length = frame_length(&self.access.timing, &like, self.stations[station].routing_overhead).0;
        let mut plan = RunPlan { to, place, length, most: 0, empty: PsduBuilder::new(0, 0) };
        if let Some(rules) = rules_between(&self.stations, station, to)
            && let Some(mode) = self.mode_towards(station, to)
            && self.is_sent_whole(index, station, to, rules)
        {
            plan.empty = PsduBuilder::new(self.psdu_limit(now, index, to, Some(mode), Some(rules)), mode.min_subframe);
            plan.most = (1 + plan.psdu(1).how_many_fit(length)).min(rules.window.into());
        }
        if let Some(run) = &mut self.contenders[index].shortcuts.run {
            run.plan = Some(plan);
        }
        plan
    }

    /// Whether the receiver gets all MPDUs of a PPDU or none, and nothing (such as RTS) handles MPDUs one by one,
    /// except that they are given up at their retry limit.
    fn is_sent_whole(&self, index: usize, station: usize, to: u32, rules: &AggregationRules) -> bool {
        let Station { link, choice, routing_overhead, is_legacy, ap, .. } = &self.stations[station];
        let can_err = [station, to as usize].iter().any(|end| self.stations[*end].errors.are_possible());
        let is_plain = !can_err && !link.is_noisy() && choice.is_none() && ap.is_none() && !is_legacy;
        let makes_aggregates = rules.max_ampdu.0 > 0 && rules.max_amsdu.0 == 0 && !rules.agreements_on_air;
        let AggregationRules { request_after_miss, lifetime, max_ampdu, .. } = *rules;
        is_plain
            && makes_aggregates
            && to != BROADCAST
            && *routing_overhead == Bytes(0)
            && self.contenders[index].txop == Duration::ZERO
            && !self.access.protects(max_ampdu)
            && self.access.protection.is_none()
            && !self.air_use.is_wanted()
            && !request_after_miss
            && lifetime.is_none()
    }

    /// Forms the next PPDU of an EDCAF that sends datagrams without packets: the datagrams sent before, and as many
    /// more as are waiting and fit.
    pub(in crate::edcaf) fn form_run(&mut self, sender: usize, station: usize) {
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), source, .. }, waiting, ppdu, .. } =
            &mut self.contenders[sender]
        else {
            return;
        };
        let Some(plan) = run.plan else { return };
        let sent_before = if run.attempts > 0 { run.len() } else { 0 };
        if let Some(source) = source
            && run.len() < plan.most
        {
            let more = run.take_from(source, plan.most - run.len());
            waiting.change_fifo(|fifo| fifo.give_up_reserved(more, source.packet.size));
        }
        run.attempts = run.attempts.saturating_add(1);
        let count = run.len();
        let is_aggregate = count > 1;
        ppdu.begin(plan.to, if is_aggregate { Purpose::Aggregate } else { Purpose::Single });
        ppdu.retries = sent_before;
        ppdu.sole_mut().psdu = if is_aggregate {
            Bytes(plan.psdu(count).psdu)
        } else {
            single_psdu(Bytes(plan.length), rules_between(&self.stations, station, plan.to))
        };
        self.time_ppdu(sender, station, count);
    }

    /// Reports datagrams just received for which no packets are written.
    #[inline]
    pub(in crate::edcaf) fn report_run(&mut self) -> Option<MacEvent> {
        self.shortcuts.received_run.take().map(|sender| MacEvent::Datagrams { sender })
    }

    /// The receiver gets the datagrams of `sender`, and passes them up.
    pub(in crate::edcaf) fn receive_run(&mut self, now: Time, sender: usize) {
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), .. }, ppdu, .. } = &self.contenders[sender] else {
            return;
        };
        if self.passes_up_singly() && run.leads_of != ppdu.sole().psdu {
            self.find_leads(sender);
        }
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), .. }, counters, .. } = &mut self.contenders[sender]
        else {
            return;
        };
        run.is_received = true;
        counters.passed_up += run.len();
        if let Some(delays) = self.deliveries.delays_of(sender) {
            run.datagrams.ages(now, Duration::MAX, run.leads).for_each(|ages| delays.add_all(ages));
        }
        self.shortcuts.received_run = Some(number(sender));
    }

    /// Determines how long before the end of the PPDU its MPDUs are received.
    fn find_leads(&mut self, sender: usize) {
        let times = self.psdu_times(sender);
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), .. }, ppdu, .. } = &mut self.contenders[sender] else {
            return;
        };
        let Some(RunPlan { empty, length, .. }) = run.plan else { return };
        let (first, stride) = (empty.end(length), empty.stride(length));
        run.leads = MpduLeads::new(times.psdu.saturating_sub(first), stride, times.byte());
        run.leads_of = ppdu.sole().psdu;
    }

    /// The sender learns that its datagrams have arrived; returns their number.
    pub(in crate::edcaf) fn settle_run(&mut self, sender: usize) -> u64 {
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), .. }, windows, counters, .. } =
            &mut self.contenders[sender]
        else {
            return 0;
        };
        let count = run.len();
        if let Some(plan) = run.plan {
            windows[plan.place].pass(count);
        }
        counters.delivered += count;
        run.clear();
        count
    }

    /// No response came: the same PPDU is sent again, unless an MPDU has reached its retry limit; then MPDUs are
    /// written. Returns whether the PPDU is sent again.
    pub(in crate::edcaf) fn repeats_run(&mut self, sender: usize, packets: &mut Packets) -> bool {
        let contender = &self.contenders[sender];
        let (Some(run), Some(rules)) = (&contender.shortcuts.run, &self.aggregation) else { return false };
        if run.attempts < rules.retry_limit {
            return true;
        }
        self.write_window(sender, packets);
        false
    }

    /// Writes packets and MPDUs for the datagrams that an EDCAF sends, unless they have arrived.
    #[cold]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn write_window(&mut self, sender: usize, packets: &mut Packets) {
        let Edcaf { shortcuts: EdcafShortcuts { run: Some(run), .. }, windows, ppdu, .. } =
            &mut self.contenders[sender]
        else {
            return;
        };
        let Some(plan) = run.plan.filter(|_| run.len_under_way() > 0) else { return };
        let window = &mut windows[plan.place];
        let (count, number) = (run.len(), window.next());
        run.datagrams.write_out(count, packets, |first, count, time, interval| {
            self.deliveries.arrived.note_run(first, count, time, interval);
            for id in first.and_following(count) {
                window.push(Mpdu::new(id, plan.length, Time::NEVER));
            }
        });
        let (mut builder, is_sent) = (plan.empty, run.attempts > 0);
        let of_part = |(before, count): &(u8, u64)| std::iter::repeat_n(run.attempts - before, *count as usize);
        let attempts = run.joined.iter().flat_map(of_part);
        for (number, attempts) in (number..).zip(attempts) {
            window.mpdu_mut(number).attempts = attempts;
            if is_sent {
                builder.add(plan.length);
                ppdu.sole_mut().add_mpdu(number, builder.psdu, attempts, Time::NEVER);
            }
        }
        if is_sent {
            ppdu.sole_mut().first = window.mpdu(number).first;
            ppdu.build_state = Some(BuildState::of(builder, plan.place, window.next()));
        }
        run.clear();
    }

    /// Writes packets for as many datagrams in the queue of an EDCAF as its next PPDU, from this window, may take.
    #[cold]
    pub(in crate::edcaf) fn write_out_for(&mut self, now: Time, sender: usize, place: usize, packets: &mut Packets) {
        let plan = self.plan_run(now, sender, self.contenders[sender].windows[place].to);
        let Edcaf { windows, waiting, .. } = &self.contenders[sender];
        let written = waiting.one_fifo().map_or(0, |fifo| fifo.written()) + windows[place].pending();
        let most = if plan.most == 0 { u64::MAX } else { plan.most.saturating_sub(written as u64) };
        self.write_out(sender, most, packets);
    }

    /// Writes packets for the next datagrams in the queue of an EDCAF, at most `most`.
    pub(in crate::edcaf) fn write_out(&mut self, index: usize, most: u64, packets: &mut Packets) {
        let Edcaf { shortcuts: EdcafShortcuts { source: Some(source), .. }, waiting, .. } = &mut self.contenders[index]
        else {
            return;
        };
        let arrived = &mut self.deliveries.arrived;
        waiting.change_fifo(|fifo| {
            source.unwritten.write_out(most, packets, |first, count, time, interval| {
                arrived.note_run(first, count, time, interval);
                fifo.fill_reserved(first.and_following(count));
            });
        });
    }

    /// The datagrams of this sender, reported by [`MacEvent::Datagrams`], and how long before now each was received.
    pub(crate) fn datagrams(&self, sender: u32) -> Option<(&DatagramRuns, MpduLeads)> {
        self.contenders[sender as usize].shortcuts.run.as_ref().map(|run| (&run.datagrams, run.leads))
    }

    /// Writes packets for these datagrams, which are then passed up one by one.
    #[cold]
    pub(crate) fn write_out_datagrams(&mut self, now: Time, sender: u32, packets: &mut Packets) {
        let Some(run) = &self.contenders[sender as usize].shortcuts.run else { return };
        let Some(RunPlan { to, .. }) = run.plan else { return };
        let mut datagrams = run.datagrams.clone(); // the sender counts them when it learns of their arrival
        let (count, up, leads) = (datagrams.len(), &mut self.deliveries.released.up, run.leads);
        let mark = up.mark();
        datagrams.write_out(count, packets, |first, count, _, _| {
            up.push_all(first.and_following(count).map(|id| (to, id)));
        });
        up.set_leads(mark, (0..count).map(|place| leads.of(place)));
        self.deliveries.report_from(now);
    }
}
