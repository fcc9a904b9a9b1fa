//! The task of a joined process: tells the members what happens, and does what they want done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker::State;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep_until};

use super::FleetStatus;
use super::followers::Followers;
use super::lane::{Heard, Lane, Reply, next, pause};
use super::steer::Event;
use crate::member::{Input, Local};
use crate::{Answer, Ask, Fleet, FleetConfig, FleetError, Name, Notice, Reading};

pub(super) struct Task<F: Fleet> {
    pub(super) config: FleetConfig,
    pub(super) lane: Lane<F>,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) shown: watch::Sender<FleetStatus>,
    pub(super) overflows: Arc<AtomicU64>,
    pub(super) clock: Instant,
    pub(super) followers: Followers,
    pub(super) link: Link,
}

/// How this process stands with the engine.
#[derive(Default)]
pub(super) struct Link {
    is_subscribed: bool,
    /// When the engine last answered, if nothing has gone unanswered since.
    contact: Option<u64>,
    /// When to read next, if that is known.
    read_at: Option<u64>,
    /// When the first part of the current reading was asked for.
    asked_first: Option<u64>,
    is_reading: bool,
    /// In a row.
    lost_subscriptions: u32,
    lost_readings: u32,
}

impl<F: Fleet> Task<F> {
    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        self.lane.subscribe(Duration::ZERO);
        loop {
            let due = self.followers.first_due().map(|(due, _)| *due);
            let read = self.link.read_at.filter(|_| self.may_read());
            // Far enough, if there is nothing to do.
            let hour = self.now_ms() + 3_600_000;
            let wake = [due, read].into_iter().flatten().fold(hour, u64::min);
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.event(event),
                    None => return,
                },
                heard = next(&mut self.lane.heard) => self.hear(heard.and_then(|heard| heard)),
                reply = next(&mut self.lane.replies) => self.reply(reply),
                () = sleep_until(self.clock + Duration::from_millis(wake)) => {}
            }
            self.pass_time();
            self.show();
        }
    }

    fn now_ms(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    fn may_read(&self) -> bool {
        self.link.is_subscribed && !self.link.is_reading
    }

    fn is_connected(&self) -> bool {
        let longest = 2 * u64::from(self.config.poll_ms) + u64::from(self.config.limit_ms);
        let is_recent = |at| self.now_ms() - at <= longest;
        self.link.is_subscribed && self.link.contact.is_some_and(is_recent)
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Breaker(name, breaker) => {
                self.followers.join(name, breaker, None);
                self.read_soon();
            }
            Event::Registry(name, registry) => {
                self.followers.join_registry(name, registry);
                self.read_soon();
            }
            Event::Transition(name, made) => {
                let Some(local) = Local::of(&made) else {
                    return;
                };
                let now_ms = self.now_ms();
                if made.to == State::Open && !self.followers.follow(now_ms, &name) {
                    return;
                }
                if !self.followers.is_old(&name, &made) {
                    self.step(&name, Input::Local(local));
                }
            }
            Event::Rejected(name) => self.step(&name, Input::Local(Local::Rejected)),
            Event::LeftAlone => self.followers.status.left_alone += 1,
        }
    }

    /// Reads soon, to learn which periods are running.
    fn read_soon(&mut self) {
        if self.link.contact.is_some() || self.link.is_reading {
            self.link.read_at = Some(self.now_ms());
        }
    }

    fn hear(&mut self, heard: Heard<F>) {
        match heard {
            Ok((messages, heard)) => {
                self.lane.listen(messages);
                if let Some(message) = heard {
                    self.link.lost_subscriptions = 0;
                    self.notice(&message.name, message.notice);
                } else {
                    self.link.is_subscribed = true;
                    self.link.read_at = Some(self.now_ms());
                }
            }
            Err(error) => {
                self.link.is_subscribed = false;
                self.lose(error);
                self.lane
                    .subscribe(pause(&mut self.link.lost_subscriptions));
            }
        }
    }

    fn reply(&mut self, reply: Result<Reply, FleetError>) {
        match reply {
            Ok(Reply::Ask {
                name,
                ask,
                asked_ms,
                answer,
            }) => self.answer(&name, ask, asked_ms, answer),
            Ok(Reply::Read {
                asked_ms,
                reading: Ok(reading),
            }) => {
                self.link.is_reading = false;
                self.learn(asked_ms, reading);
            }
            // A request that panicked may have been the reading.
            Ok(Reply::Read {
                reading: Err(error),
                ..
            })
            | Err(error) => {
                self.link.is_reading = false;
                self.lose(error);
            }
        }
    }

    fn answer(&mut self, name: &Name, ask: Ask, asked_ms: u64, answer: Result<Answer, FleetError>) {
        let answer = answer.map_err(|error| self.lose(error)).ok();
        // Only a reading restores a lost connection.
        self.link.contact = self.link.contact.map(|_| self.now_ms());
        let answer = Input::Answer {
            ask,
            asked_ms,
            answer,
        };
        self.step(name, answer);
    }

    /// Something went unanswered: the engine is not relied on until it has been read again.
    fn lose(&mut self, error: FleetError) {
        self.link.contact = None;
        let status = &mut self.followers.status;
        // A repeated error is logged once, until the engine has answered in between.
        if status.is_connected || status.last_error.as_ref() != Some(&error) {
            tracing::warn!(
                target: "atomic_breaker::fleet",
                error = %error,
                "the engine of the fleet does not answer: breakers go on alone"
            );
        }
        status.unanswered += 1;
        status.last_error = Some(error);
        self.link.asked_first = None;
        if self.link.is_subscribed {
            let pause = pause(&mut self.link.lost_readings);
            self.link.read_at = Some(self.now_ms() + pause.as_millis() as u64);
        }
    }

    fn learn(&mut self, asked_ms: u64, reading: Reading) {
        if !self.link.is_subscribed {
            return;
        }
        let now = self.now_ms();
        let asked_ms = self.link.asked_first.take().unwrap_or(asked_ms);
        self.link.lost_readings = 0;
        if reading.more {
            self.link.contact = self.link.contact.map(|_| now);
            self.link.asked_first = Some(asked_ms);
            self.link.read_at = Some(now);
            return;
        }
        self.link.contact = Some(now);
        // Unless the next one was asked for while this one was under way.
        if self.link.read_at.is_none() {
            // Up to a tenth sooner or later, so that a fleet does not ask in lockstep.
            let poll = u64::from(self.config.poll_ms);
            self.link.read_at = Some(now + fastrand::u64(poll * 9 / 10..=poll * 11 / 10));
        }
        self.followers.status.living = reading.living;
        self.followers.status.is_below_quorum = reading.living < self.config.quorum;
        let messages = reading.messages.into_iter();
        let mut known: HashMap<_, _> = messages
            .map(|message| (message.name, message.notice))
            .collect();
        for name in self.followers.all() {
            let notice = known.remove(&name);
            self.step(&name, Input::Read { asked_ms, notice });
            if !matches!(notice, Some(Notice::Open(_))) {
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
            if *due > now {
                break;
            }
            let name = name.clone();
            self.step(&name, Input::Time);
        }
        if self.link.read_at.is_some_and(|at| now >= at) && self.may_read() {
            self.link.is_reading = true;
            self.link.read_at = None;
            self.lane.read(self.config.poll_ms);
        }
    }

    fn step(&mut self, name: &Name, input: Input) {
        let (now_ms, is_connected) = (self.now_ms(), self.is_connected());
        for ask in self.followers.step(name, now_ms, is_connected, input) {
            if self.lane.is_full() {
                let why = FleetError::new("too many requests are already waiting");
                self.answer(name, ask, now_ms, Err(why));
            } else {
                self.lane.ask(name.clone(), ask, now_ms);
            }
        }
    }

    fn show(&mut self) {
        let is_connected = self.is_connected();
        let status = &mut self.followers.status;
        if is_connected && !status.is_connected {
            tracing::info!(
                target: "atomic_breaker::fleet",
                living = status.living,
                "the engine of the fleet answers"
            );
        }
        status.is_connected = is_connected;
        status.overflows = self.overflows.load(Ordering::Relaxed);
        if *self.shown.borrow() != *status {
            self.shown.send_replace(status.clone());
        }
    }
}
