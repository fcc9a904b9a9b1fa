// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repair before a try or a ping that is a probe.

use core::future::pending;
use core::time::Duration;
use std::cell::{Cell, RefCell};

use atomic_breaker_embassy::{CallError, Mutating, Prober, Repairing, Retry, State, Timed};
use embassy_time::Timer;

use super::sim::{RULES, Sim, breaker};

/// Does not answer until it is repaired by this rung.
struct Device {
    healed_by: u8,
    rungs: Vec<u8>,
}

impl Device {
    const fn healed_by(rung: u8) -> Self {
        Self {
            healed_by: rung,
            rungs: Vec::new(),
        }
    }

    async fn repair(&mut self, rung: u8) {
        Timer::after_millis(1).await;
        self.rungs.push(rung);
    }

    async fn read(&mut self) -> Result<(), &'static str> {
        Timer::after_millis(1).await;
        let repaired = self
            .rungs
            .last()
            .is_some_and(|rung| *rung >= self.healed_by);
        repaired.then_some(()).ok_or("no answer")
    }

    async fn repaired_and_read(&mut self, trips: u8) -> Result<(), &'static str> {
        if trips > 0 {
            self.repair(trips).await;
        }
        self.read().await
    }
}

#[test]
fn tries_that_are_probes_repair_further_each_time() {
    let breaker = breaker(RULES.consecutive_failures(1));
    let mut device = Device::healed_by(2);
    let result = RefCell::new(None);
    let mut sim = Sim::new();
    sim.run(async {
        let operation = Mutating(Repairing(async |trips: u8| {
            device.repaired_and_read(trips).await
        }));
        let hour = Duration::from_secs(3_600);
        let policy = Retry::new().tries(5).within(hour).wait_for_breaker(hour);
        *result.borrow_mut() = Some(breaker.retry(policy, operation).await);
    });
    drop(sim);
    assert_eq!(result.take(), Some(Ok(())));
    assert_eq!(device.rungs, [1, 2]);
    assert_eq!(breaker.state(), State::Closed);
}

/// The resource is well, and each repair takes longer than a slow call.
#[test]
fn the_time_of_a_repair_in_a_retry_does_not_make_its_probe_slow() {
    let breaker = breaker(RULES.slow_call(Duration::from_millis(50)));
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        let operation = Repairing(|trips: u8| async move {
            if trips > 0 {
                Timer::after_millis(120).await;
            }
            Ok::<_, &str>(())
        });
        let policy = Retry::new().tries(1).wait_for_breaker(Duration::MAX);
        assert_eq!(breaker.retry(policy, operation).await, Ok(()));
        assert_eq!(breaker.state(), State::Closed);
        // Later calls are slow as ever.
        for _ in 0..3 {
            let slow = async || {
                Timer::after_millis(60).await;
                Ok::<_, &str>(())
            };
            assert_eq!(breaker.retry(Retry::new(), slow).await, Ok(()));
        }
        assert_eq!(breaker.state(), State::Open);
    });
}

#[test]
fn pings_repair_further_each_time_without_any_traffic() {
    let breaker = breaker(RULES);
    let mut device = Device::healed_by(3);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        let ping = Mutating(Repairing(async |trips: u8| {
            device.repaired_and_read(trips).await
        }));
        let prober = Prober::every(Duration::from_millis(100));
        breaker.run_prober(prober, ping).await;
    });
    sim.pass(1_000);
    drop(sim);
    assert_eq!(
        (device.rungs, breaker.state()),
        (vec![1, 2, 3], State::Closed)
    );
}

#[test]
fn a_repair_that_hangs_ends_at_the_limit_of_the_try_as_the_failure_of_the_probe() {
    let breaker = breaker(RULES);
    let result = RefCell::new(None);
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        let operation = Repairing(|trips: u8| async move {
            if trips > 0 {
                pending::<()>().await;
            }
            Ok::<_, &str>(())
        });
        let policy = Retry::new().tries(1).wait_for_breaker(Duration::MAX);
        let policy = policy.try_limit(Duration::from_millis(50));
        *result.borrow_mut() = Some(breaker.retry(policy, operation).await);
    });
    drop(sim);
    assert_eq!(result.take(), Some(Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );
}

/// Between two looks of the prober, one outage ends and another begins.
#[test]
fn pings_begin_anew_in_each_outage() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(3_600)));
    let (rungs, answers) = (RefCell::new(Vec::new()), Cell::new(false));
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        let ping = Repairing(|trips: u8| {
            rungs.borrow_mut().push(trips);
            let answer = if answers.get() {
                Ok(())
            } else {
                Err("no answer")
            };
            std::future::ready(answer)
        });
        let prober = Prober::every(Duration::from_secs(10)).answers(3);
        breaker.run_prober(prober, ping).await;
    });
    sim.pass(20_500);
    assert_eq!(rungs.take(), [1, 2]);
    breaker.reset();
    breaker.trip();
    answers.set(true);
    sim.pass(20_000);
    assert_eq!(rungs.take(), [1, 1]);
    breaker.reset();
    breaker.trip();
    sim.pass(20_000);
    assert_eq!(breaker.state(), State::Open, "two answers of this outage");
    sim.pass(10_000);
    assert_eq!(breaker.state(), State::Closed);
}
