// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promise of the orderings: a caller's writes before a report that changed the word are visible to every
//! caller that is rejected, probes or reports because of it. And the controls: with weaker orderings the same
//! models fail.

use std::sync::Arc as Plain;
use std::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Config, ManualClock, Observer, Permit, State, Transition};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::memory::{Deaf, LoomWord};
use super::{bounded, model};

const SECOND: Duration = Duration::from_secs(1);

/// A breaker with a cell beside it that only the breaker's word orders, such as an adapter's cell for the last
/// error: it is relaxed itself, so that loom shows every value that the orderings allow.
struct Adapter<W: Word> {
    breaker: Breaker<ManualClock, W>,
    last_error: AtomicU32,
}

impl<W: Word> Adapter<W> {
    fn keep(&self) {
        self.last_error.store(7, Ordering::Relaxed);
    }

    fn look(&self) {
        let error = self.last_error.load(Ordering::Relaxed);
        assert_eq!(error, 7, "the error is there");
    }
}

fn adapter<W: Word>(word: W, config: Config) -> Arc<Adapter<W>> {
    Arc::new(Adapter {
        breaker: Breaker::over(word, config, ManualClock::new()),
        last_error: AtomicU32::new(0),
    })
}

fn tripping() -> Config {
    Config::new().consecutive_failures(1).open_for(SECOND)
}

/// One caller keeps its error and trips; another, if rejected, reads the error.
fn a_rejected_caller_sees_the_error<W: Word + Send + Sync + 'static>(word: W) {
    let adapter = adapter(word, tripping());
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        let permit = other.breaker.acquire().unwrap();
        other.keep();
        permit.failure();
    });
    if adapter.breaker.acquire().is_err() {
        adapter.look();
    }
    failing.join().unwrap();
}

/// One caller keeps its error and trips for no time at all; another, if it probes, reads the error.
fn a_probe_sees_the_error<W: Word + Send + Sync + 'static>(word: W) {
    let adapter = adapter(word, tripping().open_for(Duration::ZERO));
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        let permit = other.breaker.acquire().unwrap();
        other.keep();
        permit.failure();
    });
    if adapter.breaker.acquire().unwrap().is_probe() {
        adapter.look();
    }
    failing.join().unwrap();
}

/// At the deadline one caller probes, keeps its error and fails. Another one, which wanted to probe too, loses
/// the exchange, and is rejected because of the failure: only the exchange tells it.
fn a_caller_whose_exchange_was_lost_sees_the_error<W: Word + Send + Sync + 'static>(word: W) {
    let adapter = adapter(word, tripping());
    adapter.breaker.trip();
    adapter.breaker.clock().advance(SECOND);
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        if let Ok(probe) = other.breaker.acquire() {
            other.keep();
            probe.failure();
        }
    });
    match adapter.breaker.acquire() {
        Ok(probe) => drop(probe.into_token()),
        Err(rejected) if rejected.state() == State::Open => adapter.look(),
        Err(_) => {}
    }
    failing.join().unwrap();
}

/// One probe keeps something and succeeds; the next one, which gets its slot, reads it.
fn the_next_probe_sees_what_the_last_one_did<W: Word + Send + Sync + 'static>(word: W) {
    let adapter = adapter(word, tripping().close_after(2));
    adapter.breaker.trip();
    adapter.breaker.clock().advance(SECOND);
    let probe = adapter.breaker.acquire().unwrap().into_token();
    let other = adapter.clone();
    let succeeding = thread::spawn(move || {
        other.keep();
        other.breaker.resume(probe).success();
    });
    if adapter.breaker.acquire().map(Permit::into_token).is_ok() {
        adapter.look();
    }
    succeeding.join().unwrap();
}

/// Reads, when notified of the trip, the errors that the callers kept before their failures were counted.
#[derive(Clone)]
struct Looks(Plain<Vec<AtomicU32>>);

impl Observer for Looks {
    fn transition(&self, _transition: &Transition) {
        for error in self.0.iter() {
            let error = error.load(Ordering::Relaxed);
            assert_eq!(error, 7, "the error is there");
        }
    }
}

/// Each caller keeps its error and fails; the report that trips reads them all.
fn the_report_that_trips_sees_every_error<W: Word + Send + Sync + 'static>(word: W, callers: u32) {
    let errors = Plain::new((0..callers).map(|_| AtomicU32::new(0)).collect());
    let config = Config::new().consecutive_failures(callers);
    let breaker = Breaker::builder(config, ManualClock::new())
        .word(word)
        .observer(Looks(errors))
        .build();
    let breaker = Arc::new(breaker);
    let fail = |breaker: &Breaker<ManualClock, W, (), Looks>, caller: usize| {
        let permit = breaker.acquire().unwrap();
        breaker.observer().0[caller].store(7, Ordering::Relaxed);
        permit.failure();
    };
    let others: Vec<_> = (1..callers as usize)
        .map(|caller| {
            let breaker = breaker.clone();
            thread::spawn(move || fail(&breaker, caller))
        })
        .collect();
    fail(&breaker, 0);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn writes_before_a_trip_are_visible_to_rejected_callers() {
    model("error before rejection", || {
        a_rejected_caller_sees_the_error(LoomWord::new());
    });
}

#[test]
fn writes_before_a_trip_are_visible_to_the_probe() {
    model("error before probe", || {
        a_probe_sees_the_error(LoomWord::new());
    });
}

#[test]
fn writes_before_a_trip_are_visible_to_a_caller_that_lost_the_exchange_and_is_rejected() {
    model("error before lost exchange", || {
        a_caller_whose_exchange_was_lost_sees_the_error(LoomWord::new());
    });
}

#[test]
fn writes_before_a_probe_succeeded_are_visible_to_the_next_probe() {
    model("probe before probe", || {
        the_next_probe_sees_what_the_last_one_did(LoomWord::new());
    });
}

#[test]
fn writes_before_failures_were_counted_are_visible_to_the_report_that_trips() {
    model("errors before the trip, two callers", || {
        the_report_that_trips_sees_every_error(LoomWord::new(), 2);
    });
    // The first is visible to the third through the second. Bounded, as there are too many orders.
    bounded("errors before the trip, three callers", Some(2), || {
        the_report_that_trips_sees_every_error(LoomWord::new(), 3);
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_error_to_the_rejected() {
    model("control", || {
        a_rejected_caller_sees_the_error(Deaf::relaxed());
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn a_relaxed_load_would_not_show_the_error_to_the_rejected() {
    model("control", || {
        a_rejected_caller_sees_the_error(Deaf::with(
            Ordering::Relaxed,
            Ordering::AcqRel,
            Ordering::Acquire,
        ));
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn an_exchange_that_does_not_release_would_not_show_the_error_to_the_rejected() {
    model("control", || {
        a_rejected_caller_sees_the_error(Deaf::with(
            Ordering::Acquire,
            Ordering::Acquire,
            Ordering::Acquire,
        ));
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_error_to_the_probe() {
    model("control", || {
        a_probe_sees_the_error(Deaf::relaxed());
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn a_lost_exchange_that_does_not_acquire_would_not_show_the_error_to_the_rejected() {
    model("control", || {
        a_caller_whose_exchange_was_lost_sees_the_error(Deaf::with(
            Ordering::Acquire,
            Ordering::AcqRel,
            Ordering::Relaxed,
        ));
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_next_probe_what_the_last_one_did() {
    model("control", || {
        the_next_probe_sees_what_the_last_one_did(Deaf::relaxed());
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_errors_to_the_report_that_trips() {
    model("control", || {
        the_report_that_trips_sees_every_error(Deaf::relaxed(), 2);
    });
}
