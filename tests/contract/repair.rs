// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repair before a probe: what fails until it is repaired is served again, and nothing runs while closed.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Clock, Config, ManualClock, State};

const SECOND: Duration = Duration::from_secs(1);

/// Hangs after a minute, until it is repaired by this rung.
struct Sensor {
    healed_by: u8,
    is_hung: Cell<bool>,
    repairs: RefCell<Vec<u8>>,
}

impl Sensor {
    fn healed_by(rung: u8) -> Self {
        Self {
            healed_by: rung,
            is_hung: Cell::new(false),
            repairs: RefCell::default(),
        }
    }

    fn repair(&self, rung: u8) {
        self.repairs.borrow_mut().push(rung);
        if rung >= self.healed_by {
            self.is_hung.set(false);
        }
    }

    fn read(&self) -> Result<u16, &'static str> {
        if self.is_hung.get() {
            Err("no answer")
        } else {
            Ok(21)
        }
    }
}

/// The number of readings of a day that succeed, one tried each second.
fn readings_of_a_day<W: Word>(
    word: W,
    sensor: &Sensor,
    read: impl Fn(&Breaker<&ManualClock, W>) -> Result<u16, &'static str>,
) -> u32 {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(Config::new().consecutive_failures(3), &clock)
        .word(word)
        .build();
    let mut readings = 0;
    for second in 0..86_400 {
        if second == 60 {
            sensor.is_hung.set(true);
        }
        readings += u32::from(read(&breaker).is_ok());
        clock.advance(SECOND);
    }
    readings
}

/// Reads, and repairs first if the reading is a probe.
fn repaired_and_read<W: Word>(
    breaker: &Breaker<impl Clock, W>,
    sensor: &Sensor,
) -> Result<u16, &'static str> {
    let attempt = breaker.acquire().map_err(|_| "rejected")?;
    let attempt = attempt.failing_when_dropped();
    if attempt.trips() > 0 {
        sensor.repair(attempt.trips());
    }
    let reading = sensor.read()?;
    attempt.success();
    Ok(reading)
}

#[test]
fn a_sensor_that_hangs_until_it_is_reset_is_lost_without_a_repair_and_costs_one_open_time_with_it()
{
    let lost = Sensor::healed_by(1);
    let without = readings_of_a_day(AtomicU64::new(0), &lost, |breaker| {
        breaker
            .call(|| lost.read())
            .map_err(|_| "rejected or failed")
    });
    assert_eq!(without, 60);

    let reset = Sensor::healed_by(1);
    let with = readings_of_a_day(AtomicU64::new(0), &reset, |breaker| {
        repaired_and_read(breaker, &reset)
    });
    assert_eq!(*reset.repairs.borrow(), [1]);
    // Three failures that trip, and the five seconds of the open time, of which the last second is that of the probe.
    assert_eq!(with, 86_400 - 3 - 4);
}

fn climbs_to_the_rung_that_helps<W: Word>(word: W) {
    let sensor = Sensor::healed_by(3);
    let readings = readings_of_a_day(word, &sensor, |breaker| repaired_and_read(breaker, &sensor));
    assert_eq!(*sensor.repairs.borrow(), [1, 2, 3]);
    assert!(readings > 86_000, "{readings}");
}

#[test]
fn each_probe_of_an_outage_is_told_of_one_trip_more() {
    climbs_to_the_rung_that_helps(AtomicU64::new(0));
    climbs_to_the_rung_that_helps(AtomicU32::new(0));
}

fn highest_rung<W: Word>(word: W) -> u8 {
    let clock = ManualClock::new();
    let config = Config::new().consecutive_failures(1).open_for(SECOND);
    let breaker = Breaker::builder(config, &clock).word(word).build();
    let mut rung = 0;
    for _ in 0..100 {
        let permit = breaker.acquire().unwrap();
        rung = permit.trips();
        permit.failure();
        // A 32-bit word rounds open times up.
        clock.advance(2 * SECOND);
    }
    rung
}

#[test]
fn the_trips_end_where_the_word_can_count_no_more() {
    assert_eq!(highest_rung(AtomicU64::new(0)), 31);
    assert_eq!(highest_rung(AtomicU32::new(0)), 7);
}

#[test]
fn a_probe_after_a_command_is_told_of_one_trip() {
    let breaker = Breaker::new(Config::new(), ManualClock::new());
    breaker.force_open();
    breaker.release();
    let permit = breaker.acquire().unwrap();
    assert!(permit.is_probe());
    assert_eq!(permit.trips(), 1);
    permit.success();
    assert_eq!(breaker.acquire().unwrap().trips(), 0);
}

/// A breaker that is due for its first probe.
fn due(clock: &ManualClock) -> Breaker<&ManualClock> {
    let breaker = Breaker::new(Config::new().open_for(SECOND), clock);
    breaker.trip();
    clock.advance(SECOND);
    breaker
}

#[test]
fn a_repair_that_fails_or_panics_is_the_failure_of_the_probe() {
    let clock = ManualClock::new();
    let breaker = due(&clock);
    let call = |repair: fn() -> Result<(), &'static str>| {
        let attempt = breaker.acquire().unwrap().failing_when_dropped();
        if attempt.trips() > 0 {
            repair()?;
        }
        attempt.success();
        Ok::<_, &str>(())
    };
    assert_eq!(call(|| Err("the bus is stuck")), Err("the bus is stuck"));
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );

    clock.advance(SECOND);
    let panics = || call(|| panic!("no such rung"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 3)
    );

    clock.advance(SECOND);
    assert_eq!(call(|| Ok(())), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_repair_whose_caller_leaves_is_the_failure_of_the_probe() {
    let clock = ManualClock::new();
    let breaker = due(&clock);
    {
        let call = async {
            let attempt = breaker.acquire().unwrap().failing_when_dropped();
            if attempt.trips() > 0 {
                pending::<()>().await;
            }
            attempt.success();
        };
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(call).poll(&mut context).is_pending());
    }
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );
}

#[test]
fn a_token_remembers_the_trips_of_its_probe() {
    let clock = ManualClock::new();
    let breaker = due(&clock);
    let token = breaker.acquire().unwrap().into_token();
    assert_eq!(token.trips(), 1);
    breaker.resume(token).success();
    assert_eq!(breaker.acquire().unwrap().into_token().trips(), 0);
}
