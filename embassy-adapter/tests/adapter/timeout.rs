// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls with a time limit.

use std::cell::{Cell, RefCell};
use std::future::{PollFn, pending, poll_fn};
use std::task::{Context, Poll};

use atomic_breaker_embassy::{
    Breaker, CallError, EmbassyClock, EmbassyTimer, Failure, Outcome, Retry, State, TimeLimit,
    Timed,
    wait::{self, Limit, WithTimer},
};
use embassy_time::{Duration, Timer, with_timeout};

use super::sim::{RULES, Sim, breaker};

const LIMIT: Duration = Duration::from_millis(50);

type Answer = Result<u32, CallError<Timed<&'static str>>>;

/// An operation that takes that long.
async fn takes(ms: u64, result: Result<u32, &'static str>) -> Result<u32, &'static str> {
    Timer::after_millis(ms).await;
    result
}

#[test]
fn a_call_in_time_is_like_any_other() {
    let breaker = breaker(RULES);
    for (result, answer, failures) in [
        (Err("no"), Err(CallError::Failed(Timed::Failed("no"))), 1),
        (Ok(7), Ok(7), 0),
    ] {
        let got = RefCell::new(None::<Answer>);
        let took = Sim::new().run(async {
            let call = breaker.call_timeout(LIMIT, || takes(49, result));
            *got.borrow_mut() = Some(call.await);
        });
        assert_eq!(took, 49);
        assert_eq!(got.take(), Some(answer));
        assert_eq!(breaker.snapshot().failures(), failures);
    }
}

#[test]
fn a_call_that_takes_too_long_fails_and_is_dropped() {
    struct Dropped<'a>(&'a Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let breaker = breaker(RULES);
    let (dropped, got) = (Cell::new(false), RefCell::new(None::<Answer>));
    let took = Sim::new().run(async {
        let hangs = || async {
            let _guard = Dropped(&dropped);
            pending().await
        };
        *got.borrow_mut() = Some(breaker.call_timeout(LIMIT, hangs).await);
        assert!(dropped.get());
    });
    assert_eq!(took, 50);
    assert_eq!(got.take(), Some(Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(breaker.snapshot().failures(), 1);
}

#[test]
fn a_timeout_has_the_weight_that_the_limit_says() {
    let breaker = breaker(RULES);
    let limit = TimeLimit::new(LIMIT.into()).counting_as(Failure::with_weight(3));
    Sim::new().run(async {
        let _ = breaker.call_timeout(limit, || takes(60, Ok(1))).await;
    });
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_classifier_decides_about_timeouts_too() {
    let breaker = breaker(RULES);
    let classify = |result: &Result<u32, Timed<&str>>| match result {
        Err(Timed::TimedOut) => Outcome::Ignored,
        _ => Outcome::Success,
    };
    Sim::new().run(async {
        for _ in 0..5 {
            let call = breaker.call_timeout_with(classify, LIMIT, || takes(60, Ok(1)));
            assert_eq!(call.await, Err(CallError::Failed(Timed::TimedOut)));
        }
    });
    assert_eq!(breaker.snapshot().failures(), 0);
}

#[test]
fn a_rejected_call_does_not_begin() {
    let breaker = breaker(RULES);
    let mut sim = Sim::new();
    breaker.trip();
    let took = sim.run(async {
        let call = breaker.call_timeout(LIMIT, || async { unreachable!("rejected") });
        let rejected: Answer = call.await;
        assert!(matches!(rejected, Err(CallError::Rejected(_))));
    });
    assert_eq!(took, 0);
}

#[test]
fn a_probe_that_is_dropped_while_it_runs_gives_its_slot_back() {
    let breaker = breaker(RULES);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.spawn(async {
        let _ = breaker.call_timeout(LIMIT, || takes(60, Ok(1))).await;
    });
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    sim.drop_last();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    assert_eq!(
        breaker.state(),
        State::HalfOpen,
        "neither failed nor succeeded"
    );
}

/// An error that has another one as its cause.
#[derive(Debug)]
pub(crate) struct Wrapped(pub(crate) std::num::ParseIntError);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn errors_say_what_happened_and_keep_the_chain() {
    use std::error::Error as _;
    let error: Timed<Wrapped> = Timed::TimedOut;
    assert_eq!(error.to_string(), "timed out");
    assert!(error.source().is_none());
    let inner = "x".parse::<u8>().unwrap_err();
    let failed = Timed::Failed(Wrapped(inner.clone()));
    assert_eq!(failed.to_string(), "wrapped");
    assert_eq!(failed.source().unwrap().to_string(), inner.to_string());
}

#[test]
fn a_limit_without_end_is_no_limit() {
    for limit in [TimeLimit::NONE, core::time::Duration::MAX.into()] {
        assert_eq!(takes_without_end(limit), 3_000);
    }
    assert_eq!(takes_without_end(Duration::MAX), 3_000);
    assert_eq!(takes_without_end(Duration::from_ticks(u64::MAX - 1)), 3_000);
    assert_eq!(
        takes_without_end(core::time::Duration::from_secs(u64::MAX / 1_000)),
        3_000
    );
}

#[test]
fn a_limit_of_over_136_years_is_no_limit() {
    let limit = |secs| Limit::<EmbassyTimer>::time_limit(Duration::from_secs(secs)).duration();
    let longest = u64::from(u32::MAX);
    assert_eq!(
        limit(longest),
        Some(core::time::Duration::from_secs(longest))
    );
    assert_eq!(limit(longest + 1), None);
}

#[test]
fn a_call_without_a_limit_needs_no_timer() {
    #[derive(Clone)]
    struct NoTimer;
    impl wait::Timer for NoTimer {
        type Sleep = PollFn<fn(&mut Context<'_>) -> Poll<()>>;
        fn now_ms(&self) -> u64 {
            0
        }
        fn sleep(&self, _: u64) -> Self::Sleep {
            poll_fn(|_| unreachable!("no task sleeps"))
        }
    }
    let breaker = Breaker::new(
        RULES,
        WithTimer {
            clock: EmbassyClock,
            timer: NoTimer,
        },
    );
    Sim::new().run(async {
        let call = breaker.call_timeout(TimeLimit::NONE, || takes(9, Ok(1)));
        assert_eq!(call.await, Ok(1));
    });
}

fn takes_without_end(limit: impl Limit<EmbassyTimer>) -> u64 {
    let breaker = breaker(RULES);
    Sim::new().run(async {
        let call = breaker.call_timeout(limit, || takes(3_000, Ok(1)));
        assert_eq!(call.await, Ok(1));
    })
}

#[test]
fn an_answer_that_comes_with_the_limit_is_in_time() {
    let breaker = breaker(RULES);
    Sim::new().run(async {
        let call = breaker.call_timeout(LIMIT, || takes(50, Ok(1)));
        assert_eq!(call.await, Ok(1));
    });
}

#[test]
fn durations_of_embassy_and_of_core_are_limits_of_the_same_length() {
    let breaker = breaker(RULES);
    let took = Sim::new().run(async {
        let core = core::time::Duration::from_micros(19_500);
        let _ = breaker.call_timeout(core, || takes(100, Ok(1))).await;
        let _ = breaker
            .call_timeout(Duration::from_micros(19_500), || takes(100, Ok(1)))
            .await;
        let _ = breaker
            .call_timeout(Duration::from_millis(20), || takes(100, Ok(1)))
            .await;
    });
    assert_eq!(took, 60);
}

#[test]
fn a_hang_trips_with_call_timeout_and_not_with_a_timeout_around_the_call() {
    let hangs = || pending::<Result<(), ()>>();
    let (inside, around) = (breaker(RULES), breaker(RULES));
    Sim::new().run(async {
        for _ in 0..50 {
            let _ = inside.call_timeout(LIMIT, hangs).await;
            let _ = with_timeout(LIMIT, around.call_async(hangs)).await;
        }
    });
    assert_eq!(inside.state(), State::Open);
    assert_eq!(
        around.state(),
        State::Closed,
        "the price that the docs state"
    );
}

#[test]
fn a_panic_counts_as_a_failure_and_gives_the_slot_back() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let breaker = breaker(RULES);
    let run = || {
        Sim::new().run(async {
            let panics = || async { panic!("a bug") };
            let _: Answer = breaker.call_timeout(LIMIT, panics).await;
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert_eq!(breaker.snapshot().failures(), 1);
    breaker.force_open();
    breaker.release();
    assert_eq!(breaker.state(), State::HalfOpen);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, 1));
}

#[test]
fn a_device_that_is_borrowed_mutably_can_be_called() {
    struct Device(u32);
    impl Device {
        async fn read(&mut self) -> Result<u32, ()> {
            Timer::after_millis(1).await;
            self.0 += 1;
            Ok(self.0)
        }
    }
    let breaker = breaker(RULES);
    let mut device = Device(0);
    Sim::new().run(async {
        for calls in [1, 2] {
            let read = breaker.call_timeout(LIMIT, async || device.read().await);
            assert_eq!(read.await, Ok(calls * 2 - 1));
            let read = breaker.call_timeout(LIMIT, || device.read());
            assert_eq!(read.await, Ok(calls * 2));
        }
    });
}

/// A future of 1 KiB.
async fn big() -> Result<u8, ()> {
    let bytes = [1_u8; 1024];
    Timer::after_millis(1).await;
    Ok(std::hint::black_box(&bytes)[5])
}

#[test]
fn a_time_limit_takes_little_memory_beside_the_future() {
    let breaker = breaker(RULES);
    let bare = size_of_val(&big());
    let made_inside = size_of_val(&breaker.call_timeout(LIMIT, big));
    assert!(made_inside <= bare + 160, "{made_inside} for {bare}");
    // What is moved in is stored twice: where it came in, and where it runs.
    let moved = big();
    let moved_in = size_of_val(&breaker.call_timeout(LIMIT, move || moved));
    assert!(moved_in <= 2 * bare + 160, "{moved_in} for {bare}");
    let tried = size_of_val(&breaker.retry(Retry::new(), big));
    assert!(tried <= bare + 350, "{tried} for {bare}");
    let slept = size_of_val(&breaker.acquire_when_ready());
    println!(
        "{bare} bytes: {made_inside} made inside, {moved_in} moved in, {tried} retried; acquire {slept}"
    );
    assert!(slept <= 250, "{slept}");
}
