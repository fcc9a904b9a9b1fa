//! Every interleaving of two or three callers that the C11 memory model allows, by loom: one race per
//! test.
//!
//! The shipped code runs unchanged: only the word is another one, over loom's atomics. Each closure
//! given to `model` runs once per interleaving.

mod memory;
mod orderings;
mod probes;
mod reports;
mod tally;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use atomic_breaker::{Breaker, Cause, Config, ManualClock, Observer, Tally, Transition};
use memory::LoomWord;

/// What observers heard in one interleaving, in the order in which they were told. Not a part of the
/// model: plain memory of the test.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Transition>>>);

impl Heard {
    fn causes(&self) -> Vec<Cause> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .map(|told| told.cause)
            .collect()
    }

    fn times(&self, cause: Cause) -> usize {
        self.causes()
            .into_iter()
            .filter(|heard| *heard == cause)
            .count()
    }
}

impl Observer for Heard {
    fn transition(&self, transition: &Transition) {
        self.0.lock().unwrap().push(*transition);
    }
}

type Modelled<T = ()> = Breaker<ManualClock, LoomWord, T, Heard>;

/// A breaker for one interleaving, and what its observer hears.
fn breaker(config: Config) -> (loom::sync::Arc<Modelled>, Heard) {
    breaker_with(config, ())
}

fn breaker_with<T: Tally>(config: Config, tally: T) -> (loom::sync::Arc<Modelled<T>>, Heard) {
    let clock = ManualClock::starting_at(1_000);
    let heard = Heard::default();
    let breaker = Breaker::from_parts(LoomWord::new(), config, clock, tally, heard.clone());
    (loom::sync::Arc::new(breaker), heard)
}

/// Runs a model, and prints how many interleavings it had.
fn model(name: &str, interleaving: impl Fn() + Send + Sync + 'static) {
    bounded(name, None, interleaving);
}

/// A model in which a thread is preempted at most so often; for three threads, where all
/// interleavings are too many. Loom's authors find that two or three preemptions show most bugs.
fn bounded(
    name: &str,
    preemptions: Option<usize>,
    interleaving: impl Fn() + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let count = Arc::new(AtomicU32::new(0));
    let counter = count.clone();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        interleaving();
    });
    println!("{name}: {} interleavings", count.load(Ordering::Relaxed));
}
