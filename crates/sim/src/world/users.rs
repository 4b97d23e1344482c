//! Applications whose next step depends on the previous one: web users and bursty sources.

use wifair_engine::{Stream, stream};
use wifair_units::Time;

use super::plan::WorkloadPlan;
use super::{AppTask, World};
use crate::traffic::{Web, exponential};

/// The users of one web flow.
///
/// The arrivals of users and their numbers of pages are drawn from one random stream; the sizes of a user's objects and
/// the times between requests from a stream of that user. So runs with different queue disciplines have the same users,
/// who request the same objects, however fast these are served.
#[derive(Debug)]
pub(super) struct Users {
    draws: Stream,
    seed: u64,
    flow: Box<str>,
    /// Users who have arrived up to now.
    arrivals: u64,
    /// The users present; entries are reused.
    users: Vec<User>,
    free: Vec<u32>,
}

/// A user who views pages.
#[derive(Debug)]
struct User {
    draws: Stream,
    /// Pages left, the current one included; `None` (endless) in the closed form.
    pages: Option<u32>,
    /// Objects of the page not yet requested.
    to_request: u32,
    /// Objects of the page not yet received.
    awaited: u32,
}

impl Users {
    pub(super) fn new(seed: u64, flow: &str) -> Self {
        let draws = stream(seed, "users", flow);
        Self { draws, seed, flow: flow.into(), arrivals: 0, users: vec![], free: vec![] }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn enter(&mut self, pages: Option<u32>) -> u32 {
        self.arrivals += 1;
        let draws = stream(self.seed, "user", &format!("{}/{}", self.flow, self.arrivals));
        let user = User { draws, pages, to_request: 0, awaited: 0 };
        if let Some(place) = self.free.pop() {
            self.users[place as usize] = user;
            place
        } else {
            self.users.push(user);
            self.users.len() as u32 - 1
        }
    }
}

impl World {
    fn web_of(&mut self, flow: usize) -> Option<(Web, &mut Users)> {
        let flow = &mut self.flows[flow];
        let WorkloadPlan::Web(web) = &flow.workload else { return None };
        let web = web.clone();
        flow.users.as_deref_mut().map(|users| (web, users))
    }

    /// Handles the arrival of a user, who requests the first page at once. In the open form it schedules the arrival of
    /// the next user.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn on_user_arrival(&mut self, flow: usize) {
        if self.flows[flow].stopped {
            return;
        }
        let now = self.now;
        let Some((web, users)) = self.web_of(flow) else { return };
        let pages = web.session_interval.map(|_| web.draw_pages(&mut users.draws));
        let next = web.session_interval.map(|mean| now + exponential(mean, &mut users.draws));
        let user = users.enter(pages);
        if let Some(next) = next {
            self.enter(next, AppTask::UserComes(flow as u32));
        }
        self.request_page(flow, user);
    }

    /// Handles the request for a page: its first object is requested at once, the others one by one.
    pub(super) fn request_page(&mut self, flow: usize, user: u32) {
        let Some((web, users)) = self.web_of(flow) else { return };
        let user_state = &mut users.users[user as usize];
        user_state.to_request = web.objects;
        user_state.awaited = web.objects;
        self.request_object(flow, user);
    }

    /// Requests an object, which gets a connection of its own.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn request_object(&mut self, flow: usize, user: u32) {
        if self.flows[flow].stopped {
            return;
        }
        let now = self.now;
        let Some((web, users)) = self.web_of(flow) else { return };
        let state = &mut users.users[user as usize];
        let size = web.sizes.draw(&mut state.draws);
        state.to_request -= 1;
        if state.to_request > 0 {
            let next = now + exponential(web.object_interval, &mut state.draws);
            self.enter(next, AppTask::Object(flow as u32, user));
        }
        self.open_for(flow, now, size.0, Some(user));
    }

    /// Handles the arrival of an object that a user is waiting for.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn object_arrived(&mut self, flow: usize, user: u32) {
        let now = self.now;
        let Some((web, users)) = self.web_of(flow) else { return };
        let state = &mut users.users[user as usize];
        state.awaited -= 1;
        if state.awaited > 0 {
            return;
        }
        if let Some(pages) = &mut state.pages {
            *pages -= 1;
            if *pages == 0 {
                users.free.push(user);
                return;
            }
        }
        let next = now + exponential(web.think_time, &mut state.draws);
        self.enter(next, AppTask::Page(flow as u32, user));
    }

    /// Starts or ends a burst of a bursty source.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn turn(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        let (WorkloadPlan::Bursts(bursts), Some(users)) = (&state.workload, &mut state.users) else { return };
        state.silent = !state.silent;
        let mean = if state.silent { bursts.off } else { bursts.on };
        let next = now + bursts.draw(mean, &mut users.draws);
        let (silent, own) = (state.silent, state.connections[0] as usize);
        self.enter(next, AppTask::Turn(flow as u32));
        if silent {
            self.set_timer(2 * own, Time::NEVER);
        } else {
            self.send_datagram(own);
            self.update_next_timer();
        }
    }
}
