//! The breakers that follow, and when each of them must be told the time.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker::Transition;
use atomic_breaker_server::RegistryError;

use super::steer::{Registry, Steer, ours};
use super::{FleetHolds, FleetStatus};
use crate::member::{Action, Context, Ended, Input, Member};
use crate::{Ask, FleetConfig, Name};

/// A breaker that follows.
struct Follower {
    breaker: Box<dyn Steer>,
    member: Member,
    /// The last transition that the fleet made here: reports of earlier ones are out of date.
    last: Option<Transition>,
    due: Option<u64>,
    /// For a key: the name of its registry. A key is forgotten when there is nothing to do for it.
    registry: Option<Name>,
}

/// For how many breakers that are no longer followed the ended periods are remembered.
const REMEMBERED: usize = 4_096;

pub(super) struct Followers {
    config: FleetConfig,
    all: HashMap<Name, Follower>,
    due: BTreeSet<(u64, Name)>,
    registries: HashMap<Name, Registry>,
    /// The ended periods of breakers that were followed, and the order of these.
    ended: HashMap<Name, Ended>,
    ended_order: VecDeque<Name>,
    /// When idle ones were last looked for.
    swept_ms: u64,
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
            status: FleetStatus::default(),
            holds,
        }
    }

    pub(super) fn all(&self) -> Vec<Name> {
        self.names(|_| true)
    }

    fn names(&self, is_wanted: impl Fn(&Follower) -> bool) -> Vec<Name> {
        let wanted = self.all.iter().filter(|(_, follower)| is_wanted(follower));
        wanted.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn join_registry(&mut self, name: Name, registry: Registry) {
        // From now on its keys follow through the new one.
        for key in self.names(|follower| follower.registry.as_ref() == Some(&name)) {
            self.forget(&key);
        }
        self.registries.insert(name, registry);
    }

    pub(super) fn join(&mut self, name: Name, breaker: Box<dyn Steer>, registry: Option<Name>) {
        self.forget(&name);
        let rules = ours(|| breaker.rules()).unwrap_or_default();
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
        if ended == Ended::default() || self.ended.insert(name.clone(), ended).is_some() {
            return;
        }
        self.ended_order.push_back(name.clone());
        if self.ended_order.len() > REMEMBERED {
            let first = self.ended_order.pop_front();
            first.and_then(|name| self.ended.remove(&name));
        }
    }

    /// Whether a breaker with this name follows from now on: it already does, or it is a key of a registry.
    pub(super) fn follow(&mut self, now_ms: u64, name: &Name) -> bool {
        if self.all.contains_key(name) {
            return true;
        }
        let of = name.registry();
        let Some((of, registry)) = of.and_then(|of| self.registries.get_key_value(of)) else {
            return false;
        };
        let (of, is_full) = (of.clone(), registry.room == 0);
        // The bytes come from other instances: a user's key type that panics on some of them yields no key.
        let found = catch_unwind(AssertUnwindSafe(|| (registry.find)(name)));
        let Some(key) = found.ok().flatten() else {
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

    /// Everything was read: forgets a key that is idle here, once the engine no longer has it open.
    pub(super) fn forget_if_idle(&mut self, now_ms: u64, name: &Name) {
        let follower = self.all.get(name);
        if follower.is_some_and(|follower| follower.is_idle(now_ms)) {
            self.forget(name);
        }
    }

    pub(super) fn first_due(&self) -> Option<&(u64, Name)> {
        self.due.first()
    }

    /// Whether a transition reported now happened before the fleet's last one, by the word's own count, as clocks wrap.
    /// The current one is never old.
    pub(super) fn is_old(&self, name: &Name, made: &Transition) -> bool {
        let Some(follower) = self.all.get(name) else {
            return false;
        };
        let since = |made| follower.breaker.transitions_since(made);
        let last = follower.last.as_ref();
        last.is_some_and(|last| since(made) > 0 && since(made) >= since(last))
    }

    /// Tells a member what happened, and does what it wants done here. Returns what the engine must be asked.
    pub(super) fn step(
        &mut self,
        name: &Name,
        now_ms: u64,
        is_connected: bool,
        input: Input,
    ) -> Vec<Ask> {
        let mut asks = Vec::new();
        let Some(follower) = self.all.get_mut(name) else {
            return asks;
        };
        let seen = follower.breaker.snapshot().unwrap_or_default();
        let now = Context::of(now_ms, is_connected, &seen);
        if let Some(rules) = ours(|| follower.breaker.rules()) {
            follower.member.set_rules(&rules);
        }
        self.status.open -= usize::from(follower.member.period().is_some());
        let was_open_here = follower.member.own.open_until > now_ms;
        let actions = follower.member.step(now, input);
        self.status.open += usize::from(follower.member.period().is_some());
        self.holds.show(name, &follower.member, was_open_here);
        // Not again within this millisecond, whatever it says.
        let due = follower.member.due_ms().map(|due| due.max(now_ms + 1));
        let before = std::mem::replace(&mut follower.due, due);
        if before != due {
            before.map(|before| self.due.remove(&(before, name.clone())));
            self.due.extend(due.map(|due| (due, name.clone())));
        }
        let mut has_room = true;
        for action in actions {
            if let Action::Ask(ask) = action {
                asks.push(ask);
            } else if self.config.is_shadow {
                self.status.withheld += 1;
            } else {
                has_room &= follower.act(action).is_ok();
            }
        }
        follower.breaker.arm(follower.member.wants_rejections(now));
        if !has_room {
            self.status.left_alone += 1;
            self.forget(name);
        }
        asks
    }
}

impl Follower {
    /// Whether it is a key for which there is nothing to do.
    fn is_idle(&self, now_ms: u64) -> bool {
        self.registry.is_some() && self.member.is_idle(now_ms)
    }

    fn act(&mut self, action: Action) -> Result<(), RegistryError> {
        let made = ours(|| self.breaker.act(action)).transpose()?.flatten();
        self.last = made.or(self.last);
        Ok(())
    }
}
