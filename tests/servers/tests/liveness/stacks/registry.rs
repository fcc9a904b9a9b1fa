// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker per key. The other keys misbehave at random, even while the observed keys are healthy.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{Config, Failure, Guard, KeyedObserver, Outcome, Registry, ServiceError};
use atomic_breaker_server::{AnyPermit, KeyGuard, Transition, WhenFull};
use tokio::time::sleep;

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::Host;
use crate::rules::{bound_of, command, let_go, open_of, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Ending, Look, Nervous, Stack, Trips, outcome, throw};

/// The observed keys: the first ones.
const PLACES: usize = 2;
/// Slots.
const CAPACITY: usize = 8;
/// Fewer keys than there are slots, and more.
const FEW: u64 = 7;
const MANY: u64 = 40;

type Keys = &'static Registry<u64, Time, (), Nervous>;

impl KeyedObserver<u64> for Nervous {
    fn transition(&self, key: &u64, transition: &Transition) {
        if *key < PLACES as u64 {
            atomic_breaker_server::Observer::transition(self, transition);
        }
    }
}

/// The rule for keys without a slot.
trait Full: 'static {
    const POLICY: WhenFull;
}

struct Keyed<F, const KEYS: u64> {
    host: Host,
    keys: Keys,
    configs: Vec<Config>,
    others: Cell<u64>,
    _of: PhantomData<F>,
}

impl<F: Full, const KEYS: u64> Keyed<F, KEYS> {
    /// Another key is called, fails, succeeds, loses its permit, or is commanded.
    fn misbehave(&self) {
        if KEYS == MANY && !Nervous::is_allowed() {
            // If they hold all slots, their outages end, too.
            return;
        }
        let mut dice = Dice::new(self.others.get());
        self.others.set(dice.next());
        for _ in 0..dice.below(4) {
            let key = PLACES as u64 + dice.below(KEYS - PLACES as u64);
            if dice.percent(5) {
                let _ = self
                    .keys
                    .command(&key, |breaker| command(breaker, &mut dice));
            } else if let Ok(permit) = self.keys.of(key).acquire() {
                match dice.below(5) {
                    0 => drop(permit.report(Outcome::Success)),
                    1 | 2 => drop(permit.report(Failure::new().into())),
                    3 => forget(permit),
                    _ => {}
                }
            }
        }
    }

    /// Returns `Some` if it reported a success.
    async fn misuse(&self, key: u64, ending: Ending) -> Option<()> {
        let mut permit = KeyGuard::new(self.keys, key).acquire().ok()?;
        let mut said = Outcome::Ignored;
        match ending {
            Ending::Dropped(time) => {
                sleep(time).await;
                return None;
            }
            Ending::Forgotten => {
                forget(permit);
                return None;
            }
            Ending::Late(time) => {
                said = outcome(&self.host.answer().await);
                sleep(time).await;
            }
            Ending::Body(time) => {
                let answer = self.host.answer().await;
                if answer.is_ok() {
                    sleep(time).await;
                    return None;
                }
                said = outcome(&answer);
            }
            Ending::Upload(time) => {
                sleep(time).await;
                if !AnyPermit::renew(&mut permit) {
                    return None;
                }
                said = outcome(&self.host.answer().await);
            }
            // The others are calls, or impossible.
            _ => {}
        }
        AnyPermit::report(permit, said);
        (said == Outcome::Success).then_some(())
    }
}

impl<F: Full, const KEYS: u64> Stack for Keyed<F, KEYS> {
    const PLACES: usize = PLACES;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let configs: Vec<_> = (0..dice.within(1..4)).map(|_| rules(dice)).collect();
        let keys = Registry::builder(configs[0])
            .capacity(CAPACITY)
            .when_full(F::POLICY)
            .clock(Time)
            .observer(Nervous::draw(dice));
        Self {
            host: host.clone(),
            keys: keys.build().unwrap().leak(),
            configs,
            others: Cell::new(dice.next()),
            _of: PhantomData,
        }
    }

    /// While others hold all slots, until one of them is due.
    fn bound(&self, calm: &Calm) -> Duration {
        let held = (KEYS == MANY).then(|| open_of(&self.configs));
        bound_of(&self.configs, calm) + held.unwrap_or_default()
    }

    /// A key without a slot has nothing to trip.
    fn trips(&self) -> Option<Trips> {
        (KEYS == FEW).then(|| trips_of(&self.configs))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        self.misbehave();
        let key = caller.place as u64;
        if !matches!(caller.ending, Ending::Reported | Ending::Panics) {
            let succeeded = self.misuse(key, caller.ending).await;
            return succeeded.map_or(Answer::Other, |()| Answer::Served);
        }
        let call = self.keys.of(key).call_async_with(&outcome, || async {
            if caller.ending.panics() {
                throw();
            }
            self.host.answer().await
        });
        match call.await {
            Ok(_) => Answer::Served,
            Err(ServiceError::Failed(_)) => Answer::Failed,
            Err(ServiceError::Rejected(_)) => Answer::Rejected,
        }
    }

    fn look(&self, place: usize) -> Look {
        let entry = self.keys.entry(&(place as u64));
        entry.map_or(Look::NONE, |entry| Look::of(&entry.snapshot))
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let (key, rules) = (dice.below(PLACES as u64), dice.pick(&self.configs));
        match dice.below(10) {
            0 => self.keys.set_config(rules).unwrap(),
            // There may be no slot.
            1 => drop(self.keys.set_config_of(&key, rules)),
            2 => drop(self.keys.clear_config_of(&key)),
            _ => {
                // The observer may panic.
                let command = || self.keys.command(&key, |breaker| command(breaker, dice));
                let _ = catch_unwind(AssertUnwindSafe(command)).map(drop);
            }
        }
        true
    }

    fn settle(&self) {
        for key in 0..KEYS {
            let _ = self
                .keys
                .command_if_present(&key, |breaker| let_go(breaker));
        }
    }

    fn describe(&self) -> String {
        let keys: Vec<_> = self.keys.entries().collect();
        format!("{keys:?} by {:?}", self.configs)
    }
}

macro_rules! policies {
    ($($policy:ident, $few:ident, $many:ident;)*) => {$(
        struct $policy;

        impl Full for $policy {
            const POLICY: WhenFull = WhenFull::$policy;
        }

        #[test]
        fn $few() {
            explore::<Keyed<$policy, FEW>>(concat!("stacks::registry::", stringify!($few)), 20);
        }

        #[test]
        fn $many() {
            explore::<Keyed<$policy, MANY>>(concat!("stacks::registry::", stringify!($many)), 20);
        }
    )*};
}

policies! {
    Pass, keys_that_would_pass, keys_that_pass;
    Reject, keys_that_would_be_rejected, keys_that_are_rejected;
}
