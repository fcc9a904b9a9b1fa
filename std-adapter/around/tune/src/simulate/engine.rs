// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: calls begin and end in the order of time, and real breakers decide which of them are made.
//!
//! Made for packages that bring calls of their own, as `atomic-breaker-tune` does with those of a log. **This module is exempt from
//! semantic versioning**: depend on an exact version.
//!
//! ```
//! use atomic_breaker::{Failure, Outcome};
//! use atomic_breaker_tune::Config;
//! use atomic_breaker_tune::engine::{BreakerScope, Completion, PlannedCall, run};
//! use std::time::Duration;
//!
//! // A thousand calls that fail, one each 10 ms.
//! let failed = Completion::new(Outcome::Failure(Failure::new()), Duration::from_millis(1));
//! let calls = (0..1_000).map(|number| PlannedCall::new(number * 10_000, failed)).peekable();
//!
//! let (config, mut made) = (Config::new().consecutive_failures(5), 0);
//! let watch = |_: &PlannedCall, completion: Option<Completion>| made += usize::from(completion.is_some());
//! let changes = run(Some(&config), BreakerScope::Single, 0, calls, |call| call.completion, watch)?;
//! assert!(changes[0].is_trip() && made < 20);
//! # Ok::<(), atomic_breaker_server::RegistryError>(())
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use atomic_breaker::{Breaker, Config, Permit};
use atomic_breaker_server::{AnyPermit, Guard as _, KeyGuard, Registry, RegistryError};

pub use super::breakers::BreakerScope;
pub use super::call::{Completion, PlannedCall};
pub use super::cold::Warming;
pub use super::figures::{UsefulWithin, Usefulness};
pub use super::source::{CallSource, Callers};

use super::breakers::{ChangeLog, StateChange, memory};
use super::clock::VirtualClock;

/// Plays all calls of the source, and returns what the breakers did, in the order of time. Without a configuration there is no
/// breaker. Deterministic: the same seed gives the same run.
///
/// `serve` says how a call ends that is about to be made, under the load that it adds. `watch` sees each call when it begins, and
/// how it ends; `None` if it was rejected.
pub fn run(
    config: Option<&Config>,
    breakers: BreakerScope,
    seed: u64,
    source: impl CallSource,
    serve: impl FnMut(&PlannedCall) -> Completion,
    watch: impl FnMut(&PlannedCall, Option<Completion>),
) -> Result<Vec<StateChange>, RegistryError> {
    let clock = VirtualClock::new(seed);
    let history = ChangeLog::new(&clock);
    match (config, breakers) {
        (Some(config), BreakerScope::PerKey { capacity }) => {
            // Keys have the same order in every run.
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            let registry = Registry::<u32>::builder(*config)
                .capacity(capacity)
                .clock(&clock)
                .tally(|| memory(config, &clock))
                .observer(&history)
                .hasher(hasher)
                .build()?;
            let admit = |key| KeyGuard::new(&registry, key).acquire().ok();
            play(&clock, admit, source, serve, watch);
        }
        (config, _) => {
            let rules = config.copied().unwrap_or_default();
            let breaker = Breaker::builder(rules, &clock)
                .tally(memory(&rules, &clock))
                .observer(&history)
                .try_build()?;
            if config.is_none() {
                breaker.disable();
                history.take();
            }
            play(
                &clock,
                |_| Permit::acquire(&breaker).ok(),
                source,
                serve,
                watch,
            );
        }
    }
    Ok(history.take())
}

/// `admit` gives the right to one call of a key; `None` if it is rejected.
fn play<P: AnyPermit>(
    clock: &VirtualClock,
    admit: impl Fn(u32) -> Option<P>,
    mut source: impl CallSource,
    mut serve: impl FnMut(&PlannedCall) -> Completion,
    mut watch: impl FnMut(&PlannedCall, Option<Completion>),
) {
    let mut calls = CallsInFlight::new();
    loop {
        match (source.next_start_us(), calls.first_end_us()) {
            // What ends at the moment of a start has ended before it.
            (Some(start), end) if end.is_none_or(|end| start < end) => {
                let Some(call) = source.take() else { continue };
                clock.set_us(start);
                if let Some(permit) = admit(call.key) {
                    let completion = serve(&call);
                    watch(&call, Some(completion));
                    calls.add(start, permit, completion);
                } else {
                    watch(&call, None);
                    source.freed(start, start);
                }
            }
            (_, Some(end)) => {
                clock.set_us(end);
                if let Some((began, permit, completion)) = calls.end_first() {
                    if completion.is_cancelled {
                        drop(permit);
                    } else {
                        permit.report(completion.outcome);
                    }
                    source.freed(began, end);
                }
            }
            (_, None) => return,
        }
    }
}

/// Calls that have begun and not ended. Only their ends are ordered; permits lie still.
struct CallsInFlight<P> {
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    calls: Vec<Option<(u64, P, Completion)>>,
    free: Vec<u32>,
}

impl<P> CallsInFlight<P> {
    const fn new() -> Self {
        Self {
            ends: BinaryHeap::new(),
            calls: Vec::new(),
            free: Vec::new(),
        }
    }

    fn first_end_us(&self) -> Option<u64> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    fn add(&mut self, start_us: u64, permit: P, completion: Completion) {
        let end_us = start_us.saturating_add(u64::from(completion.duration_us));
        let place = self.free.pop().unwrap_or_else(|| {
            self.calls.push(None);
            (self.calls.len() - 1) as u32
        });
        self.calls[place as usize] = Some((start_us, permit, completion));
        self.ends.push(Reverse((end_us, place)));
    }

    fn end_first(&mut self) -> Option<(u64, P, Completion)> {
        let Reverse((_, place)) = self.ends.pop()?;
        self.free.push(place);
        self.calls[place as usize].take()
    }
}
