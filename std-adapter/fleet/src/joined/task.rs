//! The task of a joined process: tells the members what happens, and does what they want done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep_until};

use super::FleetStatus;
use super::followers::Followers;
use super::lane::{Lane, Reply};
use super::link::{Heard, Pause};
use super::seat::Event;
use crate::member::{Input, Local};
use crate::{EngineError, Fleet, FleetConfig, Name, Notice, Reading};

pub(super) struct Task<F> {
    pub(super) config: FleetConfig,
    pub(super) lane: Lane<F>,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) heard: mpsc::Receiver<Heard>,
    pub(super) shown: watch::Sender<FleetStatus>,
    pub(super) overflows: Arc<AtomicU64>,
    clock: Instant,
    followers: Followers,
    is_subscribed: bool,
    /// When the engine last answered, if nothing has gone unanswered since.
    contact: Option<u64>,
    read_at: u64,
    /// When the first part of the current reading was asked for.
    asked_first: Option<u64>,
    is_reading: bool,
    pause: Pause,
    status: FleetStatus,
}

impl<F: Fleet> Task<F> {
    pub(super) fn new(
        config: FleetConfig,
        lane: Lane<F>,
        events: mpsc::Receiver<Event>,
        heard: mpsc::Receiver<Heard>,
        shown: watch::Sender<FleetStatus>,
        overflows: Arc<AtomicU64>,
    ) -> Self {
        Self {
            config,
            lane,
            events,
            heard,
            shown,
            overflows,
            clock: Instant::now(),
            followers: Followers::new(config),
            is_subscribed: false,
            contact: None,
            read_at: u64::MAX,
            asked_first: None,
            is_reading: false,
            pause: Pause::default(),
            status: FleetStatus::default(),
        }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let first = self.followers.first_due().map_or(u64::MAX, |(due, _)| due);
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
                    Err(error) => {
                        // It may have been the reading.
                        self.is_reading = false;
                        self.lose(error);
                    }
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
            Event::Breaker { name, breaker } => {
                self.followers.join(name, breaker);
                self.read_soon();
            }
            Event::Registry {
                name,
                capacity,
                find,
            } => {
                self.followers.join_registry(name, capacity, find);
                self.read_soon();
            }
            Event::Transition(name, made) => {
                let Some(local) = Local::of(&made) else {
                    return;
                };
                let begins = matches!(
                    local,
                    Local::Tripped { .. } | Local::ProbeFailed { .. } | Local::TrippedByHand { .. }
                );
                let now_ms = self.now_ms();
                if begins && !self.followers.follow(now_ms, &name) {
                    return;
                }
                if !self.followers.is_old(&name, &made) {
                    self.step(&name, Input::Local(local));
                }
            }
            Event::Rejected(name) => self.step(&name, Input::Local(Local::Rejected)),
            Event::LeftAlone => self.followers.left_alone += 1,
        }
    }

    /// Reads soon, to learn which periods are running.
    fn read_soon(&mut self) {
        if self.contact.is_some() || self.is_reading {
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
            Heard::Message(message) => self.notice(&message.name, message.notice),
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
                        // Only a reading restores a lost connection.
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

    /// Something went unanswered: the engine is not relied on until it has been read again.
    fn lose(&mut self, error: EngineError) {
        self.contact = None;
        // A repeated error is logged once, until the engine has answered in between.
        if self.status.is_connected || self.status.last_error.as_ref() != Some(&error) {
            tracing::warn!(
                target: "atomic_breaker::fleet",
                error = %error,
                "the engine of the fleet does not answer: breakers go on alone"
            );
        }
        self.status.unanswered += 1;
        self.status.last_error = Some(error);
        self.asked_first = None;
        if self.is_subscribed {
            self.read_at = self.now_ms() + self.pause.next_ms();
        }
    }

    fn learn(&mut self, asked_ms: u64, reading: Reading) {
        if !self.is_subscribed {
            return;
        }
        let now = self.now_ms();
        let asked_ms = self.asked_first.take().unwrap_or(asked_ms);
        self.pause.start_over();
        if reading.more {
            self.contact = self.contact.map(|_| now);
            self.asked_first = Some(asked_ms);
            self.read_at = now;
            return;
        }
        self.contact = Some(now);
        // Unless the next one was asked for while this one was under way.
        if self.read_at == u64::MAX {
            // Up to a tenth sooner or later, so that a fleet does not ask in lockstep.
            let poll = self.config.poll_ms;
            self.read_at = now + fastrand::u64(poll * 9 / 10..=poll * 11 / 10);
        }
        self.status.living = reading.living;
        self.status.is_below_quorum = reading.living < self.config.quorum;
        let mut known: HashMap<Name, _> = reading
            .messages
            .into_iter()
            .map(|message| (message.name, message.notice))
            .collect();
        for name in self.followers.all() {
            let notice = known.remove(&name);
            let is_open = matches!(notice, Some(Notice::Open(_)));
            self.step(&name, Input::Read { asked_ms, notice });
            if !is_open {
                self.followers.forget_if_idle(now, &name);
            }
        }
        // Keys that were never called here.
        for (name, notice) in known {
            if matches!(notice, Notice::Open(_)) && self.followers.follow(now, &name) {
                let notice = Some(notice);
                self.step(&name, Input::Read { asked_ms, notice });
            }
        }
    }

    fn notice(&mut self, name: &Name, notice: Notice) {
        let now_ms = self.now_ms();
        let is_open = matches!(notice, Notice::Open(_));
        if !is_open || self.followers.follow(now_ms, name) {
            self.step(name, Input::Notice(notice));
        }
    }

    fn pass_time(&mut self) {
        let now = self.now_ms();
        while let Some((due, name)) = self.followers.first_due() {
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
        let (now_ms, is_connected) = (self.now_ms(), self.is_connected());
        for ask in self.followers.step(name, now_ms, is_connected, input) {
            if let Some(reply) = self.lane.ask(name.clone(), ask, now_ms) {
                self.reply(reply);
            }
        }
    }

    fn show(&mut self) {
        let was_connected = self.status.is_connected;
        self.status.is_connected = self.is_connected();
        self.status.breakers = self.followers.count();
        self.status.open = self.followers.open;
        self.status.overflows = self.overflows.load(Ordering::Relaxed);
        self.status.left_alone = self.followers.left_alone;
        self.status.withheld = self.followers.withheld;
        if self.status.is_connected && !was_connected {
            tracing::info!(
                target: "atomic_breaker::fleet",
                living = self.status.living,
                "the engine of the fleet answers"
            );
        }
        if *self.shown.borrow() != self.status {
            self.shown.send_replace(self.status.clone());
        }
    }
}
