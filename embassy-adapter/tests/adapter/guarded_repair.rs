// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guards that repair their device before a probe.
#![cfg(feature = "embedded-hal")]

use std::cell::Cell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};

use atomic_breaker_embassy::{GuardedError, GuardedI2c, State};
use embassy_time::{Duration, Timer};
use embedded_hal::i2c::{self, ErrorKind, I2c, NoAcknowledgeSource};

use super::sim::{RULES, Sim, at_once, breaker};

const NACK: ErrorKind = ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address);

/// Answers only after it has been repaired by this rung, and hangs or fails until then.
#[derive(Default)]
struct Sensor {
    healed_by: u8,
    is_well: bool,
    hangs: bool,
    reached: u32,
    rungs: Vec<u8>,
}

impl Sensor {
    fn healed_by(rung: u8) -> Self {
        Self {
            healed_by: rung,
            ..Self::default()
        }
    }

    fn repair(&mut self, rung: u8) {
        self.rungs.push(rung);
        self.is_well = rung >= self.healed_by;
    }
}

impl i2c::ErrorType for Sensor {
    type Error = ErrorKind;
}

impl I2c for Sensor {
    fn transaction(&mut self, _: u8, _: &mut [i2c::Operation<'_>]) -> Result<(), ErrorKind> {
        self.reached += 1;
        if self.is_well { Ok(()) } else { Err(NACK) }
    }
}

impl embedded_hal_async::i2c::I2c for Sensor {
    async fn transaction(
        &mut self,
        address: u8,
        operations: &mut [i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        if self.hangs && !self.is_well {
            return pending().await;
        }
        I2c::transaction(self, address, operations)
    }
}

/// A driver that knows nothing about breakers.
fn temperature(bus: &mut impl I2c) -> bool {
    bus.write_read(0x48, &[0], &mut [0; 2]).is_ok()
}

#[test]
fn each_probe_repairs_a_step_further_and_nothing_that_is_well_is_repaired() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES.exponential(2, core::time::Duration::from_secs(60)));
    let mut sensor = Sensor::healed_by(3);
    sensor.is_well = true;
    let mut bus = GuardedI2c::new(sensor, &breaker).before_probe(|bus, trips| {
        bus.repair(trips);
        Ok(())
    });
    assert!((0..10).all(|_| temperature(&mut bus)));
    bus.device().is_well = false;
    for _ in 0..60 {
        temperature(&mut bus);
        sim.pass(1_000);
    }
    assert_eq!(bus.device().rungs, [1, 2, 3]);
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_repair_that_fails_is_a_failed_probe_and_the_device_is_not_asked() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let sensor = Sensor::healed_by(1);
    let mut bus = GuardedI2c::new(sensor, &breaker).before_probe(|_, _| Err(ErrorKind::Bus));
    breaker.trip();
    sim.pass(1_000);
    let failed = bus.read(0x48, &mut [0]).unwrap_err();
    assert_eq!(failed, GuardedError::Device(ErrorKind::Bus));
    assert_eq!((breaker.state(), bus.device().reached), (State::Open, 0));
    assert_eq!(breaker.snapshot().trips(), 2);
}

/// The classifier ignores such an error of an operation, which would leave the slot to the next probe at once.
#[test]
fn a_repair_fails_whatever_the_classifier_says_of_its_error() {
    let mut sim = Sim::new();
    let lost = ErrorKind::ArbitrationLoss;
    for is_async in [false, true] {
        let breaker = breaker(RULES);
        let bus = GuardedI2c::new(Sensor::healed_by(1), &breaker);
        let mut bus = bus.before_probe(|_, _| Err(lost));
        breaker.trip();
        sim.pass(1_000);
        let failed = if is_async {
            at_once(embedded_hal_async::i2c::I2c::read(&mut bus, 0x48, &mut [0]))
        } else {
            bus.read(0x48, &mut [0])
        };
        assert_eq!(failed, Err(GuardedError::Device(lost)));
        assert_eq!(
            (breaker.state(), breaker.snapshot().trips()),
            (State::Open, 2)
        );
    }
}

#[test]
fn several_probes_of_one_recovery_repair_once() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES.close_after(3));
    let mut bus = GuardedI2c::new(Sensor::healed_by(1), &breaker).before_probe(|bus, trips| {
        bus.repair(trips);
        Ok(())
    });
    breaker.trip();
    sim.pass(1_000);
    assert!((0..2).all(|_| temperature(&mut bus)));
    assert_eq!(
        (breaker.state(), &bus.device().rungs),
        (State::HalfOpen, &vec![1])
    );
    // It fails once more before it is closed.
    bus.device().is_well = false;
    assert!(!temperature(&mut bus));
    sim.pass(1_000);
    assert!((0..3).all(|_| temperature(&mut bus)));
    assert_eq!(
        (breaker.state(), &bus.device().rungs),
        (State::Closed, &vec![1, 2])
    );
    // In the next outage the ladder begins anew.
    breaker.trip();
    sim.pass(1_000);
    assert!(temperature(&mut bus));
    assert_eq!(bus.device().rungs, [1, 2, 1]);
}

