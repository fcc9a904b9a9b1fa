//! What admits a call of a key.

use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::word::AtomicU64;
use atomic_breaker::{
    AnyError, Breaker, Classify, Clock, Config, Observer, Outcome, Rejected, Rules, State, Tally,
    Token, Transition,
};

use super::permit::Granted;
use super::rules::Ruleset;
use super::slot::{Kept, Slot};
use super::{KeyedObserver, KeyedPermit, Place, Registry, WhenFull};
use crate::resource::{AnyPermit, Rejection, ServiceError, count_panic};

/// The breaker of a slot, put together for a moment.
pub(super) type OfSlot<'a, C, T, P> = Breaker<&'a C, &'a AtomicU64, &'a T, P, &'a Rules<u64>>;

/// What a breaker granted: whether it is a probe, and the token of the permit.
type Admitted = (bool, Token<u64>);

/// What leads to a [`Registry`], always the same one: a reference or an `Arc`.
#[expect(clippy::type_complexity, reason = "all the parts of a registry")]
pub trait AnyRegistry {
    /// Its keys.
    type Key: Hash + Eq + Clone;
    /// Its clock.
    type Clock: Clock;
    /// The memory of each slot.
    type Tally: Tally;
    /// Its observer.
    type Observer: KeyedObserver<Self::Key>;
    /// Its hasher.
    type Hasher: BuildHasher;

    /// The registry itself.
    fn as_registry(
        &self,
    ) -> &Registry<Self::Key, Self::Clock, Self::Tally, Self::Observer, Self::Hasher>;
}

impl<K, C, T, O, S> AnyRegistry for Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    type Key = K;
    type Clock = C;
    type Tally = T;
    type Observer = O;
    type Hasher = S;

    #[inline]
    fn as_registry(&self) -> &Self {
        self
    }
}

macro_rules! forward_registry {
    ($($pointer:ty),*) => {$(
        impl<R: AnyRegistry> AnyRegistry for $pointer {
            type Key = R::Key;
            type Clock = R::Clock;
            type Tally = R::Tally;
            type Observer = R::Observer;
            type Hasher = R::Hasher;

            #[inline]
            fn as_registry(
                &self,
            ) -> &Registry<Self::Key, Self::Clock, Self::Tally, Self::Observer, Self::Hasher> {
                (**self).as_registry()
            }
        }
    )*};
}

