//! The task of a joined process: takes what happens to the members, and does what they answer.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker::Transition;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep_until};

use super::super::{
    Action, Context, EngineError, Fleet, FleetConfig, Input, Local, Member, Name, Reading,
};
use super::FleetStatus;
use super::lane::{Lane, Reply};
use super::link::{Heard, Pause};
use super::report;
use super::seat::{Event, Shared};
use super::steer::Steer;

/// A breaker that follows.
struct Follower {
    seat: Arc<Shared>,
    breaker: Box<dyn Steer>,
    member: Member,
    /// The last transition that the fleet made here: what was told before it is out of date.
    last: Option<Transition>,
    due: Option<u64>,
}

pub(super) struct Task<F> {
    pub(super) config: FleetConfig,
    pub(super) lane: Lane<F>,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) heard: mpsc::Receiver<Heard>,
    pub(super) status: watch::Sender<FleetStatus>,
    pub(super) overflows: Arc<AtomicU64>,
    clock: Instant,
    followers: HashMap<Name, Follower>,
    due: BTreeSet<(u64, Name)>,
    is_subscribed: bool,
    /// When the engine answered last, if nothing went without an answer since.
    contact: Option<u64>,
    read_at: u64,
    is_reading: bool,
    pause: Pause,
    actions: Vec<Action>,
}

