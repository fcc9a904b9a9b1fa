// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios with seeds that differ from run to run, and their results.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::dice::{how_to_repeat, seeds};
use super::scenario::World;
use super::stack::Stack;

/// The results of all scenarios of a stack.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) rejected: u32,
    pub(crate) served: u32,
    pub(crate) trips: u32,
    /// The longest time until calls were served for good, and the bound that applied.
    pub(crate) slowest: (Duration, Duration),
}

/// Explores this many scenarios of a stack.
pub(crate) fn explore<S: Stack>(test: &str, scenarios: u64) {
    let mut totals = Totals::default();
    let seeds = seeds(scenarios);
    for seed in &seeds {
        let scenario = AssertUnwindSafe(|| run::<S>(*seed, &mut totals));
        if let Err(panic) = catch_unwind(scenario) {
            println!("{}", how_to_repeat(*seed, test));
            resume_unwind(panic);
        }
    }
    let (took, bound) = totals.slowest;
    println!("figure: {test}: served after {took:?} at the latest, of {bound:?}: {totals:?}");
    if seeds.len() > 1 {
        assert!(totals.trips > 0, "nothing was put to the test: {totals:?}");
    }
}

fn run<S: Stack>(seed: u64, totals: &mut Totals) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    fastrand::seed(seed);
    let local = LocalSet::new();
    let scenario = async {
        let world = World::<S>::begin(seed);
        world.be_ill().await;
        world.be_well().await;
        world.add_to(totals);
    };
    runtime.block_on(local.run_until(scenario));
}
