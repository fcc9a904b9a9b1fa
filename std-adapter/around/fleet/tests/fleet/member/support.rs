// SPDX-License-Identifier: MIT OR Apache-2.0
//! A member whose engine is the test.

use std::time::Duration;

use atomic_breaker_fleet::{
    Answer, Ask, FleetConfig, Notice, Period, PeriodId,
    contract::{Action, Context, Input, Local, Member},
};
use atomic_breaker_server::Config;

/// The open time of the rules and of most periods; its grace is 1 s, the lease 500 ms.
pub(super) const OPEN_MS: u32 = 10_000;
pub(super) const GRACE_MS: u64 = 1_000;

pub(super) struct Instance {
    pub(super) member: Member,
    pub(super) now: Context,
}

pub(super) fn rules() -> Config {
    Config::new()
        .open_for(Duration::from_millis(OPEN_MS.into()))
        .exponential(2, Duration::from_secs(60))
}

impl Instance {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            member: Member::new(&FleetConfig::new(3), &rules(), seed),
            now: Context {
                now_ms: 1_000_000,
                is_connected: true,
                is_probing: false,
                successes: 0,
            },
        }
    }

    /// One that has just heard of a period.
    pub(super) fn in_period(seed: u64, period: Period) -> Self {
        let mut instance = Self::new(seed);
        let actions = instance.hear(Notice::Open(period));
        assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
        instance
    }

    /// One that has the right to probe.
    pub(super) fn probing(period: Period) -> Self {
        let mut instance = Self::in_period(7, period);
        instance.run_to(u64::from(period.remaining_ms));
        let ask = instance.demand();
        assert_eq!(
            instance.answer(ask, true, leased(period, 500)),
            [Action::Probe]
        );
        instance
    }

    pub(super) fn step(&mut self, input: Input) -> Vec<Action> {
        self.member.step(self.now, input)
    }

    pub(super) fn local(&mut self, local: Local) -> Vec<Action> {
        self.step(Input::Local(local))
    }

    pub(super) fn hear(&mut self, notice: Notice) -> Vec<Action> {
        self.step(Input::Notice(notice))
    }

    /// Everything is read now.
    pub(super) fn read(&mut self, notice: Option<Notice>) -> Vec<Action> {
        let asked_ms = self.now.now_ms;
        self.step(Input::Read { asked_ms, notice })
    }

    pub(super) fn answer(&mut self, ask: Ask, done: bool, notice: Notice) -> Vec<Action> {
        let answer = Answer {
            done,
            votes: 0,
            notice: Some(notice),
        };
        self.step(Input::Answer {
            ask,
            asked_ms: self.now.now_ms,
            answer: Some(answer),
        })
    }

    pub(super) fn no_answer(&mut self, ask: Ask) -> Vec<Action> {
        self.now.is_connected = false;
        self.step(Input::Answer {
            ask,
            asked_ms: self.now.now_ms,
            answer: None,
        })
    }

    /// Lets this many milliseconds pass; the member is notified whenever it is due.
    pub(super) fn run_to(&mut self, ms: u64) -> Vec<Action> {
        let end = self.now.now_ms + ms;
        let mut actions = Vec::new();
        for _ in 0..10_000 {
            let Some(due) = self.member.due_ms().filter(|&due| due <= end) else {
                break;
            };
            self.now.now_ms = self.now.now_ms.max(due);
            actions.extend(self.step(Input::Time));
        }
        assert!(
            self.member.due_ms().is_none_or(|due| due > end),
            "is due again and again: {:?}",
            self.member
        );
        self.now.now_ms = end;
        actions
    }

    /// A call is rejected when a probe is allowed: the member bids for the right to it.
    pub(super) fn demand(&mut self) -> Ask {
        assert!(self.member.wants_rejections(self.now), "{:?}", self.member);
        assert_eq!(self.local(Local::Rejected), []);
        let actions = self.run_to(GRACE_MS / 8);
        let [Action::Ask(ask @ Ask::Bid { .. })] = actions[..] else {
            panic!("{actions:?}");
        };
        ask
    }
}

pub(super) fn id(epoch: u64) -> PeriodId {
    PeriodId {
        epoch,
        mark: 0xABC0 + epoch,
    }
}

pub(super) fn period(epoch: u64, remaining_ms: u32) -> Period {
    Period {
        id: id(epoch),
        remaining_ms,
        leased_ms: 0,
        open_ms: OPEN_MS,
        trips: 1,
    }
}

/// A period whose time is over, and whose right to probe is taken.
pub(super) fn leased(period: Period, leased_ms: u32) -> Notice {
    Notice::Open(Period {
        remaining_ms: 0,
        leased_ms,
        ..period
    })
}

/// The time that a trip or an extension is to last.
pub(super) fn for_ms(actions: &[Action]) -> u64 {
    match actions {
        [Action::Trip { for_ms } | Action::Extend { for_ms }] => *for_ms,
        _ => panic!("{actions:?}"),
    }
}
