//! The promise of the orderings: what a caller did before a report that changed the word is visible
//! to whoever is refused, probes or reports because of it. And the control: with relaxed orderings
//! alone the same models fail, so they can.

use std::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Config, ManualClock};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::memory::{LoomWord, RelaxedWord};
use super::model;

/// A breaker with a cell beside it that only the breaker's word orders, as an adapter would keep the
/// last error in: relaxed itself, so that loom shows every value that the orderings allow.
struct Adapter<W> {
    breaker: Breaker<ManualClock, W>,
    last_error: AtomicU32,
}

fn adapter<W: Word<Bits = u64>>(word: W, open_for: Duration) -> Arc<Adapter<W>> {
    let config = Config::new().consecutive_failures(1).open_for(open_for);
    Arc::new(Adapter {
        breaker: Breaker::over(word, config, ManualClock::new()),
        last_error: AtomicU32::new(0),
    })
}

/// One caller keeps its error and trips; another, if refused, reads the error.
fn a_refused_caller_sees_the_error<W: Word<Bits = u64> + 'static>(word: W) {
    let adapter = adapter(word, Duration::from_secs(1));
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        let permit = other.breaker.acquire().unwrap();
        other.last_error.store(7, Ordering::Relaxed);
        permit.failure();
    });
    if adapter.breaker.acquire().is_err() {
        assert_eq!(
            adapter.last_error.load(Ordering::Relaxed),
            7,
            "the error is there"
        );
    }
    failing.join().unwrap();
}

/// One caller keeps its error and trips for no time at all; another, if it probes, reads the error.
fn a_probe_sees_the_error<W: Word<Bits = u64> + 'static>(word: W) {
    let adapter = adapter(word, Duration::ZERO);
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        let permit = other.breaker.acquire().unwrap();
        other.last_error.store(7, Ordering::Relaxed);
        permit.failure();
    });
    if adapter.breaker.acquire().unwrap().is_probe() {
        assert_eq!(
            adapter.last_error.load(Ordering::Relaxed),
            7,
            "the error is there"
        );
    }
    failing.join().unwrap();
}

/// Two callers fail in turn; the one whose report trips after the other's was counted reads what the
/// other kept.
fn a_tripping_report_sees_what_was_counted<W: Word<Bits = u64> + 'static>(word: W) {
    let config = Config::new().consecutive_failures(2);
    let adapter = Arc::new(Adapter {
        breaker: Breaker::over(word, config, ManualClock::new()),
        last_error: AtomicU32::new(0),
    });
    let other = adapter.clone();
    let failing = thread::spawn(move || {
        let permit = other.breaker.acquire().unwrap();
        other.last_error.store(7, Ordering::Relaxed);
        permit.failure();
    });
    // Closed with one failure counted: the success that clears it sees the error behind it.
    let failures = adapter.breaker.snapshot().failures();
    if failures == 1 {
        assert_eq!(
            adapter.last_error.load(Ordering::Relaxed),
            7,
            "the error is there"
        );
    }
    failing.join().unwrap();
}

#[test]
fn what_was_done_before_a_trip_is_visible_to_the_refused() {
    model("error before refusal", || {
        a_refused_caller_sees_the_error(LoomWord::new());
    });
}

#[test]
fn what_was_done_before_a_trip_is_visible_to_the_probe() {
    model("error before probe", || {
        a_probe_sees_the_error(LoomWord::new())
    });
}

#[test]
fn what_was_done_before_a_failure_was_counted_is_visible_to_who_sees_the_count() {
    model("error before count", || {
        a_tripping_report_sees_what_was_counted(LoomWord::new());
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_error_to_the_refused() {
    model("control", || {
        a_refused_caller_sees_the_error(RelaxedWord(LoomWord::new()));
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_error_to_the_probe() {
    model("control", || {
        a_probe_sees_the_error(RelaxedWord(LoomWord::new()))
    });
}

#[test]
#[should_panic(expected = "the error is there")]
fn relaxed_orderings_would_not_show_the_error_to_who_sees_the_count() {
    model("control", || {
        a_tripping_report_sees_what_was_counted(RelaxedWord(LoomWord::new()));
    });
}
