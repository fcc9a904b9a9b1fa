// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every interleaving of two or three callers that the C11 memory model allows, with loom; one race per test.
//!
//! The shipped code runs unchanged, except that the word is another one, over loom's atomics. Each closure
//! given to `model` runs once per interleaving. A test compares all results with all allowed ones: no other
//! result occurs, and each allowed one does, so that the model is not blind to it.

mod aba;
mod demands;
mod keeper;
mod memory;
mod orderings;
mod probes;
mod reports;
mod returns;
mod rounds;
mod sharded;
mod short_ways;
mod sliding;
mod tally;

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Observer, State, Tally, Transition};
use atomic_breaker_server::StdClock; // which `sharded` compiles code for
use memory::LoomWord;

/// The transitions of one interleaving, in the order in which they were reported. They are plain memory of the
/// test, not a part of the model.
#[derive(Default)]
struct Notices(Mutex<Vec<Transition>>);

impl Observer for Notices {
    fn transition(&self, transition: &Transition) {
        self.0.lock().unwrap().push(*transition);
    }
}

type Modelled<T = (), W = LoomWord> = Breaker<ManualClock, W, T, Notices>;

/// A breaker for one interleaving.
fn breaker(config: Config) -> loom::sync::Arc<Modelled> {
    breaker_of(LoomWord::new(), config, ())
}

fn breaker_of<T: Tally, W: Word>(
    word: W,
    config: Config,
    tally: T,
) -> loom::sync::Arc<Modelled<T, W>> {
    let breaker = Breaker::builder(config, ManualClock::starting_at(1_000))
        .word(word)
        .tally(tally)
        .observer(Notices::default())
        .build();
    loom::sync::Arc::new(breaker)
}

/// The causes of all transitions, in the order of their epochs, when all callers have come to rest. Each
/// epoch was reported once, and each transition begins in the state in which the one before ended.
fn history<T: Tally, W: Word>(breaker: &Modelled<T, W>) -> Vec<Cause> {
    let mut reported = breaker.observer().0.lock().unwrap().clone();
    reported.sort_by_key(|transition| transition.epoch);
    let mut state = State::Closed;
    for (epoch, transition) in (1..).zip(&reported) {
        assert_eq!(transition.epoch, epoch, "once each: {reported:#?}");
        assert_eq!(transition.from, state, "one chain: {reported:#?}");
        state = transition.to;
    }
    let snapshot = breaker.snapshot();
    assert_eq!(
        snapshot.entered(),
        state,
        "nothing unreported: {reported:#?}"
    );
    let epoch = usize::from(snapshot.epoch());
    assert_eq!(epoch, reported.len(), "none undone: {reported:#?}");
    reported.iter().map(|transition| transition.cause).collect()
}

/// Runs a model, prints how many interleavings it had, and returns their results.
fn model<R: Eq + Hash + Send + 'static>(
    name: &str,
    interleaving: impl Fn() -> R + Send + Sync + 'static,
) -> HashSet<R> {
    bounded(name, None, interleaving)
}

/// A model that limits how often threads are preempted, where there are too many interleavings.
/// Loom's authors find that two or three preemptions show most bugs.
fn bounded<R: Eq + Hash + Send + 'static>(
    name: &str,
    preemptions: Option<usize>,
    interleaving: impl Fn() -> R + Send + Sync + 'static,
) -> HashSet<R> {
    // Models side by side take three times the processor time: each interleaving maps stacks for its threads.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let count = Arc::new(AtomicU32::new(0));
    let results = Arc::new(Mutex::new(HashSet::new()));
    let (counter, collected) = (count.clone(), results.clone());
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let result = interleaving();
        collected.lock().unwrap().insert(result);
    });
    let results = std::mem::take(&mut *results.lock().unwrap());
    println!(
        "{name}: {} interleavings, {} results",
        count.load(Ordering::Relaxed),
        results.len(),
    );
    results
}
