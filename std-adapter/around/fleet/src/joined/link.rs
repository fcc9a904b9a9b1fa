// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link of this process to the engine: whether it is relied on, when to read, and its news.

use std::time::Duration;

use tokio::time::Instant;

use super::FleetStatus;
use super::requests::{EngineRequest, Outgoing, Reply, Subscribed, next};
use crate::config::FleetConfig;
use crate::engine::Fleet;
use crate::error::FleetError;
use crate::message::{Answer, Message, Reading};
use crate::name::InstanceId;

/// The first pause before another try, and the longest.
const FIRST_MS: u64 = 100;
const LONGEST_MS: u64 = 5_000;

/// The input of a member's step.
#[derive(Clone, Copy)]
pub(super) struct StepStart {
    pub(super) ms: u64,
    pub(super) is_connected: bool,
}

/// The engine's news for the members.
pub(super) enum News {
    Message(Message),
    /// Everything was read. The first part of it was asked for at this time.
    Reading(u64, Vec<Message>),
    Answer(EngineRequest, Option<Answer>),
}

/// All times are in milliseconds since `clock`.
pub(super) struct Link<F: Fleet> {
    config: FleetConfig,
    clock: Instant,
    requests: Outgoing<F>,
    is_subscribed: bool,
    /// The time of the engine's last answer, if nothing has gone unanswered since.
    contact: Option<u64>,
    reads: Reads,
    /// The number of subscriptions that were lost in a row.
    lost: u32,
    /// The status that is shown of it. A loss ends the connection here at once.
    pub(super) status: FleetStatus,
}

/// The schedule by which everything is read.
#[derive(Default)]
struct Reads {
    /// The next time, if that is known.
    at: Option<u64>,
    /// The time at which the first part of the current reading was asked for.
    asked_first: Option<u64>,
    is_pending: bool,
    /// The number of readings that were lost in a row.
    lost: u32,
}

impl<F: Fleet> Link<F> {
    pub(super) fn new(engine: F, id: InstanceId, config: FleetConfig, clock: Instant) -> Self {
        let limit = Duration::from_millis(config.time_limit_ms.into());
        Self {
            config,
            clock,
            requests: Outgoing::new(engine, id, limit, clock),
            is_subscribed: false,
            contact: None,
            reads: Reads::default(),
            lost: 0,
            status: FleetStatus::default(),
        }
    }

    /// The time, and whether the engine is relied on: it has answered recently, and nothing has gone unanswered since.
    pub(super) fn now(&self) -> StepStart {
        let ms = self.clock.elapsed().as_millis() as u64;
        let longest = 2 * u64::from(self.config.poll_ms) + u64::from(self.config.time_limit_ms);
        let is_recent = |at| ms - at <= longest;
        let is_connected = self.is_subscribed && self.contact.is_some_and(is_recent);
        StepStart { ms, is_connected }
    }

    pub(super) fn at(&self, ms: u64) -> Instant {
        self.clock + Duration::from_millis(ms)
    }

    /// Begins to listen.
    pub(super) fn subscribe(&mut self) {
        self.requests.subscribe(Duration::ZERO);
    }

    /// The time at which it must read.
    pub(super) fn due_ms(&self) -> Option<u64> {
        let may_read = self.is_subscribed && !self.reads.is_pending;
        self.reads.at.filter(|_| may_read)
    }

    pub(super) fn read_if_due(&mut self) {
        if self.due_ms().is_some_and(|at| self.now().ms >= at) {
            self.reads.is_pending = true;
            self.reads.at = None;
            self.requests.read(self.config.poll_ms);
        }
    }

    /// Reads soon, to learn which periods are running.
    pub(super) fn read_soon(&mut self) {
        if self.contact.is_some() || self.reads.is_pending {
            self.reads.at = Some(self.now().ms);
        }
    }

    /// Sends a request. Without room for it, it is returned as one without an answer.
    pub(super) fn ask(&mut self, request: EngineRequest) -> Option<News> {
        if self.requests.are_full() {
            self.lose(FleetError::new("too many requests are already waiting"));
            return Some(News::Answer(request, None));
        }
        self.requests.ask(request);
        None
    }

