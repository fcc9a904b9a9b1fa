// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task of a joined process: tells the members what happens, and sends what they ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::FleetStatus;
use super::followers::Followers;
use super::link::{Link, News};
use super::queue::BreakerEvent;
use crate::engine::Fleet;
use crate::member::{Input, Local};

/// The longest time that it sleeps, in milliseconds.
const HOUR_MS: u64 = 3_600_000;

pub(super) struct Task<F: Fleet> {
    pub(super) link: Link<F>,
    pub(super) followers: Followers,
    pub(super) events: mpsc::Receiver<BreakerEvent>,
    pub(super) shown: watch::Sender<FleetStatus>,
    pub(super) overflows: Arc<AtomicU64>,
}

impl<F: Fleet> Task<F> {
    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        self.link.subscribe();
        loop {
            let due = [self.followers.due_ms(), self.link.due_ms()];
            let hour = self.link.now().ms + HOUR_MS;
            let wake = self.link.at(due.into_iter().flatten().fold(hour, u64::min));
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.event(event),
                    None => return,
                },
                news = self.link.next() => news.into_iter().for_each(|news| self.news(news)),
                () = sleep_until(wake) => {}
            }
            self.followers.pass_time(self.link.now());
            self.link.read_if_due();
            self.send();
            self.show();
        }
    }

    /// Handles what a breaker or its user reports.
    fn event(&mut self, event: BreakerEvent) {
        let (now, followers) = (self.link.now(), &mut self.followers);
        match event {
            BreakerEvent::Breaker(name, breaker) => {
                followers.join(name, breaker, None);
                self.link.read_soon();
            }
            BreakerEvent::Registry(name, registry) => {
                followers.join_registry(name, registry);
                self.link.read_soon();
            }
            BreakerEvent::Transition(name, made) => followers.transition(now, &name, &made),
            BreakerEvent::Rejected(name) => {
                followers.step(now, &name, Input::Local(Local::Rejected));
            }
            BreakerEvent::LeftAlone => followers.status.left_alone += 1,
        }
    }

    /// Handles what the engine says.
    fn news(&mut self, news: News) {
        let (now, followers) = (self.link.now(), &mut self.followers);
        match news {
            News::Message(message) => followers.hear(now, &message),
            News::Reading(asked_ms, messages) => followers.read(now, asked_ms, messages),
            News::Answer(request, answer) => followers.answer(now, &request, answer),
        }
    }

    /// Sends what the members ask. An answer may make them ask more.
    fn send(&mut self) {
        while let Some(request) = self.followers.asks.pop_front() {
            if let Some(refused) = self.link.ask(request) {
                self.news(refused);
            }
        }
    }

    fn show(&mut self) {
        self.link.look();
        let (link, followers) = (&self.link.status, &self.followers.status);
        let status = FleetStatus {
            breakers: followers.breakers,
            open: followers.open,
            left_alone: followers.left_alone,
            withheld: followers.withheld,
            overflows: self.overflows.load(Ordering::Relaxed),
            ..link.clone()
        };
        if *self.shown.borrow() != status {
            self.shown.send_replace(status);
        }
    }
}
