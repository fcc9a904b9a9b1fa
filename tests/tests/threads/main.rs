// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real threads, more of them than cores, show what no model of two or three callers can.
//!
//! Epochs wrap, and a permit that lives through a whole turn of them is mistaken for a current one. That is
//! documented and not tested here, so callers stop, and wait for each other, before a turn is over: the work
//! comes in rounds, and each round is audited when all threads have come to rest.

mod adjusted;
mod audit;
mod mixed;
mod storm;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tests::random::Random;

/// Threads that let each other run lose their turn to other programs as well: on a busy machine a test would take many
/// times as long, so that it ends with fewer rounds there.
const LONGEST: Duration = Duration::from_secs(6);
const FEWEST: u64 = 20;

/// Repeats rounds: runs `work` on the other threads at once, and `meanwhile` on this one; then, when all have
/// come to rest, `audit`. A panic of any of them ends the rounds and is passed on.
fn rounds(
    threads: u64,
    rounds: u64,
    work: impl Fn(&mut Random) + Sync,
    meanwhile: impl Fn(),
    mut audit: impl FnMut(),
) {
    let barrier = Barrier::new(threads as usize + 1);
    let is_over = AtomicBool::new(false);
    let panic = Mutex::new(None::<Box<dyn Any + Send>>);
    // A thread that panicked out of a round would leave the others waiting forever.
    let keep = |result: thread::Result<()>| {
        if let Err(payload) = result {
            panic.lock().unwrap().get_or_insert(payload);
        }
    };
    thread::scope(|scope| {
        for caller in 0..threads {
            let (barrier, is_over, work, keep) = (&barrier, &is_over, &work, &keep);
            scope.spawn(move || {
                let mut random = Random::stream(caller);
                loop {
                    barrier.wait();
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    keep(catch_unwind(AssertUnwindSafe(|| work(&mut random))));
                    barrier.wait();
                }
            });
        }
        let begun = Instant::now();
        for round in 0..rounds {
            if round >= FEWEST && begun.elapsed() >= LONGEST {
                println!("{round} of {rounds} rounds: the machine is busy");
                break;
            }
            barrier.wait();
            keep(catch_unwind(AssertUnwindSafe(&meanwhile)));
            barrier.wait();
            keep(catch_unwind(AssertUnwindSafe(&mut audit)));
            if panic.lock().unwrap().is_some() {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        barrier.wait();
    });
    if let Some(payload) = panic.into_inner().unwrap() {
        resume_unwind(payload);
    }
}
