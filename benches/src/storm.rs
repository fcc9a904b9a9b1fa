// SPDX-License-Identifier: MIT OR Apache-2.0
//! All threads at the deadline of an open breaker: how many does it let through?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::contestant::{Answer, Caller, Contestant, Rules};
use crate::rounds::Figure;

/// The observations of many storms.
#[derive(Clone, Debug)]
pub struct Storm {
    /// The fewest callers that were let through at once.
    pub fewest: usize,
    /// The most callers that were let through at once.
    pub most: usize,
    /// Nanoseconds from the start of a call to the operation or to the rejection.
    pub decided: Figure,
}

impl Storm {
    /// "1", or "2 to 5".
    pub fn admitted(&self) -> String {
        if self.fewest == self.most {
            self.most.to_string()
        } else {
            format!("{} to {}", self.fewest, self.most)
        }
    }
}

const OPEN_FOR: Duration = Duration::from_millis(5);

/// Lets `threads` callers run into the deadline together, `rounds` times. Callers that are let through stay
/// until all are decided.
pub fn storm<C: Contestant>(threads: usize, rounds: usize) -> Storm {
    let mut admitted = Vec::new();
    let mut times = Vec::new();
    for _ in 0..rounds {
        let breaker = C::tripped(Rules {
            failures: 3,
            open_for: OPEN_FOR,
        });
        thread::sleep(OPEN_FOR * 2);
        let (inside, took) = one(&breaker, threads);
        admitted.push(inside);
        times.extend(took);
    }
    Storm {
        fewest: admitted.iter().copied().min().unwrap_or(0),
        most: admitted.iter().copied().max().unwrap_or(0),
        decided: Figure::of(times),
    }
}

fn one<C: Contestant>(breaker: &C, threads: usize) -> (usize, Vec<f64>) {
    let (ready, decided) = (&AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let calls = thread::scope(|scope| {
        let calls: Vec<_> = (0..threads)
            .map(|_| {
                let decided = decided.clone();
                scope.spawn(move || {
                    let mut caller = breaker.caller();
                    arrive_and_wait(ready, threads);
                    call(&mut caller, &decided, threads)
                })
            })
            .collect();
        calls
            .into_iter()
            .map(|call| call.join().expect("no panic"))
            .collect::<Vec<_>>()
    });
    let inside = calls
        .iter()
        .filter(|(was_admitted, _)| *was_admitted)
        .count();
    (inside, calls.into_iter().map(|(_, took)| took).collect())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
fn call(caller: &mut impl Caller, decided: &Arc<AtomicUsize>, threads: usize) -> (bool, f64) {
    let (sender, entered) = std::sync::mpsc::sync_channel(1);
    let here = decided.clone();
    let begin = Instant::now();
    let answer = caller.call(move || {
        let now = Instant::now();
        arrive_and_wait(&here, threads);
        sender.send(now).expect("the caller listens");
        Ok(1)
    });
    let rejected = Instant::now();
    let end = if answer == Answer::Rejected {
        decided.fetch_add(1, Ordering::AcqRel);
        rejected
    } else {
        entered.recv().expect("the operation ran")
    };
    (answer != Answer::Rejected, (end - begin).as_nanos() as f64)
}

fn arrive_and_wait(arrived: &AtomicUsize, all: usize) {
    arrived.fetch_add(1, Ordering::AcqRel);
    while arrived.load(Ordering::Acquire) < all {
        // There may be more threads than cores.
        thread::yield_now();
    }
}
