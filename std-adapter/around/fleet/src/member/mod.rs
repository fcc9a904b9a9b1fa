// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol of one breaker in one instance: what to do and when, without I/O or a clock of its own.

mod breaker;
mod input;
mod local;
pub(crate) mod memory;
mod notice;
pub(crate) mod period;
mod right;
mod time;

use atomic_breaker::Config;

use super::config::FleetConfig;
use super::message::{Ask, Finding, PeriodId};
pub use input::{Action, Context, Input, Local};
pub(crate) use memory::EndedPeriods;
use memory::{HeardFromEngine, Own};
use period::{Followed, Phase};

/// The protocol of one breaker in one instance. Given what happens, it returns what must be done, at once, and
/// always the same for the same seed.
///
/// ```text
///              Open, remaining            its end          a caller is there
///   no period ────────────────► Waiting ────────► Due ──────────────────────► Bidding
///       ▲                          ▲                ▲                           │ │
///       │ Closed                   │ failed:        │ lease over                │ │ won
///       │                          │ Open, later    └─────────── Taken ◄────────┘ ▼
///       │                          └──────────────────────────────────────── Probing
///       └──────────────────────────────────────────────────────────── healthy ────┘
/// ```
///
/// An outage, with a quorum of two: A trips, and its vote waits at the engine. B trips too, and the second vote begins a
/// period, which the engine publishes. A, B and C trip their breakers until half a grace to a grace after its end. At
/// its end each of them is due. A call is rejected at C, which bids and wins: C's next call is the probe, and A and B
/// move their own deadlines on for as long as C has the right. The probe succeeds, C's finding ends the period, and the
/// message about that closes A and B.
///
/// An instance that won but got no call before the right ended still probes with its next call, beside others that won
/// later. Where no call is rejected, one instance after the other takes the right unasked, as callers that look before they
/// call are served by a breaker that is half-open.
///
/// Without an answer from the engine nothing is extended: the breaker's own open time ends between half a grace and a
/// grace after the period, and it goes on alone.
///
/// All times are in milliseconds by [`Context::now_ms`].
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) fleet: FleetConfig,
    pub(crate) rules: Config,
    /// The longest open time that it accepts from others.
    pub(crate) longest_ms: u32,
    pub(crate) random: fastrand::Rng,
    /// The context of the current step, and the actions that it wants done.
    pub(crate) now: Context,
    pub(crate) actions: Vec<Action>,
    pub(crate) heard: HeardFromEngine,
    pub(crate) own: Own,
    /// The period of the fleet that is open, and where this instance is in it.
    pub(crate) period: Option<Followed>,
    /// A finding that the engine has not yet confirmed.
    pub(crate) unconfirmed: Option<(PeriodId, Finding)>,
}

impl Member {
    /// A member that knows nothing yet. `config` is that of its breaker; the `seed` should differ from instance
    /// to instance.
    pub fn new(fleet: &FleetConfig, config: &Config, seed: u64) -> Self {
        Self {
            fleet: *fleet,
            rules: *config,
            longest_ms: breaker::longest_ms(config),
            random: fastrand::Rng::with_seed(seed),
            now: Context::default(),
            actions: Vec::new(),
            heard: HeardFromEngine::default(),
            own: Own::default(),
            period: None,
            unconfirmed: None,
        }
    }

    /// Other rules of its breaker, from now on.
    pub fn set_config(&mut self, config: &Config) {
        if self.rules != *config {
            self.rules = *config;
            self.longest_ms = breaker::longest_ms(config);
        }
    }

    /// Handles what happened, and returns what must be done, in order.
    pub fn step(&mut self, now: Context, input: Input) -> Vec<Action> {
        self.now = now;
        self.pass_time();
        match input {
            Input::Local(local) => self.local(local),
            Input::Notice(notice) => self.learn(Some(notice), false),
            Input::Read { asked_ms, notice } => self.read(asked_ms, notice),
            Input::Answer {
                ask,
                asked_ms,
                answer,
            } => self.answer(ask, asked_ms, answer),
            Input::Time => {}
        }
        std::mem::take(&mut self.actions)
    }

    /// The latest time at which it must be notified that [time has passed](Input::Time).
    pub fn due_ms(&self) -> Option<u64> {
        self.period.as_ref()?.due_ms()
    }

    /// Returns whether it must be notified of the next call that is rejected or waits, which shows that a caller is
    /// there to probe with. One is enough.
    pub fn wants_rejections(&self, now: Context) -> bool {
        now.is_connected
            && !self.fleet.is_shadow
            && self.period.is_some_and(|period| {
                matches!(period.phase, Phase::Due(_)) && now.now_ms >= self.may_bid_at(&period)
            })
    }

    /// The period of the fleet that this instance follows, if there is one.
    pub fn period(&self) -> Option<PeriodId> {
        let period = self.period.filter(|period| period.phase != Phase::Alone);
        period.map(|period| period.id)
    }

    /// The highest epoch that it has seen. Never falls.
    #[cfg(feature = "contract")]
    pub const fn known_epoch(&self) -> u64 {
        self.heard.highest_epoch
    }

    /// Returns whether it waits for nothing and has nothing left to report: such a member may be forgotten and made
    /// anew, except for the epoch that it knows and the periods that it knows to have ended.
    pub fn is_idle(&self, now_ms: u64) -> bool {
        self.period.is_none()
            && self.unconfirmed.is_none()
            && now_ms >= self.own.open_until.max(self.own.no_probe_before)
    }

    /// Asks, if the engine answers.
    fn ask(&mut self, ask: Ask) {
        if self.now.is_connected {
            self.actions.push(Action::Ask(ask));
        }
    }
}
