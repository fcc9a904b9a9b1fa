// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles of size zero do all that a reference to a breaker does.

use std::cell::Cell;
use std::future::pending;

use atomic_breaker_embassy::{
    AnyBreaker, Breaker, CallError, EmbassyClock, Permit, Prober, Retry, State, Timed,
    static_breaker,
};
use core::time::Duration;

use super::sim::{RULES, Sim, Times, Watch, now};
use atomic_breaker_embassy::word::NativeWord;

const LIMIT: Duration = Duration::from_millis(200);

#[test]
fn a_handle_has_no_size_and_neither_has_a_guard_around_nothing() {
    static_breaker! {
        struct Radio: Breaker = Breaker::builder(RULES, EmbassyClock);
    }
    assert_eq!(
        (size_of::<Radio>(), size_of_val(Radio.as_breaker())),
        (0, 0)
    );
    assert!(size_of::<Permit<Radio>>() <= size_of::<Permit<&Radio>>());
    assert_eq!(
        format!("{Radio:?}"),
        format!("{:?}", Breaker::new(RULES, EmbassyClock))
    );
}

#[test]
fn a_handle_calls_with_a_time_limit_and_retries_until_the_radio_is_back() {
    static_breaker! {
        struct Radio: Breaker = Breaker::builder(RULES, EmbassyClock);
    }
    const BACK: u64 = 5_000;
    let got = Cell::new(None);
    let tried = Times::default();
    Sim::new().run(async {
        for _ in 0..3 {
            let hung = Radio.call_timeout(LIMIT, pending::<Result<(), ()>>).await;
            assert_eq!(hung, Err(CallError::Failed(Timed::TimedOut)));
        }
        let rejected = Radio.call_async(async || Ok::<_, ()>(())).await;
        assert!(matches!(rejected, Err(CallError::Rejected(_))));
        let send = async || {
            tried.mark();
            if now() < BACK {
                pending::<()>().await;
            }
            Ok::<_, ()>(7)
        };
        let policy = Retry::new().try_limit(LIMIT).tries(100);
        let policy = policy.wait_for_breaker(Duration::MAX);
        got.set(Some(Radio.retry(policy, send).await));
    });
    assert_eq!(got.take(), Some(Ok(7)));
    assert!((2..10).contains(&tried.len()), "{:?}", tried.all());
    assert_eq!(Radio.state(), State::Closed);
}

#[test]
fn tasks_wait_for_a_handle_and_its_observer_wakes_them() {
    static STATE: Watch<4> = Watch::new();
    static_breaker! {
        struct Radio: Breaker<EmbassyClock, NativeWord, (), &'static Watch<4>> =
            Breaker::builder(RULES, EmbassyClock).observer(&STATE);
    }
    let times = Times::default();
    let mut sim = Sim::new();
    Radio.force_open();
    sim.spawn(async {
        Radio.ready().await;
        times.mark();
        // Owned: it needs no memory for the handle's address.
        let permit = Permit::acquire_when_ready(Radio).await;
        permit.success();
        Permit::acquire(Radio).unwrap().success();
        times.mark();
    });
    sim.pass(500);
    assert_eq!(times.len(), 0);
    Radio.reset();
    // Waiters spread over an eighth of the time for which they waited.
    sim.pass(100);
    assert_eq!(times.len(), 2);
    assert_eq!(STATE.last().map(|last| last.to), Some(State::Closed));
}

#[test]
fn a_prober_closes_the_breaker_of_a_handle() {
    static_breaker! {
        struct Radio: Breaker =
            Breaker::builder(RULES.open_for(Duration::from_secs(600)), EmbassyClock);
    }
    let prober = Prober::every(Duration::from_secs(5));
    let mut sim = Sim::new();
    Radio.trip();
    sim.spawn(async {
        Radio.run_prober(prober, async || Ok::<_, ()>(())).await;
    });
    sim.pass(6_000);
    assert_eq!(Radio.state(), State::Closed);
}

#[cfg(feature = "embedded-hal")]
#[test]
fn a_guard_holds_a_handle_without_taking_memory_for_it() {
    use atomic_breaker_embassy::{GuardedError, GuardedI2c};
    use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, Operation};

    struct Silent;
    impl ErrorType for Silent {
        type Error = ErrorKind;
    }
    impl I2c for Silent {
        fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
            Err(ErrorKind::Bus)
        }
    }
    static_breaker! {
        struct Sensor: Breaker = Breaker::builder(RULES, EmbassyClock);
    }
    static SENSOR: Breaker = Breaker::new(RULES, EmbassyClock);
    let _time = Sim::new();
    let mut bus = GuardedI2c::new(Silent, Sensor);
    let by_reference = GuardedI2c::new(Silent, &SENSOR);
    assert_eq!(
        size_of_val(&bus) + size_of::<usize>(),
        size_of_val(&by_reference)
    );
    for _ in 0..3 {
        assert_eq!(bus.write(1, &[]), Err(GuardedError::Device(ErrorKind::Bus)));
    }
    assert!(matches!(bus.write(1, &[]), Err(GuardedError::Rejected(_))));
    assert_eq!(Sensor.state(), State::Open);
}
