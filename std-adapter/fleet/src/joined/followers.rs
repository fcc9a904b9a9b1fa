//! The breakers that follow, and when each of them must be told the time.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker::Transition;

use super::seat::Find;
use super::steer::{NoRoom, Steer};
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

/// A registry whose keys may follow.
struct Registry {
    find: Find,
    capacity: usize,
    following: usize,
}

impl Registry {
    /// Only as many keys follow as have a slot.
    const fn has_room(&self) -> bool {
        self.following < self.capacity
    }
}

/// For how many keys that are no longer followed the ended periods are remembered.
const REMEMBERED: usize = 4_096;

pub(super) struct Followers {
    config: FleetConfig,
    all: HashMap<Name, Follower>,
    due: BTreeSet<(u64, Name)>,
    registries: HashMap<Name, Registry>,
    /// The ended periods of keys that were followed, and the order of those keys.
    ended: HashMap<Name, Ended>,
    ended_order: VecDeque<Name>,
    /// How many the fleet holds open.
    pub(super) open: usize,
    /// How often a key could not follow.
    pub(super) left_alone: u64,
    /// How often something was withheld in shadow mode.
    pub(super) withheld: u64,
    /// When idle ones were last looked for.
    swept_ms: u64,
    actions: Vec<Action>,
}

impl Followers {
    pub(super) fn new(config: FleetConfig) -> Self {
        Self {
            config,
            all: HashMap::new(),
            due: BTreeSet::new(),
            registries: HashMap::new(),
            ended: HashMap::new(),
            ended_order: VecDeque::new(),
            open: 0,
            left_alone: 0,
            withheld: 0,
            swept_ms: 0,
            actions: Vec::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn all(&self) -> Vec<Name> {
        self.names(|_| true)
    }

    fn names(&self, is_wanted: impl Fn(&Follower) -> bool) -> Vec<Name> {
        let wanted = self.all.iter().filter(|(_, follower)| is_wanted(follower));
        wanted.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn join(&mut self, name: Name, breaker: Box<dyn Steer>) {
        self.insert(name, breaker, None);
    }

    pub(super) fn join_registry(&mut self, name: Name, capacity: usize, find: Find) {
        // From now on its keys follow through the new one.
        for key in self.names(|follower| follower.registry.as_ref() == Some(&name)) {
            self.forget(&key);
        }
        let registry = Registry {
            find,
            capacity,
            following: 0,
        };
        self.registries.insert(name, registry);
    }

    fn insert(&mut self, name: Name, breaker: Box<dyn Steer>, registry: Option<Name>) {
        self.forget(&name);
        let mut member = Member::new(&self.config, &breaker.rules(), fastrand::u64(..));
        if let Some(ended) = self.ended.get(&name) {
            member.remember(*ended);
        }
        let follower = Follower {
            breaker,
            member,
            last: None,
            due: None,
            registry,
        };
        self.all.insert(name, follower);
    }

    fn forget(&mut self, name: &Name) {
        let Some(before) = self.all.remove(name) else {
            return;
        };
        if let Some(due) = before.due {
            self.due.remove(&(due, name.clone()));
        }
        self.open -= usize::from(before.member.period().is_some());
        if let Some(registry) = before
            .registry
            .and_then(|name| self.registries.get_mut(&name))
        {
            registry.following -= 1;
            self.remember(name, *before.member.ended());
        }
    }

    fn remember(&mut self, name: &Name, ended: Ended) {
        if ended.is_empty() || self.ended.insert(name.clone(), ended).is_some() {
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
        let known = name.registry();
        let Some((of, registry)) = known.and_then(|of| self.registries.get_key_value(of)) else {
            return false;
        };
        let of = of.clone();
        // The bytes come from other instances: a user's key type that panics on some of them yields no key.
        let found = catch_unwind(AssertUnwindSafe(|| (registry.find)(name)));
        let Some(key) = found.ok().flatten() else {
            return false;
        };
        if !registry.has_room() && now_ms >= self.swept_ms + self.config.poll_ms {
            self.forget_idle(now_ms);
        }
        let registry = self.registries.get_mut(&of);
        let Some(registry) = registry.filter(|registry| registry.has_room()) else {
            self.left_alone += 1;
            return false;
        };
        registry.following += 1;
        self.insert(name.clone(), key, Some(of));
        true
    }

    /// Forgets keys of which nothing need be remembered.
    fn forget_idle(&mut self, now_ms: u64) {
        self.swept_ms = now_ms;
        for name in self.names(|follower| follower.is_idle(now_ms)) {
            self.forget(&name);
        }
    }

    /// Everything was read: forgets a key that is idle here, once the engine no longer has it open.
    pub(super) fn forget_if_idle(&mut self, now_ms: u64, name: &Name) {
        let follower = self.all.get(name);
        if follower.is_some_and(|follower| follower.is_idle(now_ms)) {
            self.forget(name);
        }
    }

    pub(super) fn first_due(&self) -> Option<(u64, Name)> {
        self.due.first().cloned()
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
        let now = Context {
            now_ms,
            is_connected,
            is_probing: follower.breaker.is_probing(),
        };
        let was_open = follower.member.period().is_some();
        let mut actions = std::mem::take(&mut self.actions);
        follower.member.step(now, input, &mut actions);
        self.open += usize::from(follower.member.period().is_some());
        self.open -= usize::from(was_open);
        // Not again within this millisecond, whatever it says.
        let due = follower.member.due_ms().map(|due| due.max(now_ms + 1));
        if due != follower.due {
            if let Some(before) = follower.due {
                self.due.remove(&(before, name.clone()));
            }
            if let Some(due) = due {
                self.due.insert((due, name.clone()));
            }
            follower.due = due;
        }
        let mut has_room = true;
        for action in actions.drain(..) {
            if let Action::Ask(ask) = action {
                asks.push(ask);
            } else if self.config.is_shadow {
                self.withheld += 1;
            } else {
                has_room &= follower.act(action).is_ok();
            }
        }
        follower.breaker.arm(follower.member.wants_rejections(now));
        self.actions = actions;
        if !has_room {
            self.left_alone += 1;
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

    /// A user's observer that panics stops nothing here.
    fn act(&mut self, action: Action) -> Result<(), NoRoom> {
        let breaker = &self.breaker;
        if let Ok(made) = catch_unwind(AssertUnwindSafe(|| breaker.act(action))) {
            self.last = made?.or(self.last);
        }
        Ok(())
    }
}
