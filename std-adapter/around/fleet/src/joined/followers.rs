// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers that follow their fleet: what happens to each, and when it must be notified of the time.

use std::collections::{BTreeSet, HashMap, VecDeque};

use atomic_breaker::{State, Transition};
use atomic_breaker_server::RegistryError;

use super::link::StepStart;
use super::queue::{ActedOn, FollowedRegistry, Target, ours, survive};
use super::requests::EngineRequest;
use super::{FleetHolds, FleetStatus};
use crate::config::FleetConfig;
use crate::member::{Action, Context, EndedPeriods, Input, Local, Member};
use crate::message::{Answer, Message, Notice};
use crate::name::Name;

/// A breaker that follows.
struct Follower {
    breaker: Box<dyn Target>,
    member: Member,
    /// The last transition that the fleet made here: reports of earlier ones are out of date.
    last: Option<Transition>,
    due: Option<u64>,
    /// The name of the registry, for a key. A key is forgotten when there is nothing to do for it.
    registry: Option<Name>,
}

/// The number of breakers that are no longer followed whose ended periods are remembered.
const REMEMBERED: usize = 4_096;

pub(super) struct Followers {
    config: FleetConfig,
    all: HashMap<Name, Follower>,
    due: BTreeSet<(u64, Name)>,
    registries: HashMap<Name, FollowedRegistry>,
    /// The ended periods of breakers that were followed, and the order of these.
    ended: HashMap<Name, EndedPeriods>,
    ended_order: VecDeque<Name>,
    /// The time of the last search for idle keys.
    swept_ms: u64,
    /// The requests of the members to the engine.
    pub(super) asks: VecDeque<EngineRequest>,
    /// The status that is shown of them.
    pub(super) status: FleetStatus,
    holds: FleetHolds,
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.holds.clear();
    }
}

impl Followers {
    pub(super) fn new(config: FleetConfig, holds: FleetHolds) -> Self {
        Self {
            config,
            all: HashMap::new(),
            due: BTreeSet::new(),
            registries: HashMap::new(),
            ended: HashMap::new(),
            ended_order: VecDeque::new(),
            swept_ms: 0,
            asks: VecDeque::new(),
            status: FleetStatus::default(),
            holds,
        }
    }

    /// The time at which the first member must be notified.
    pub(super) fn due_ms(&self) -> Option<u64> {
        self.due.first().map(|(due, _)| *due)
    }

