//! One breaker of one instance in its fleet: what to do and when, without I/O or a clock of its own.

mod breaker;
mod input;
mod lease;
mod local;
mod notice;
pub(crate) mod phase;
pub(crate) mod right;

use atomic_breaker::Config;

use super::config::FleetConfig;
use super::message::{Ask, PeriodId, Verdict};
pub use input::{Action, Context, Input, Local};
use phase::{Current, Phase};

/// The marks of the last periods that have ended, the latest first. A period further back, if an engine falls back to
/// it, is new to every instance.
pub(crate) type Ended = [Option<u64>; 8];

/// The protocol of one breaker in one instance. Given what happens, it returns what must be done, at once, and
/// always the same for the same seed.
///
/// ```text
///              Open, remaining            its end         a call is rejected
///   no period ────────────────► Waiting ────────► Due ──────────────────────► Bidding
///       ▲                          ▲                ▲                           │ │
///       │ Closed                   │ failed:        │ lease over                │ │ won
///       │                          │ Open, later    └─────────── Taken ◄────────┘ ▼
///       │                          └──────────────────────────────────────── Probing
///       └──────────────────────────────────────────────────────────── healthy ────┘
/// ```
///
/// An instance that won but got no call before the right ended still probes with its next call, beside others that won
/// later.
///
/// Without an answer from the engine nothing is extended: the breaker's own open time ends between half a grace and a
/// grace after the period, and it goes on alone.
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) fleet: FleetConfig,
    pub(crate) rules: Config,
    pub(crate) longest_ms: u32,
    pub(crate) random: fastrand::Rng,
    /// What the current step knows, and what it wants done.
    pub(crate) now: Context,
    pub(crate) actions: Vec<Action>,
    /// The highest epoch seen so far.
    pub(crate) known: u64,
    /// The epoch of what was heard last: of what is published, only a later epoch is news.
    pub(crate) heard: u64,
    /// When that was.
    pub(crate) learned: Option<u64>,
    /// Since when, and until when, it is open here because of its own outcomes.
    pub(crate) tripped_at: u64,
    pub(crate) own_until: u64,
    /// No probe before this time: a failure, an operator, or this instance's own probe outside the fleet demanded it.
    pub(crate) not_before: u64,
    /// Its own probe failed or hung: until this time it leaves the next one to others.
    pub(crate) rests_until: u64,
    /// That was in this outage: it lets others go first for half a grace in each of the outage's periods.
    pub(crate) has_failed: bool,
    /// The mark of a period that no longer applies here.
    pub(crate) overruled: Option<u64>,
    /// The periods that it was told have ended.
    pub(crate) ended: Ended,
    pub(crate) period: Option<Current>,
    /// A verdict that the engine has not yet heard.
    pub(crate) verdict: Option<(PeriodId, Verdict)>,
}

impl Member {
    /// A member that knows nothing yet. `rules` are those of its breaker; the `seed` should differ from instance
    /// to instance.
    pub fn new(fleet: &FleetConfig, rules: &Config, seed: u64) -> Self {
        Self {
            fleet: *fleet,
            rules: *rules,
            longest_ms: breaker::longest_ms(rules),
            random: fastrand::Rng::with_seed(seed),
            now: Context::default(),
            actions: Vec::new(),
            known: 0,
            heard: 0,
            learned: None,
            tripped_at: 0,
            own_until: 0,
            not_before: 0,
            rests_until: 0,
            has_failed: false,
            overruled: None,
            ended: Ended::default(),
            period: None,
            verdict: None,
        }
    }

    /// Other rules of its breaker, from now on.
    pub fn set_rules(&mut self, rules: &Config) {
        if self.rules != *rules {
            self.rules = *rules;
            self.longest_ms = breaker::longest_ms(rules);
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

    /// The latest time at which it must be told that [time has passed](Input::Time).
    pub fn due_ms(&self) -> Option<u64> {
        self.period.as_ref()?.due_ms()
    }

    /// Whether it must be told of the next rejected call, which shows that a caller is there to probe with. One is
    /// enough.
    pub fn wants_rejections(&self, now: Context) -> bool {
        now.is_connected
            && !self.fleet.is_shadow
            && now.now_ms >= self.not_before.max(self.rests_until)
            && self.period.is_some_and(|period| {
                let first = if self.has_failed { period.grace / 2 } else { 0 };
                period.phase == Phase::Due && now.now_ms >= period.ends + first
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
        self.known
    }

    /// Whether it waits for nothing and has nothing left to say: such a member may be forgotten and made anew, except
    /// for the epoch that it knows and the periods that it knows to have ended.
    pub fn is_idle(&self, now_ms: u64) -> bool {
        self.period.is_none()
            && self.verdict.is_none()
            && now_ms >= self.own_until.max(self.not_before)
    }

    /// Asks, if the engine answers.
    fn ask(&mut self, ask: Ask) {
        if self.now.is_connected {
            self.actions.push(Action::Ask(ask));
        }
    }

    fn vote(&mut self) {
        let now = self.now.now_ms;
        self.ask(Ask::Vote {
            quorum: self.fleet.quorum,
            window_ms: self.fleet.window_ms,
            age_ms: now.saturating_sub(self.tripped_at) as u32,
            open_ms: self.own_until.saturating_sub(now).max(1) as u32,
            known: self.known,
        });
    }

    /// The outage is over here.
    fn rest(&mut self) {
        self.rests_until = 0;
        self.has_failed = false;
    }

    fn end(&mut self, mark: u64) {
        if !self.ended.contains(&Some(mark)) {
            self.ended.rotate_right(1);
            self.ended[0] = Some(mark);
        }
    }
}
