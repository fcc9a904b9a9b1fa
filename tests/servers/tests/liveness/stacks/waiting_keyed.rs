// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for keys of a registry and for a resource, and retrying.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Guard, Registry, ServiceError};
use atomic_breaker_server::{AnyPermit, Resource, Retry, StateWatch, word::NativeWord};

use tokio::time::sleep;

use super::waiting::retry;
use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, outcome, throw};

type Keys = &'static Registry<u64, Time, (), Nervous>;
type Server = Resource<Breaker<Time, NativeWord, (), (StateWatch, Nervous)>>;

/// Lower indexes are keys, this one is the resource.
const RESOURCE: usize = 2;

struct Waits<K> {
    host: Host,
    keys: Keys,
    server: Server,
    config: Config,
    policy: Retry,
    /// The number of callers that are under way.
    waiting: Cell<u32>,
    _of: PhantomData<K>,
}

/// A caller who is under way, until it hangs up.
struct UnderWay<'a>(&'a Cell<u32>);

impl<'a> UnderWay<'a> {
    fn new(waiting: &'a Cell<u32>) -> Self {
        waiting.set(waiting.get() + 1);
        Self(waiting)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

trait Kind: Sized + 'static {
    fn call(of: &Waits<Self>, caller: Caller) -> impl Future<Output = Answer>;
}

impl<K: Kind> Stack for Waits<K> {
    const PLACES: usize = RESOURCE + 1;
    /// A waiting caller polls periodically.
    const IS_IDLE: bool = false;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let keys = Registry::builder(config)
            .capacity(8)
            .clock(Time)
            .observer(Nervous::draw(dice));
        let observer = (StateWatch::new(), Nervous::draw(dice));
        let breaker = Breaker::builder(config, Time).observer(observer).build();
        Self {
            host: host.clone(),
            keys: keys.build().unwrap().leak(),
            server: Resource::new(breaker),
            config,
            policy: retry(dice),
            waiting: Cell::new(0),
            _of: PhantomData,
        }
    }

    /// The same bound as when waiting for a breaker.
    fn bound(&self, calm: &Calm) -> Duration {
        let begun_before = Duration::from_secs(30) + LIMIT;
        bound_of(&[self.config], calm) + Duration::from_secs(11) + begun_before
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        let _under_way = UnderWay::new(&self.waiting);
        K::call(&self, caller).await
    }

    /// All callers who waited are served, including those who began while it was unhealthy.
    async fn finish(&self) {
        sleep(LIMIT).await;
        assert_eq!(self.waiting.get(), 0, "{}", self.describe());
    }

    fn look(&self, place: usize) -> Look {
        if place == RESOURCE {
            return Look::of(&self.server.breaker().snapshot());
        }
        let entry = self.keys.entry(&(place as u64));
        entry.map_or(Look::NONE, |entry| Look::of(&entry.snapshot))
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let place = dice.below(Self::PLACES as u64);
        // The observer may panic.
        let command = AssertUnwindSafe(|| {
            if place == RESOURCE as u64 {
                command(self.server.breaker(), dice);
            } else {
                let _ = self.keys.command(&place, |breaker| command(breaker, dice));
            }
        });
        drop(catch_unwind(command));
        true
    }

    fn settle(&self) {
        let_go(self.server.breaker());
        for key in 0..RESOURCE as u64 {
            let _ = self
                .keys
                .command_if_present(&key, |breaker| let_go(breaker));
        }
    }

    fn describe(&self) -> String {
        let (keys, server) = (
            self.keys.entries().collect::<Vec<_>>(),
            self.server.breaker().snapshot(),
        );
        format!("{keys:?} {server:?} by {:?}", self.config)
    }
}

fn seen<E>(result: &Result<u32, ServiceError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Served,
        Err(ServiceError::Failed(_)) => Answer::Failed,
        Err(ServiceError::Rejected(_)) => Answer::Rejected,
    }
}

async fn answer(host: &Host, caller: Caller) -> Result<u32, Trouble> {
    if caller.ending.panics() {
        throw();
    }
    host.answer().await
}

/// Until it is admitted, however long that takes.
struct UntilReady;

impl Kind for UntilReady {
    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        async fn with(permit: impl AnyPermit, host: &Host, caller: Caller) -> Answer {
            let result = answer(host, caller).await;
            permit.report(outcome(&result));
            seen(&result.map_err(ServiceError::Failed))
        }
        if caller.place == RESOURCE {
            with(of.server.acquire_when_ready().await, &of.host, caller).await
        } else {
            let key = caller.place as u64;
            with(of.keys.of(key).acquire_when_ready().await, &of.host, caller).await
        }
    }
}

struct Again;

impl Kind for Again {
    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        let operation = || answer(&of.host, caller);
        let result = if caller.place == RESOURCE {
            let call = of.server.retry_with(outcome, of.policy, operation);
            call.await
        } else {
            let key = caller.place as u64;
            let call = of.keys.of(key).retry_with(outcome, of.policy, operation);
            call.await
        };
        seen(&result)
    }
}

/// Calls with a limit.
struct Limited;

impl Kind for Limited {
    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        let operation = || async {
            if caller.ending.panics() {
                throw();
            }
            of.host.answer_without_limit().await
        };
        let result = if caller.place == RESOURCE {
            of.server.call_timeout(LIMIT, operation).await
        } else {
            let key = caller.place as u64;
            of.keys.of(key).call_timeout(LIMIT, operation).await
        };
        seen(&result)
    }
}

#[test]
fn until_a_key_or_a_resource_admits() {
    explore::<Waits<UntilReady>>(
        "stacks::waiting_keyed::until_a_key_or_a_resource_admits",
        30,
    );
}

#[test]
fn tried_again() {
    explore::<Waits<Again>>("stacks::waiting_keyed::tried_again", 30);
}

#[test]
fn limited() {
    explore::<Waits<Limited>>("stacks::waiting_keyed::limited", 30);
}