forward_registry!(&R, Arc<R>);

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    /// Asks for the right to one call of a key. From an `Arc`, [`KeyedPermit::acquire`] gives one that is
    /// owned.
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why it opened.
    pub fn acquire(&self, key: K) -> Result<KeyedPermit<&Self>, Rejection> {
        KeyedPermit::acquire(self, key)
    }

    /// Runs an operation unless the breaker of the key rejects it. `Err` is a failure of weight 1; a panic
    /// counts as one.
    ///
    /// # Errors
    /// [`ServiceError::Rejected`] when the operation was not run, or its own error.
    pub fn call<V, E>(
        &self,
        key: K,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(key, AnyError, operation)
    }

    /// [`call`](Self::call) with a classifier that says what the result means.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a classifier is mostly a closure, made for the call"
    )]
    pub fn call_with<V, E>(
        &self,
        key: K,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        let mut permit = Some(self.acquire(key).map_err(ServiceError::Rejected)?);
        let result = count_panic(&mut permit, operation);
        if let Some(permit) = permit {
            permit.report(classify.classify(&result));
        }
        result.map_err(ServiceError::Failed)
    }

    /// [`call`](Self::call) for futures, by any runtime or none. A dropped future cancels; a time limit
    /// belongs inside, where it counts as a failure.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async<V, E, F>(
        &self,
        key: K,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        self.call_async_with(key, AnyError, operation).await
    }

    /// [`call_async`](Self::call_async) with a classifier that says what the result means.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async_with<V, E, F>(
        &self,
        key: K,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        let mut permit = Some(self.acquire(key).map_err(ServiceError::Rejected)?);
        let mut future = pin!(count_panic(&mut permit, operation));
        let result =
            poll_fn(|context| count_panic(&mut permit, || future.as_mut().poll(context))).await;
        if let Some(permit) = permit {
            permit.report(classify.classify(&result));
        }
        result.map_err(ServiceError::Failed)
    }

    /// The breaker of a slot, put together for a moment.
    #[inline]
    pub(super) fn breaker<'a, P: Observer>(
        &'a self,
        slot: &'a Slot<K, T>,
        observer: P,
    ) -> OfSlot<'a, C, T, P> {
        let rules = &self.rules_of(slot).rules;
        Breaker::from_parts(&slot.word, rules, &self.clock, &slot.tally, observer)
    }

    /// The rules of a slot: its own, or those of all.
    #[inline]
    pub(super) fn rules_of(&self, slot: &Slot<K, T>) -> &Ruleset {
        let own = slot.own_rules();
        own.map_or_else(|| self.common(), |id| self.table.get(id))
    }

    /// The rules of all keys that have none of their own.
    #[inline]
    pub(super) fn common(&self) -> &Ruleset {
        // The rules themselves are published by the table.
        self.table.get(self.rules.load(Ordering::Relaxed))
    }

    /// Where a key is, if it has a slot.
    #[inline]
    pub(super) fn find(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        let place = self.map.pin().get(key).copied()?;
        Some((place, self.slots.get(place.slot as usize)?))
    }

    /// The permit of a call, but for the handle.
    #[inline]
    pub(super) fn admit(&self, key: K) -> Result<Granted<K>, Rejection> {
        // A slot that has just changed hands is looked up again; whoever meets that again and again passes.
        for _ in 0..MOST_LOOK_UPS {
            let Some((place, slot)) = self.find(&key) else {
                if self.common().is_eager && self.insert(&key).is_some() {
                    continue;
                }
                return self.admit_absent(key);
            };
            slot.touch();
            if self.observer.is_listening() {
                if let Some(answer) = self.admit_observed(&key, place, slot) {
                    return self.grant(key, place, slot, answer);
                }
                continue;
            }
            let answer = acquired(&self.breaker(slot, ()));
            if self.is_still(place, slot) {
                return self.grant(key, place, slot, answer);
            }
            self.give_back(slot, answer);
        }
        Ok(Granted::Unguarded)
    }

    /// Whether a slot is still that of the key which was looked up. If it looks as if it were not, an eviction
    /// may be under way that comes to nothing: asks again when it is over.
    #[inline]
    pub(super) fn is_still(&self, place: Place, slot: &Slot<K, T>) -> bool {
        slot.turn.is_still(place.turn, &slot.word) || self.is_still_after_eviction(place, slot)
    }

    #[cold]
    fn is_still_after_eviction(&self, place: Place, slot: &Slot<K, T>) -> bool {
        let _places = self.places();
        slot.turn.is_still(place.turn, &slot.word)
    }

    /// A slot that is not the caller's. Not cancelled, as a probe that was held up would count as failed.
    fn give_back(&self, slot: &Slot<K, T>, answer: Result<Admitted, Rejected>) {
        if let Ok((_, token)) = answer {
            self.breaker(slot, ())
                .resume(token)
                .report(Outcome::Ignored);
        }
    }

    /// Keeps what happens until it is known whose slot it was.
    #[cold]
    fn admit_observed(
        &self,
        key: &K,
        place: Place,
        slot: &Slot<K, T>,
    ) -> Option<Result<Admitted, Rejected>> {
        let kept = Kept::default();
        let answer = acquired(&self.breaker(slot, &kept));
        if self.is_still(place, slot) {
            if let Some(transition) = kept.transition.get() {
                self.observer.transition(key, &transition);
            }
            if let Some(rejected) = kept.rejected.get() {
                self.observer.rejected(key, rejected);
            }
            return Some(answer);
        }
        if let Some(transition) = kept.transition.get() {
            self.notify_owner(key, place, slot, &transition);
        }
        self.give_back(slot, answer);
        None
    }

    /// A transition of a slot that has changed hands: of the key that had it, or of the one that has it now.
    fn notify_owner(&self, key: &K, place: Place, slot: &Slot<K, T>, transition: &Transition) {
        let present = {
            let _places = self.places();
            let born = Breaker::over(
                AtomicU64::new(slot.born.load(Ordering::Relaxed)),
                Config::new(),
                &self.clock,
            );
            let since_birth = transition.epoch.wrapping_sub(born.snapshot().epoch()) % 512;
            let is_next = slot.turn.get() == place.turn.wrapping_add(1);
            (since_birth < 256 || !is_next)
                .then(|| slot.key.load_full())
                .flatten()
        };
        match present {
            Some(present) => self.observer.transition(&present, transition),
            None => self.observer.transition(key, transition),
        }
    }

    #[inline]
    fn grant(
        &self,
        key: K,
        place: Place,
        slot: &Slot<K, T>,
        answer: Result<Admitted, Rejected>,
    ) -> Result<Granted<K>, Rejection> {
        match answer {
            Ok((is_probe, token)) => Ok(Granted::Admitted {
                key,
                place,
                is_probe,
                token,
            }),
            Err(rejected) => self.reject(slot, rejected),
        }
    }

    #[cold]
    fn reject(&self, slot: &Slot<K, T>, rejected: Rejected) -> Result<Granted<K>, Rejection> {
        if self.enforcement.is_enforced(|| self.clock.random()) {
            Err(Rejection {
                rejected,
                last_failure: slot.last_failure.get(),
            })
        } else {
            Ok(Granted::Unguarded)
        }
    }

    /// A key without a slot is closed and clear; only a failure, or a slow call, makes it worth one.
    #[inline]
    fn admit_absent(&self, key: K) -> Result<Granted<K>, Rejection> {
        if self.when_full != WhenFull::Pass && self.is_known_to_be_full() {
            return self.admit_when_full(key);
        }
        let is_measured = self.common().slow_call_ms.is_some();
        Ok(Granted::Absent {
            key,
            // 0 is taken for 1 millisecond, as where a breaker admits.
            started_ms: is_measured.then(|| self.clock.now_ms().max(1)),
            // A counter: whether anybody got a slot since.
            inserted: self.inserted.load(Ordering::Relaxed),
        })
    }

    #[cold]
    fn admit_when_full(&self, key: K) -> Result<Granted<K>, Rejection> {
        if self.when_full == WhenFull::Share {
            let shared = self.shared();
            let slot = &self.slots[self.capacity()];
            return self.grant(key, shared, slot, acquired(&self.breaker(slot, ())));
        }
        let rejected = Rejected::new(State::Open, FULL_FOR);
        if self.observer.is_listening() {
            self.observer.rejected(&key, rejected);
        }
        if self.enforcement.is_enforced(|| self.clock.random()) {
            return Err(rejected.into());
        }
        Ok(Granted::Unguarded)
    }

    /// The slot of those who got none.
    pub(super) fn shared(&self) -> Place {
        Place {
            slot: self.capacity() as u32,
            turn: 0,
        }
    }

    /// Whether no slot was to be had lately, and none is to be had now. Looked at again every tenth of a second.
    #[inline]
    pub(super) fn is_known_to_be_full(&self) -> bool {
        let until_ms = self.full_until_ms.load(Ordering::Relaxed);
        until_ms != 0 && self.is_full_until(until_ms)
    }

    #[cold]
    fn is_full_until(&self, until_ms: u32) -> bool {
        // Signed, as clocks may step back a little.
        let left_ms = until_ms.wrapping_sub(self.clock.now_ms()).cast_signed();
        if left_ms > 0 {
            return true;
        }
        let places = self.places();
        if self.has_room(&places) {
            self.full_until_ms.store(0, Ordering::Relaxed);
            return false;
        }
        self.note_full();
        true
    }

    /// For a moment nobody looks for a slot again.
    pub(super) fn note_full(&self) {
        let until_ms = self
            .clock
            .now_ms()
            .wrapping_add(FULL_FOR.as_millis() as u32);
        self.full_until_ms.store(until_ms.max(1), Ordering::Relaxed);
    }

    /// Whether a call without a slot that began then took too long.
    #[inline]
    pub(super) fn was_slow(&self, started_ms: Option<u32>) -> bool {
        started_ms.is_some_and(|started_ms| {
            let took_ms = self.clock.now_ms().wrapping_sub(started_ms);
            let limit_ms = self.common().slow_call_ms;
            // More than half the range: the clock stepped back.
            took_ms <= u32::MAX / 2 && limit_ms.is_some_and(|limit_ms| took_ms >= limit_ms)
        })
    }

    /// The state of a key, without counting as a use of it.
    pub fn state(&self, key: &K) -> State {
        self.entry(key)
            .map_or(State::Closed, |entry| entry.snapshot.state())
    }
}

/// For how long a search for a slot that found none is taken for the answer.
const FULL_FOR: Duration = Duration::from_millis(100);

/// How often a key is looked up whose slot changes hands each time.
const MOST_LOOK_UPS: u32 = 16;

#[inline]
fn acquired<C, T, P>(breaker: &OfSlot<'_, C, T, P>) -> Result<Admitted, Rejected>
where
    C: Clock,
    T: Tally,
    P: Observer,
{
    let permit = breaker.acquire()?;
    Ok((permit.is_probe(), permit.into_token()))
}