    fn names(&self, is_wanted: impl Fn(&Follower) -> bool) -> Vec<Name> {
        let wanted = self.all.iter().filter(|(_, follower)| is_wanted(follower));
        wanted.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn join_registry(&mut self, name: Name, registry: FollowedRegistry) {
        // From now on its keys follow through the new one.
        for key in self.names(|follower| follower.registry.as_ref() == Some(&name)) {
            self.forget(&key);
        }
        self.registries.insert(name, registry);
    }

    pub(super) fn join(&mut self, name: Name, breaker: Box<dyn Target>, registry: Option<Name>) {
        self.forget(&name);
        let rules = survive(|| breaker.rules()).unwrap_or_default();
        let mut member = Member::new(&self.config, &rules, fastrand::u64(..));
        if let Some(ended) = self.ended.get(&name) {
            // An engine that falls back to one of these periods trips nothing here.
            member.heard.ended = *ended;
        }
        let follower = Follower {
            breaker,
            member,
            last: None,
            due: None,
            registry,
        };
        self.all.insert(name, follower);
        self.status.breakers = self.all.len();
    }

    fn forget(&mut self, name: &Name) {
        let Some(before) = self.all.remove(name) else {
            return;
        };
        before.breaker.arm(false);
        self.holds.forget(name);
        self.status.breakers = self.all.len();
        self.status.open -= usize::from(before.member.period().is_some());
        if let Some(due) = before.due {
            self.due.remove(&(due, name.clone()));
        }
        let registry = before.registry.and_then(|of| self.registries.get_mut(&of));
        if let Some(registry) = registry {
            registry.room += 1;
        }
        let ended = before.member.heard.ended;
        if ended == EndedPeriods::default() || self.ended.insert(name.clone(), ended).is_some() {
            return;
        }
        self.ended_order.push_back(name.clone());
        if self.ended_order.len() > REMEMBERED {
            let first = self.ended_order.pop_front();
            first.and_then(|name| self.ended.remove(&name));
        }
    }

    /// Returns whether a breaker with this name follows from now on: it already does, or it is a key of a registry.
    fn follow(&mut self, now_ms: u64, name: &Name) -> bool {
        if self.all.contains_key(name) {
            return true;
        }
        let of = name.registry();
        let Some((of, registry)) = of.and_then(|of| self.registries.get_key_value(of)) else {
            return false;
        };
        let (of, is_full) = (of.clone(), registry.room == 0);
        // The bytes come from other instances: a user's key type that panics on some of them yields no key.
        let Some(key) = survive(|| (registry.find)(name)).flatten() else {
            return false;
        };
        if is_full && now_ms >= self.swept_ms + u64::from(self.config.poll_ms) {
            self.swept_ms = now_ms;
            for name in self.names(|follower| follower.is_idle(now_ms)) {
                self.forget(&name);
            }
        }
        match self.registries.get_mut(&of) {
            Some(registry) if registry.room > 0 => registry.room -= 1,
            _ => {
                self.status.left_alone += 1;
                return false;
            }
        }
        self.join(name.clone(), key, Some(of));
        true
    }

    /// Handles a transition that a breaker reports.
    pub(super) fn transition(&mut self, now: StepStart, name: &Name, made: &Transition) {
        let Some(local) = Local::from_transition(made) else {
            return;
        };
        let follows = made.to != State::Open || self.follow(now.ms, name);
        let is_old = self.all.get(name).is_some_and(|it| it.is_old(made));
        if follows && !is_old {
            self.step(now, name, Input::Local(local));
        }
    }

    /// Handles a message from the engine.
    pub(super) fn hear(&mut self, now: StepStart, message: &Message) {
        let Message { name, notice } = message;
        let is_open = matches!(notice, Notice::Open(_));
        if !is_open || self.follow(now.ms, name) {
            self.step(now, name, Input::Notice(*notice));
        }
    }

    /// Handles the engine's answer, or that there was none.
    pub(super) fn answer(
        &mut self,
        now: StepStart,
        request: &EngineRequest,
        answer: Option<Answer>,
    ) {
        let (ask, asked_ms) = (request.ask, request.asked_ms);
        let input = Input::Answer {
            ask,
            asked_ms,
            answer,
        };
        self.step(now, &request.name, input);
    }

    /// Handles everything that the engine knows. Forgets keys that are idle here, once the engine no longer has them
    /// open.
    pub(super) fn read(&mut self, now: StepStart, asked_ms: u64, messages: Vec<Message>) {
        let messages = messages.into_iter();
        let mut known: HashMap<_, _> = messages.map(|it| (it.name, it.notice)).collect();
        for name in self.names(|_| true) {
            let notice = known.remove(&name);
            self.step(now, &name, Input::Read { asked_ms, notice });
            let is_idle = self.all.get(&name).is_some_and(|it| it.is_idle(now.ms));
            if is_idle && !matches!(notice, Some(Notice::Open(_))) {
                self.forget(&name);
            }
        }
        // Keys that were never called here.
        for (name, notice) in known {
            if matches!(notice, Notice::Open(_)) && self.follow(now.ms, &name) {
                let notice = Some(notice);
                self.step(now, &name, Input::Read { asked_ms, notice });
            }
        }
    }

    /// Tells the members the time whose time it is.
    pub(super) fn pass_time(&mut self, now: StepStart) {
        while self.due_ms().is_some_and(|due| due <= now.ms) {
            if let Some((_, name)) = self.due.first().cloned() {
                self.step(now, &name, Input::Time);
            }
        }
    }

    /// Tells a member what happened, and does what it wants done here. Its requests to the engine are left in `asks`.
    pub(super) fn step(&mut self, now: StepStart, name: &Name, input: Input) {
        let Some(follower) = self.all.get_mut(name) else {
            return;
        };
        let seen = follower.breaker.snapshot().unwrap_or_default();
        let context = Context::new(now.ms, now.is_connected, &seen);
        if let Some(rules) = survive(|| follower.breaker.rules()) {
            follower.member.set_config(&rules);
        }
        self.status.open -= usize::from(follower.member.period().is_some());
        let was_open_here = follower.member.own.open_until > now.ms;
        let actions = follower.member.step(context, input);
        self.status.open += usize::from(follower.member.period().is_some());
        self.holds.show(name, &follower.member, was_open_here);
        // Not again within this millisecond, whatever it says.
        let due = follower.member.due_ms().map(|due| due.max(now.ms + 1));
        let before = std::mem::replace(&mut follower.due, due);
        if before != due {
            before.map(|before| self.due.remove(&(before, name.clone())));
            self.due.extend(due.map(|due| (due, name.clone())));
        }
        let mut has_room = true;
        for action in actions {
            if let Action::Ask(ask) = action {
                let (name, asked_ms) = (name.clone(), now.ms);
                self.asks.push_back(EngineRequest {
                    name,
                    ask,
                    asked_ms,
                });
            } else if self.config.is_shadow {
                self.status.withheld += 1;
            } else {
                has_room &= follower.act(name, action).is_ok();
            }
        }
        follower
            .breaker
            .arm(follower.member.wants_rejections(context));
        if !has_room {
            self.status.left_alone += 1;
            self.forget(name);
        }
    }
}

impl Follower {
    /// Returns whether it is a key for which there is nothing to do.
    fn is_idle(&self, now_ms: u64) -> bool {
        self.registry.is_some() && self.member.is_idle(now_ms)
    }

    /// Returns whether a transition of which the fleet is notified now happened before the fleet's last one, by the
    /// word's own count, as clocks wrap. The current one is never old.
    fn is_old(&self, made: &Transition) -> bool {
        let since = |made| self.breaker.transitions_since(made);
        let last = self.last.as_ref();
        last.is_some_and(|last| since(made) > 0 && since(made) >= since(last))
    }

    fn act(&mut self, name: &Name, action: Action) -> Result<(), RegistryError> {
        let on = ActedOn(self.breaker.place(), name.clone());
        let made = ours(on, || self.breaker.act(action)).transpose()?.flatten();
        self.last = made.or(self.last);
        Ok(())
    }
}
