// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that owns the driver, and repairs the device before a probe.

use std::cell::Cell;

use atomic_breaker_embassy::{Breaker, Device, EmbassyClock, State};
use embassy_time::{Duration, Timer};

use super::device::{Error, Health, Sht4x};
use super::sim::{RULES, Sim, breaker};

/// A device that loses its power has lost its settings: it answers, and each reading is wrong.
#[test]
fn a_repair_writes_the_settings_again() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut driver = Sht4x::new(Health::Silent);
    driver.is_set_up = false;
    let mut sensor =
        Device::new(driver, &breaker).before_probe(|sensor, trips| sensor.reset(trips));
    for _ in 0..3 {
        assert!(sensor.call(Sht4x::measure).is_err());
    }
    sim.pass(1_000);
    assert!((0..100).all(|_| sensor.call(Sht4x::measure) == Ok(21)));
}

/// The repair is that of a round of probes, not of a number of trips, which comes again.
#[test]
fn each_outage_is_repaired_also_if_the_application_trips_or_another_guard_probes() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let guard = || {
        Device::new(Sht4x::new(Health::Well), &breaker)
            .before_probe(|sensor, trips| sensor.reset(trips))
    };
    let (mut one, mut other) = (guard(), guard());
    for outage in 1..=40 {
        breaker.trip();
        sim.pass(1_000);
        assert_eq!(one.call(Sht4x::measure), Ok(21));
        assert_eq!(one.driver().resets.len(), outage);
        // Closed by that probe, and tripped again before this guard makes another call.
        breaker.trip();
        sim.pass(1_000);
        assert_eq!(other.call(Sht4x::measure), Ok(21));
        assert_eq!(other.driver().resets.len(), outage);
    }
}

/// There the trips are counted to 7, and the epochs to 16.
#[test]
fn in_32_bits_each_outage_is_repaired_however_often_it_tripped() {
    use atomic_breaker_embassy::word::AtomicU32;
    let mut sim = Sim::new();
    let word = AtomicU32::new(0);
    let breaker = Breaker::over(&word, RULES, EmbassyClock);
    let guard = |healed_by| {
        let mut driver = Sht4x::new(Health::Silent);
        driver.healed_by = healed_by;
        Device::new(driver, &breaker).before_probe(|sensor, trips| sensor.reset(trips))
    };
    let (mut one, mut other) = (guard(u8::MAX), guard(u8::MAX));
    breaker.trip();
    for probes in 1..=20 {
        sim.pass(2_000);
        assert!(one.call(Sht4x::measure).is_err());
        assert_eq!(one.driver().resets.len(), probes);
        sim.pass(2_000);
        assert!(other.call(Sht4x::measure).is_err());
        assert_eq!(other.driver().resets.len(), probes);
    }
    assert_eq!(other.driver().resets.last(), Some(&7));
}

#[test]
fn a_repair_beside_users_that_do_not_repair_has_its_turn() {
    let mut sim = Sim::new();
    let rules = RULES.exponential(2, core::time::Duration::from_secs(60));
    for healed_by in [1, 6] {
        let breaker = breaker(rules);
        let mut driver = Sht4x::new(Health::Silent);
        driver.healed_by = healed_by;
        let mut sensor =
            Device::new(driver, &breaker).before_probe(|sensor, trips| sensor.reset(trips));
        let mut probes = 0;
        for second in 0..900 {
            // Each second a user without a repair, each minute the guard.
            let is_well = sensor.driver().health == Health::Well;
            let answer = breaker.call(|| {
                probes += 1;
                is_well.then_some(()).ok_or(Error::NoAnswer)
            });
            if answer.is_ok() {
                break;
            }
            if second % 60 == 59 {
                let _ = sensor.call(Sht4x::measure);
            }
            sim.pass(1_000);
        }
        // It remembers its trips for a while.
        assert_eq!(breaker.state(), State::Returning);
        let resets = &sensor.driver().resets;
        assert!(resets.len() <= 3, "{resets:?}");
        assert!(probes <= 20, "{probes}");
    }
}

/// Two guards that repair do not take turns without an open time between them.
#[test]
fn guards_that_all_repair_leave_a_dead_device_alone() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES.open_for(core::time::Duration::from_secs(10)));
    let guard = || {
        let mut driver = Sht4x::new(Health::Silent);
        driver.healed_by = u8::MAX;
        Device::new(driver, &breaker).before_probe(|sensor, trips| sensor.reset(trips))
    };
    let mut guards = [guard(), guard(), guard()];
    for _ in 0..3_000 {
        for guard in &mut guards {
            let _ = guard.call(Sht4x::measure);
        }
        sim.pass(100);
    }
    // 30 open times in 5 minutes.
    let resets: Vec<_> = guards
        .iter_mut()
        .map(|it| it.driver().resets.len())
        .collect();
    assert!(resets.iter().sum::<usize>() <= 4 * 30, "{resets:?}");
}

#[test]
fn a_probe_by_command_is_repaired_too() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let mut sensor = Device::new(Sht4x::new(Health::Silent), &breaker)
        .before_probe(|sensor, trips| sensor.reset(trips));
    for commands in 1..=3 {
        match commands {
            1 => breaker.trip().and_then(|_| breaker.probe_now()),
            2 => breaker.force_open().and_then(|_| breaker.release()),
            _ => breaker.trip().and_then(|_| breaker.probe_early()),
        };
        assert_eq!(sensor.call(Sht4x::measure), Ok(21));
        assert_eq!(sensor.driver().resets.len(), commands);
    }
}

#[test]
fn a_guard_that_is_made_for_each_operation_repairs_once_and_closes() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES.close_after(3));
    let mut driver = Sht4x::new(Health::Silent);
    driver.healed_by = 2;
    for _ in 0..20 {
        let mut sensor =
            Device::new(&mut driver, &breaker).before_probe(|sensor, trips| sensor.reset(trips));
        let _ = sensor.call(|sensor| sensor.measure());
        sim.pass(250);
    }
    assert_eq!(
        (driver.resets, breaker.state()),
        (vec![1, 2], State::Closed)
    );
}

#[test]
fn a_repair_that_was_dropped_is_made_again() {
    let breaker = breaker(RULES);
    let begun = Cell::new(0);
    let mut sensor = Device::new(Sht4x::new(Health::Silent), &breaker).before_probe_async(
        Duration::from_secs(5),
        async |sensor, trips| {
            begun.set(begun.get() + 1);
            Timer::after_millis(100).await;
            sensor.reset(trips)
        },
    );
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        breaker.ready().await;
        let reading = sensor.call_async(async |sensor| sensor.measure_later().await);
        let left = embassy_time::with_timeout(Duration::from_millis(50), reading);
        assert!(left.await.is_err());
        assert_eq!(breaker.state(), State::HalfOpen);
        let reading = sensor.call_async(async |sensor| sensor.measure_later().await);
        assert_eq!(reading.await, Ok(21));
    });
    assert_eq!((begun.get(), breaker.state()), (2, State::Closed));
}