    /// Returns the next news, if it concerns members. May be cancelled.
    pub(super) async fn next(&mut self) -> Option<News> {
        tokio::select! {
            heard = next(&mut self.requests.heard) => self.heard(heard.and_then(|heard| heard)),
            reply = next(&mut self.requests.replies) => self.replied(reply),
        }
    }

    fn heard(&mut self, heard: Subscribed<F>) -> Option<News> {
        match heard {
            Ok((messages, message)) => {
                self.requests.listen(messages);
                if message.is_some() {
                    self.lost = 0;
                    return message.map(News::Message);
                }
                self.is_subscribed = true;
                self.reads.at = Some(self.now().ms);
            }
            Err(error) => {
                self.is_subscribed = false;
                self.lose(error);
                self.requests.subscribe(pause(&mut self.lost));
            }
        }
        None
    }

    fn replied(&mut self, reply: Result<Reply, FleetError>) -> Option<News> {
        let (asked_ms, reading) = match reply {
            Ok(Reply::Answer(request, answer)) => {
                let answer = answer.map_err(|error| self.lose(error)).ok();
                // Only a reading restores a lost connection.
                self.contact = self.contact.map(|_| self.now().ms);
                return Some(News::Answer(request, answer));
            }
            Ok(Reply::Reading(asked_ms, reading)) => (asked_ms, reading),
            // A request that panicked may have been the reading.
            Err(error) => (0, Err(error)),
        };
        self.reads.is_pending = false;
        match reading {
            Ok(reading) => self.read(asked_ms, reading),
            Err(error) => {
                self.lose(error);
                None
            }
        }
    }

    fn read(&mut self, asked_ms: u64, reading: Reading) -> Option<News> {
        if !self.is_subscribed {
            return None;
        }
        let now = self.now().ms;
        let asked_ms = self.reads.asked_first.take().unwrap_or(asked_ms);
        self.reads.lost = 0;
        if reading.more {
            self.contact = self.contact.map(|_| now);
            self.reads.asked_first = Some(asked_ms);
            self.reads.at = Some(now);
            return None;
        }
        self.contact = Some(now);
        // Unless the next one was asked for while this one was on its way.
        if self.reads.at.is_none() {
            // Up to a tenth sooner or later, so that a fleet does not ask in lockstep.
            let poll = u64::from(self.config.poll_ms);
            self.reads.at = Some(now + fastrand::u64(poll * 9 / 10..=poll * 11 / 10));
        }
        self.status.living = reading.living;
        self.status.is_below_quorum = reading.living < self.config.quorum;
        Some(News::Reading(asked_ms, reading.messages))
    }

    /// Something went unanswered: the engine is not relied on until it has been read again.
    fn lose(&mut self, error: FleetError) {
        let was_relied_on = self.contact.take().is_some();
        let status = &mut self.status;
        // A repeated error is logged once, until the engine has answered in between.
        if status.is_connected || status.last_error.as_ref() != Some(&error) {
            tracing::warn!(
                target: "atomic_breaker::fleet",
                error = %error,
                "the engine of the fleet does not answer: breakers go on alone"
            );
        }
        status.is_connected = false;
        status.unanswered += 1;
        status.last_error = Some(error);
        self.reads.asked_first = None;
        // Of many requests that are lost together, one puts the next reading off.
        if self.is_subscribed && (was_relied_on || self.reads.at.is_none()) {
            let pause = pause(&mut self.reads.lost);
            self.reads.at = Some(self.now().ms + pause.as_millis() as u64);
        }
    }

    /// Notes whether it is connected now.
    pub(super) fn look(&mut self) {
        let is_connected = self.now().is_connected;
        if is_connected && !self.status.is_connected {
            tracing::info!(
                target: "atomic_breaker::fleet",
                living = self.status.living,
                "the engine of the fleet answers"
            );
        }
        self.status.is_connected = is_connected;
    }
}

/// The pause after one more failure in a row: its limit doubles each time, and a random part of it, at least half, is
/// taken.
fn pause(failures: &mut u32) -> Duration {
    let longest = (FIRST_MS << (*failures).min(10)).min(LONGEST_MS);
    *failures += 1;
    Duration::from_millis(fastrand::u64(longest / 2..=longest))
}
