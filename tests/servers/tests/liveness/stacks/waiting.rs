// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a breaker, retrying, and pings while it is open.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Timed};
use atomic_breaker_server::{CallError, Prober, Retry, StateWatch, word::NativeWord};
use tokio::task::{JoinHandle, spawn_local};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, outcome, throw};

type Watched = Breaker<Time, NativeWord, (), (StateWatch, Nervous)>;

struct Waits<K> {
    host: Host,
    breaker: Arc<Watched>,
    config: Config,
    policy: Retry,
    kind: PhantomData<K>,
    prober: Option<JoinHandle<()>>,
}

impl<K> Drop for Waits<K> {
    fn drop(&mut self) {
        if let Some(prober) = &self.prober {
            prober.abort();
        }
    }
}

trait Kind: Sized + 'static {
    const PINGS: bool = false;

    fn call(of: &Waits<Self>, caller: Caller) -> impl Future<Output = Answer>;
}

/// A retry that waits for the breaker: not at all, for less than an open time, for as long as its time allows.
pub(super) fn retry(dice: &mut Dice) -> Retry {
    let waits = [0, 1, 600].map(Duration::from_secs);
    Retry::new().wait_for_breaker(waits[dice.below(3) as usize])
}

/// The time between two pings.
const PAUSE: Duration = Duration::from_secs(1);

impl<K: Kind> Stack for Waits<K> {
    /// A waiting caller polls periodically.
    const IS_IDLE: bool = false;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let observer = (StateWatch::new(), Nervous::draw(dice));
        let breaker = Breaker::builder(config, Time).observer(observer).build();
        let breaker = Arc::new(breaker);
        let prober = Prober::every(PAUSE)
            .time_limit(LIMIT)
            .answers(dice.within(1..4));
        let prober = K::PINGS.then(|| {
            let (breaker, host) = (Arc::clone(&breaker), host.clone());
            spawn_local(async move {
                loop {
                    let ping = || host.answer_without_limit();
                    let pings = breaker.run_prober(prober, ping);
                    // An observer that panics ends it.
                    let ended = std::panic::AssertUnwindSafe(pings);
                    let _ = futures_util::FutureExt::catch_unwind(ended)
                        .await
                        .map(|_| ());
                }
            })
        });
        Self {
            host: host.clone(),
            breaker,
            config,
            policy: retry(dice),
            kind: PhantomData,
            prober,
        }
    }

    /// A waiting caller returns up to an eighth of its wait later, at most a second, and polls every ten seconds for
    /// changes made elsewhere.
    fn bound(&self, calm: &Calm) -> Duration {
        let begun_before = Duration::from_secs(30) + LIMIT;
        bound_of(&[self.config], calm) + Duration::from_secs(11) + begun_before
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        K::call(&self, caller).await
    }

    fn look(&self, _: usize) -> Look {
        Look::of(&self.breaker.snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let command = std::panic::AssertUnwindSafe(|| command(&*self.breaker, dice));
        drop(std::panic::catch_unwind(command));
        true
    }

    fn settle(&self) {
        let_go(&*self.breaker);
    }

    fn describe(&self) -> String {
        format!("{:?} by {:?}", self.breaker.snapshot(), self.config)
    }
}

fn seen<E>(result: &Result<u32, CallError<E>>) -> Answer {
    match result {
        Ok(_) => Answer::Served,
        Err(CallError::Failed(_)) => Answer::Failed,
        Err(CallError::Rejected(_)) => Answer::Rejected,
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
        let permit = of.breaker.acquire_when_ready().await;
        let result = answer(&of.host, caller).await;
        permit.report(outcome(&result));
        seen(&result.map_err(CallError::Failed))
    }
}

/// Until it would be admitted; then another caller may be faster.
struct Ready;

impl Kind for Ready {
    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        of.breaker.ready().await;
        let call = of.breaker.call_timeout(LIMIT, || async {
            if caller.ending.panics() {
                throw();
            }
            of.host.answer_without_limit().await
        });
        let result = call.await;
        match &result {
            Err(CallError::Failed(Timed::TimedOut)) => Answer::Failed,
            result => seen(result),
        }
    }
}

struct Again;

impl Kind for Again {
    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        let operation = || answer(&of.host, caller);
        let call = of.breaker.retry_with(outcome, of.policy, operation);
        seen(&call.await)
    }
}

/// Pings detect recovery, beside calls that may do so.
struct Pinged;

impl Kind for Pinged {
    const PINGS: bool = true;

    async fn call(of: &Waits<Self>, caller: Caller) -> Answer {
        let call = of
            .breaker
            .call_async_with(outcome, || answer(&of.host, caller));
        seen(&call.await)
    }
}

#[test]
fn until_it_is_admitted() {
    explore::<Waits<UntilReady>>("stacks::waiting::until_it_is_admitted", 30);
}

#[test]
fn until_it_would_be_admitted() {
    explore::<Waits<Ready>>("stacks::waiting::until_it_would_be_admitted", 30);
}

#[test]
fn tried_again() {
    explore::<Waits<Again>>("stacks::waiting::tried_again", 30);
}

#[test]
fn pinged() {
    explore::<Waits<Pinged>>("stacks::waiting::pinged", 30);
}
