// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of a repair, which is not part of the operation behind it.
#![cfg(feature = "embedded-hal")]

use core::time::Duration;

use atomic_breaker_embassy::{Config, GuardedI2c, State};
use embassy_time::{MockDriver, Timer};
use embedded_hal::i2c::{self, ErrorKind};
use embedded_hal_async::i2c::I2c;

use super::sim::{RULES, Sim, breaker};

const SLOW: Config = RULES.slow_call(Duration::from_millis(50));
const LIMIT: Duration = Duration::from_millis(100);

/// Longer than an operation may take.
const REPAIR_MS: u64 = 120;

/// Fails until it is repaired.
#[derive(Default)]
struct Sensor {
    is_well: bool,
    repairs: u32,
    takes_ms: u64,
}

impl Sensor {
    fn taking(takes_ms: u64) -> Self {
        Self {
            takes_ms,
            ..Self::default()
        }
    }

    fn repair(&mut self) {
        self.is_well = true;
        self.repairs += 1;
    }

    fn answer(&self) -> Result<(), ErrorKind> {
        self.is_well.then_some(()).ok_or(ErrorKind::Bus)
    }
}

impl i2c::ErrorType for Sensor {
    type Error = ErrorKind;
}

impl i2c::I2c for Sensor {
    fn transaction(&mut self, _: u8, _: &mut [i2c::Operation<'_>]) -> Result<(), ErrorKind> {
        block_for(self.takes_ms);
        self.answer()
    }
}

impl I2c for Sensor {
    async fn transaction(&mut self, _: u8, _: &mut [i2c::Operation<'_>]) -> Result<(), ErrorKind> {
        Timer::after_millis(self.takes_ms).await;
        self.answer()
    }
}

fn block_for(ms: u64) {
    MockDriver::get().advance(embassy_time::Duration::from_millis(ms));
}

#[expect(clippy::unnecessary_wraps, reason = "as repairs are")]
fn repair_blocking(sensor: &mut Sensor, _: u8) -> Result<(), ErrorKind> {
    block_for(REPAIR_MS);
    sensor.repair();
    Ok(())
}

async fn repair_waiting(sensor: &mut Sensor, _: u8) -> Result<(), ErrorKind> {
    Timer::after_millis(REPAIR_MS).await;
    sensor.repair();
    Ok(())
}

/// A reading a second.
async fn read_for_ten_seconds(bus: &mut impl I2c) {
    for _ in 0..10 {
        let _ = bus.read(0x48, &mut [0]).await;
        Timer::after_secs(1).await;
    }
}

#[test]
fn a_repair_that_blocks_takes_nothing_of_the_limit_of_an_operation() {
    let breaker = breaker(RULES);
    let bus = GuardedI2c::new(Sensor::taking(5), &breaker).time_limit(LIMIT);
    let mut bus = bus.before_probe(repair_blocking);
    Sim::new().run(read_for_ten_seconds(&mut bus));
    assert_eq!((bus.device().repairs, breaker.state()), (1, State::Closed));
}

#[test]
fn a_probe_is_not_slow_because_it_was_repaired_first() {
    let breaker = breaker(SLOW);
    let bus = GuardedI2c::new(Sensor::taking(5), &breaker).time_limit(LIMIT);
    let mut bus = bus.before_probe_async(2 * LIMIT, repair_waiting);
    Sim::new().run(read_for_ten_seconds(&mut bus));
    assert_eq!((bus.device().repairs, breaker.state()), (1, State::Closed));

    breaker.reset();
    let mut bus = GuardedI2c::new(Sensor::taking(5), &breaker).before_probe(repair_blocking);
    Sim::new().run(read_for_ten_seconds(&mut bus));
    assert_eq!((bus.device().repairs, breaker.state()), (1, State::Closed));

    breaker.reset();
    bus.device().is_well = false;
    let mut sim = Sim::new();
    for _ in 0..10 {
        let _ = i2c::I2c::read(&mut bus, 0x48, &mut [0]);
        sim.pass(1_000);
    }
    assert_eq!((bus.device().repairs, breaker.state()), (2, State::Closed));
}

#[test]
fn a_probe_that_is_slow_after_its_repair_has_failed() {
    for is_async in [true, false] {
        let breaker = breaker(SLOW);
        let mut sim = Sim::new();
        breaker.trip();
        sim.pass(1_000);
        let bus = GuardedI2c::new(Sensor::taking(60), &breaker).time_limit(LIMIT);
        if is_async {
            let mut bus = bus.before_probe_async(2 * LIMIT, repair_waiting);
            sim.run(async move { assert_eq!(bus.read(0x48, &mut [0]).await, Ok(())) });
        } else {
            let mut bus = bus.before_probe(repair_blocking);
            assert_eq!(i2c::I2c::read(&mut bus, 0x48, &mut [0]), Ok(()));
        }
        assert_eq!(
            (breaker.state(), breaker.snapshot().trips()),
            (State::Open, 2)
        );
    }
}
