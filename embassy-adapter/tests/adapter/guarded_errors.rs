// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts and outcomes of guarded devices' errors, and the debug output of guards.
#![cfg(feature = "embedded-hal")]

use std::error::Error as _;

use atomic_breaker_embassy::{Breaker, GuardedError, GuardedI2c, State};
use embassy_time::Duration;
use embedded_hal_async::i2c::{ErrorKind, ErrorType, I2c, Operation};

use super::sim::{RULES, Sim, at_once, breaker};
use super::timeout::Wrapped;

#[test]
fn errors_say_what_happened_and_keep_the_chain() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    breaker.trip();
    let rejected = breaker.acquire().unwrap_err();
    let error = GuardedError::<Wrapped>::Rejected(rejected);
    assert_eq!(error.to_string(), rejected.to_string());
    assert!(error.source().is_none());
    let error = GuardedError::<Wrapped>::TimedOut;
    assert_eq!(error.to_string(), "timed out");
    assert!(error.source().is_none());
    let inner = "x".parse::<u8>().unwrap_err();
    let error = GuardedError::Device(Wrapped(inner.clone()));
    assert_eq!(error.to_string(), "wrapped");
    assert_eq!(error.source().unwrap().to_string(), inner.to_string());
}

/// A bus on which another controller always wins.
#[derive(Debug)]
struct Contended;

impl ErrorType for Contended {
    type Error = ErrorKind;
}

impl I2c for Contended {
    async fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
        Err(ErrorKind::ArbitrationLoss)
    }
}

fn is_left_alone(mut bus: impl I2c<Error = GuardedError<ErrorKind>>, breaker: &Breaker) {
    for _ in 0..10 {
        let lost = Err(GuardedError::Device(ErrorKind::ArbitrationLoss));
        assert_eq!(at_once(bus.write(0x48, &[0])), lost);
    }
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.failures()), (State::Closed, 0));
}

#[test]
fn a_guard_that_repairs_asks_the_classifier_about_errors_of_operations() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let bus = GuardedI2c::new(Contended, &breaker);
    is_left_alone(bus.before_probe(|_, _| Ok(())), &breaker);
    let bus = GuardedI2c::new(Contended, &breaker);
    let limit = Duration::from_millis(300);
    is_left_alone(bus.before_probe_async(limit, async |_, _| Ok(())), &breaker);
}

#[test]
fn what_is_printed_of_a_guard_names_its_device_and_how_it_repairs() {
    let breaker = breaker(RULES);
    let guarded = || GuardedI2c::new(Contended, &breaker);
    let blocking = format!("{:?}", guarded().before_probe(|_, _| Ok(())));
    let limit = Duration::from_millis(300);
    let waiting = guarded().before_probe_async(limit, async |_, _| Ok(()));
    let waiting = format!("{waiting:?}");
    assert!(
        blocking.starts_with("Guarded { device: Device { driver: Contended,"),
        "{blocking}"
    );
    assert!(blocking.contains(" repair: BeforeProbe }"), "{blocking}");
    assert!(waiting.contains(" repair: BeforeProbeAsync }"), "{waiting}");
}