#[test]
fn a_repair_that_panics_is_a_failed_probe() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let sensor = Sensor::healed_by(1);
    let mut bus = GuardedI2c::new(sensor, &breaker).before_probe(|_, _| panic!("no such pin"));
    breaker.trip();
    sim.pass(1_000);
    assert!(catch_unwind(AssertUnwindSafe(|| temperature(&mut bus))).is_err());
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );
}

const LIMIT: Duration = Duration::from_millis(20);
const REPAIR_LIMIT: Duration = Duration::from_millis(300);

#[test]
fn a_repair_that_waits_has_time_beside_the_limit_of_operations() {
    use embedded_hal_async::i2c::I2c;
    let breaker = breaker(RULES);
    let mut sensor = Sensor::healed_by(1);
    sensor.hangs = true;
    let repairs = Cell::new(0);
    let repair = async |bus: &mut Sensor, trips| {
        repairs.set(repairs.get() + 1);
        Timer::after_millis(250).await;
        bus.repair(trips);
        Ok(())
    };
    let mut bus = GuardedI2c::new(sensor, &breaker)
        .time_limit(LIMIT)
        .before_probe_async(REPAIR_LIMIT, repair);
    let took = Sim::new().run(async {
        for _ in 0..3 {
            assert_eq!(bus.read(0x48, &mut [0]).await, Err(GuardedError::TimedOut));
        }
        assert_eq!((breaker.state(), repairs.get()), (State::Open, 0));
        Timer::after_millis(1_000).await;
        assert_eq!(bus.read(0x48, &mut [0]).await, Ok(()));
        assert_eq!(bus.read(0x48, &mut [0]).await, Ok(()));
    });
    // Three limits, the open time and the repair.
    assert_eq!((took, repairs.get()), (60 + 1_000 + 250, 1));
    assert_eq!(breaker.state(), State::Closed);
}

/// With and without a time limit for operations.
#[test]
fn a_repair_that_hangs_is_cut_off_and_the_probe_has_failed() {
    use embedded_hal_async::i2c::I2c;
    for (limit, within) in [(Some(LIMIT), 320), (None, 300)] {
        let breaker = breaker(RULES);
        let bus = GuardedI2c::new(Sensor::healed_by(1), &breaker);
        let bus = match limit {
            Some(limit) => bus.time_limit(limit),
            None => bus,
        };
        let mut bus = bus.before_probe_async(REPAIR_LIMIT, async |_, _| pending().await);
        let mut sim = Sim::new();
        breaker.trip();
        let took = sim.run(async {
            Timer::after_millis(1_000).await;
            assert_eq!(bus.read(0x48, &mut [0]).await, Err(GuardedError::TimedOut));
        });
        drop(sim);
        assert_eq!((took, breaker.state()), (1_000 + within, State::Open));
        assert_eq!((breaker.snapshot().trips(), bus.device().reached), (2, 0));
    }
}

/// The caller gives up in the middle: soon, which says nothing of the device, or late, which is a failure.
#[test]
fn a_caller_who_leaves_during_a_repair_holds_no_probe() {
    use embedded_hal_async::i2c::I2c;
    for (leaves_after, trips) in [(100, 1), (400, 2)] {
        let breaker = breaker(RULES);
        let sensor = Sensor::healed_by(1);
        let repair = async |_: &mut Sensor, _| pending().await;
        let limit = Duration::from_secs(5);
        let mut bus = GuardedI2c::new(sensor, &breaker).before_probe_async(limit, repair);
        let mut sim = Sim::new();
        breaker.trip();
        sim.run(async {
            Timer::after_millis(1_000).await;
            let leaves = Duration::from_millis(leaves_after);
            let mut answer = [0];
            let left = embassy_time::with_timeout(leaves, bus.read(0x48, &mut answer));
            assert!(left.await.is_err());
        });
        assert_eq!(breaker.snapshot().trips(), trips);
        sim.pass(2_000);
        assert!(breaker.acquire().unwrap().is_probe());
    }
}

#[test]
fn a_repair_that_blocks_serves_an_async_bus() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let sensor = Sensor::healed_by(1);
    let mut bus = GuardedI2c::new(sensor, &breaker).before_probe(|bus, trips| {
        bus.repair(trips);
        Ok(())
    });
    breaker.trip();
    sim.pass(1_000);
    let answer = at_once(embedded_hal_async::i2c::I2c::read(&mut bus, 0x48, &mut [0]));
    assert_eq!((answer, breaker.state()), (Ok(()), State::Closed));
}
