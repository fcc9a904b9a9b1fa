// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that may happen at any moment.

use super::OPEN_MS;
use super::mail::Mail;
use super::mutation::Mutation;
use super::world::{Instance, World};
use crate::{Ledger, Notice, Period, PeriodId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The resource fails, or recovers.
    Down,
    Up,
    /// A lagging replica keeps the engine's current data.
    Kept,
    /// That replica takes over.
    Older,
    Flushed,
    Gone,
    Back,
    ClockSetBack,
    /// Messages published to this instance are lost, or the responses to it are.
    Lost(usize),
    Unanswered(usize),
    /// The last message is delivered once more to all.
    Again,
    /// A period is published that no record knows.
    Forged,
    Killed(usize),
    Started(usize),
    Paused(usize),
    Resumed(usize),
    /// The calls of this instance fail, or recover.
    Sick(usize),
    Well(usize),
    /// The next probe of this instance hangs, and it makes no other call; or that probe ends after all.
    Hangs(usize),
    Ends(usize),
}

impl Event {
    pub(super) fn may_happen(self, world: &World) -> bool {
        let instance = |who: usize| &world.instances[who];
        match self {
            Self::Down => world.is_up,
            Self::Up => !world.is_up,
            Self::Kept => true,
            Self::Older => world.engine.older.is_some() && !world.engine.is_gone,
            Self::Flushed | Self::Gone | Self::Forged => !world.engine.is_gone,
            Self::Back => world.engine.is_gone,
            Self::ClockSetBack => world.engine.behind_ms == 0,
            Self::Lost(who) => instance(who)
                .inbox
                .iter()
                .any(|mail| matches!(mail, Mail::Published(_))),
            Self::Unanswered(who) => instance(who)
                .inbox
                .iter()
                .any(|mail| matches!(mail, Mail::Answer(..))),
            Self::Again => world.engine.published.is_some(),
            Self::Killed(who) => !instance(who).is_dead,
            Self::Started(who) => instance(who).is_dead,
            Self::Paused(who) => !instance(who).is_paused && !instance(who).is_dead,
            Self::Resumed(who) => instance(who).is_paused,
            Self::Sick(who) => !instance(who).is_sick,
            Self::Well(who) => instance(who).is_sick,
            Self::Hangs(who) => !instance(who).hangs && !instance(who).is_hung,
            Self::Ends(who) => instance(who).is_hung && !instance(who).is_dead,
        }
    }

    pub(super) fn happen(self, world: &mut World) {
        match self {
            Self::Down => world.is_up = false,
            Self::Up => world.is_up = true,
            Self::Kept => world.engine.older = Some(world.engine.ledger.clone()),
            Self::Older => {
                if let Some(older) = &world.engine.older {
                    world.engine.ledger = older.clone();
                }
            }
            Self::Flushed => world.engine.ledger = Ledger::default(),
            Self::Gone => world.engine.is_gone = true,
            Self::Back => world.engine.is_gone = false,
            Self::ClockSetBack => world.engine.behind_ms = 3_600_000,
            Self::Lost(who) => world.instances[who]
                .inbox
                .retain(|mail| !matches!(mail, Mail::Published(_))),
            Self::Unanswered(who) => {
                for mail in &mut world.instances[who].inbox {
                    if let Mail::Answer(_, _, answer) = mail {
                        *answer = None;
                    }
                }
            }
            Self::Again => {
                if let Some(notice) = world.engine.published {
                    world.publish(notice);
                }
            }
            Self::Forged => world.forge(),
            Self::Killed(who) => {
                world.instances[who].is_dead = true;
                world.instances[who].inbox.clear();
            }
            Self::Started(who) => world.start_again(who),
            Self::Paused(who) => world.instances[who].is_paused = true,
            Self::Resumed(who) => world.instances[who].is_paused = false,
            Self::Sick(who) => world.instances[who].is_sick = true,
            Self::Well(who) => world.instances[who].is_sick = false,
            Self::Hangs(who) => world.instances[who].hangs = true,
            Self::Ends(who) => world.end_hung(who),
        }
        // The winner may be gone, and its finding lost.
        let is_plain = matches!(self, Self::Down | Self::Up | Self::Sick(_) | Self::Well(_));
        world.may_probe_twice |= !is_plain;
    }
}

impl World {
    pub(super) fn start_again(&mut self, who: usize) {
        let mut id = self.instances[who].id;
        if self.mutation == Some(Mutation::NewIdAtEachStart) {
            id += 16;
        }
        self.instances[who] = Instance {
            is_sick: self.instances[who].is_sick,
            ..self.instance(id)
        };
    }

    /// A period that no record knows.
    pub(super) fn forge(&mut self) {
        self.engine.marks += 1;
        self.publish(Notice::Open(Period {
            id: PeriodId {
                epoch: self.engine_ms() + 100_000,
                mark: self.engine.marks,
            },
            remaining_ms: OPEN_MS,
            leased_ms: 0,
            open_ms: OPEN_MS,
            trips: 1,
        }));
    }

    pub(super) fn calm(&mut self) {
        self.is_up = true;
        for instance in &mut self.instances {
            instance.is_paused = false;
        }
        self.engine.older = None;
        self.engine.published = None;
        self.may_probe_twice = true;
    }
}