impl<F: Fleet> Task<F> {
    pub(super) fn new(
        config: FleetConfig,
        lane: Lane<F>,
        events: mpsc::Receiver<Event>,
        heard: mpsc::Receiver<Heard>,
        status: watch::Sender<FleetStatus>,
        overflows: Arc<AtomicU64>,
    ) -> Self {
        Self {
            config,
            lane,
            events,
            heard,
            status,
            overflows,
            clock: Instant::now(),
            followers: HashMap::new(),
            due: BTreeSet::new(),
            is_subscribed: false,
            contact: None,
            read_at: u64::MAX,
            is_reading: false,
            pause: Pause::default(),
            actions: Vec::new(),
        }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let first = self.due.first().map_or(u64::MAX, |(due, _)| *due);
            let may_read = self.is_subscribed && !self.is_reading;
            let wake = first.min(if may_read { self.read_at } else { u64::MAX });
            // Far enough; a timer of centuries would overflow.
            let wake = wake.min(self.now_ms() + 3_600_000);
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.event(event),
                    None => return,
                },
                Some(heard) = self.heard.recv() => self.hear(heard),
                reply = self.lane.reply() => match reply {
                    Ok(reply) => self.reply(reply),
                    Err(error) => self.lose(error),
                },
                () = sleep_until(self.clock + Duration::from_millis(wake)) => {}
            }
            self.pass_time();
            self.show();
        }
    }

    fn now_ms(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    fn is_connected(&self) -> bool {
        let now = self.now_ms();
        self.is_subscribed
            && self
                .contact
                .is_some_and(|at| now - at <= 2 * self.config.poll_ms)
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Joins { seat, breaker } => self.join(seat, breaker),
            Event::Transition(seat, made) => {
                let is_old = self
                    .followers
                    .get(&seat.name)
                    .and_then(|follower| follower.last)
                    .is_some_and(|last| !made.is_after(&last));
                if let Some(local) = Local::of(&made).filter(|_| !is_old) {
                    self.step(&seat.name, Input::Local(local));
                }
            }
            Event::Rejected(seat) => {
                self.step(&seat.name, Input::Local(Local::Rejected));
            }
        }
    }

    fn join(&mut self, seat: Arc<Shared>, breaker: Box<dyn Steer>) {
        let member = Member::new(&self.config, &breaker.rules(), fastrand::u64(..));
        let name = seat.name.clone();
        let follower = Follower {
            seat,
            breaker,
            member,
            last: None,
            due: None,
        };
        if let Some(before) = self.followers.insert(name.clone(), follower) {
            if let Some(due) = before.due {
                self.due.remove(&(due, name));
            }
        }
        // What runs already is learned soon.
        if self.contact.is_some() {
            self.read_at = self.now_ms();
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Subscribed => {
                self.is_subscribed = true;
                self.read_at = self.now_ms();
            }
            Heard::Lost(error) => {
                self.is_subscribed = false;
                self.lose(error);
            }
            Heard::Message(message) => self.step(&message.name, Input::Notice(message.notice)),
        }
    }

    fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Read { asked_ms, reading } => {
                self.is_reading = false;
                match reading {
                    Ok(reading) => self.learn(asked_ms, reading),
                    Err(error) => self.lose(error),
                }
            }
            Reply::Ask {
                name,
                ask,
                asked_ms,
                answer,
            } => {
                let answer = match answer {
                    Ok(answer) => {
                        // Only a reading restores what was lost.
                        self.contact = self.contact.map(|_| self.now_ms());
                        Some(answer)
                    }
                    Err(error) => {
                        self.lose(error);
                        None
                    }
                };
                let answer = Input::Answer {
                    ask,
                    asked_ms,
                    answer,
                };
                self.step(&name, answer);
            }
        }
    }

    /// Something was not answered: nobody relies on the engine until it was read again.
    fn lose(&mut self, error: EngineError) {
        self.contact = None;
        report::lost(&self.status.borrow(), &error);
        self.status.send_modify(|status| {
            status.unanswered += 1;
            status.last_error = Some(error);
        });
        if self.is_subscribed {
            self.read_at = self.now_ms() + self.pause.next_ms();
        }
    }

    fn learn(&mut self, asked_ms: u64, reading: Reading) {
        if !self.is_subscribed {
            return;
        }
        let now = self.now_ms();
        self.contact = Some(now);
        self.pause.start_over();
        // A tenth sooner or later, so that a fleet does not ask in step.
        let poll = self.config.poll_ms;
        self.read_at = now + fastrand::u64(poll * 9 / 10..=poll * 11 / 10);
        self.status.send_modify(|status| {
            status.living = reading.living;
            status.is_below_quorum = reading.living < self.config.quorum;
        });
        let mut known: HashMap<Name, _> = reading
            .messages
            .into_iter()
            .map(|message| (message.name, message.notice))
            .collect();
        let names: Vec<Name> = self.followers.keys().cloned().collect();
        for name in names {
            let notice = known.remove(&name);
            self.step(&name, Input::Read { asked_ms, notice });
        }
    }

    fn pass_time(&mut self) {
        let now = self.now_ms();
        while let Some((due, name)) = self.due.first().cloned() {
            if due > now {
                break;
            }
            self.step(&name, Input::Time);
        }
        if now >= self.read_at && self.is_subscribed && !self.is_reading {
            self.is_reading = true;
            self.read_at = u64::MAX;
            self.lane.read(self.config.poll_ms, now);
        }
    }

    fn step(&mut self, name: &Name, input: Input) {
        let now_ms = self.now_ms();
        let is_connected = self.is_connected();
        let Some(follower) = self.followers.get_mut(name) else {
            return;
        };
        let now = Context {
            now_ms,
            is_connected,
            is_probing: follower.breaker.is_probing(),
        };
        let mut actions = std::mem::take(&mut self.actions);
        follower.member.step(now, input, &mut actions);
        // Not again within this millisecond, whatever it says.
        let due = follower.member.due_ms().map(|due| due.max(now_ms + 1));
        if due != follower.due {
            if let Some(before) = follower.due {
                self.due.remove(&(before, name.clone()));
            }
            if let Some(due) = due {
                self.due.insert((due, name.clone()));
            }
            follower.due = due;
        }
        let mut unanswered = Vec::new();
        for action in actions.drain(..) {
            if let Action::Ask(ask) = action {
                unanswered.extend(self.lane.ask(name.clone(), ask, now_ms));
            } else if self.config.is_shadow {
                self.status.send_modify(|status| status.withheld += 1);
            } else {
                follower.act(action);
            }
        }
        let is_armed = follower.member.wants_rejections(now);
        follower.seat.is_armed.store(is_armed, Ordering::Relaxed);
        self.actions = actions;
        for reply in unanswered {
            self.reply(reply);
        }
    }

    fn show(&self) {
        let open = |follower: &&Follower| follower.member.period().is_some();
        let now = FleetStatus {
            is_connected: self.is_connected(),
            breakers: self.followers.len(),
            open: self.followers.values().filter(open).count(),
            overflows: self.overflows.load(Ordering::Relaxed),
            ..self.status.borrow().clone()
        };
        report::changed(&self.status.borrow(), &now);
        self.status.send_if_modified(|status| {
            let is_new = *status != now;
            *status = now;
            is_new
        });
    }
}

impl Follower {
    /// An observer of the user's that panics ends nothing here.
    fn act(&mut self, action: Action) {
        let breaker = &self.breaker;
        let made = catch_unwind(AssertUnwindSafe(|| breaker.act(action)));
        if let Ok(Some(made)) = made {
            self.last = Some(made);
        }
    }
}
