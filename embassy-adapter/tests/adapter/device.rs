// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that owns the driver: one call is one measurement.
#![expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "classifiers take references"
)]

use std::cell::Cell;
use std::future::pending;

use atomic_breaker_embassy::{
    Breaker, CallError, Config, Device, EmbassyClock, Failure, Fallback, ManualClock, Outcome,
    State, Timed,
};
use embassy_time::{Duration, Timer};

use super::sim::{RULES, Sim, both, breaker, let_others_run};

/// The error of a driver that keeps nothing of its bus's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Error {
    NoAnswer,
    Checksum,
    InvalidInput,
}

/// The health of a sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Health {
    Well,
    /// It acknowledges commands and never answers.
    Silent,
    /// It answers rubbish, and the checksum says so.
    Rubbish,
    /// Its line floats: all ones.
    Floating,
    Hangs,
}

/// The driver of a sensor: a command, a wait, an answer, a check.
pub(super) struct Sht4x {
    pub(super) health: Health,
    /// `true` if its settings are those that `new` wrote.
    pub(super) is_set_up: bool,
    /// The trip whose repair heals it.
    pub(super) healed_by: u8,
    pub(super) resets: Vec<u8>,
    measured: u32,
}

impl Sht4x {
    pub(super) fn new(health: Health) -> Self {
        Self {
            health,
            is_set_up: true,
            healed_by: 1,
            resets: Vec::new(),
            measured: 0,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as repairs are")]
    pub(super) fn reset(&mut self, trips: u8) -> Result<(), Error> {
        self.resets.push(trips);
        self.is_set_up = true;
        if trips >= self.healed_by {
            self.health = Health::Well;
        }
        Ok(())
    }

    pub(super) fn measure(&mut self) -> Result<u16, Error> {
        self.measured += 1;
        match self.health {
            Health::Well if self.is_set_up => Ok(21),
            Health::Well => Ok(0),
            Health::Silent | Health::Hangs => Err(Error::NoAnswer),
            Health::Rubbish => Err(Error::Checksum),
            Health::Floating => Ok(0xFFFF),
        }
    }

    pub(super) async fn measure_later(&mut self) -> Result<u16, Error> {
        Timer::after_millis(10).await;
        if self.health == Health::Hangs {
            return pending().await;
        }
        self.measure()
    }
}

#[test]
fn a_sensor_that_acknowledges_and_does_not_answer_is_noticed_within_three_measurements() {
    for health in [Health::Silent, Health::Rubbish] {
        let mut sim = Sim::new();
        let breaker = breaker(RULES);
        let mut sensor = Device::new(Sht4x::new(health), &breaker);
        assert!((0..10).all(|_| sensor.call(Sht4x::measure).is_err()));
        assert_eq!(
            (breaker.state(), sensor.driver().measured),
            (State::Open, 3)
        );
        sensor.driver().health = Health::Well;
        sim.pass(1_000);
        assert_eq!(sensor.call(|sensor| sensor.measure()), Ok(21));
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(sensor.release().measured, 4);
    }
}

/// Without embassy: RTIC, bare metal, std.
#[test]
fn any_clock_will_do() {
    static CLOCK: ManualClock = ManualClock::new();
    static SENSOR: Breaker<&ManualClock> = Breaker::new(RULES, &CLOCK);
    let mut sensor = Device::new(Sht4x::new(Health::Silent), &SENSOR)
        .before_probe(|sensor, trips| sensor.reset(trips));
    for _ in 0..3 {
        let reading = sensor.call(Sht4x::measure).or_if_rejected(|_| Ok(20));
        assert_eq!(reading, Err(Error::NoAnswer));
    }
    assert_eq!(
        sensor.call(Sht4x::measure).or_if_rejected(|_| Ok(20)),
        Ok(20)
    );
    CLOCK.advance(core::time::Duration::from_secs(1));
    assert_eq!(sensor.call(Sht4x::measure), Ok(21));
    assert_eq!(sensor.driver().resets, [1]);
}

#[test]
fn the_drivers_own_errors_are_classified_once_for_all_its_operations() {
    fn classify(error: &Error) -> Outcome {
        match error {
            Error::InvalidInput => Outcome::Ignored,
            Error::Checksum => Failure::tripping().into(),
            Error::NoAnswer => Failure::new().into(),
        }
    }
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let mut sensor = Device::new(Sht4x::new(Health::Well), &breaker).classify(classify);
    for _ in 0..5 {
        let refused = sensor.call(|_| Err::<(), _>(Error::InvalidInput));
        assert_eq!(refused, Err(CallError::Failed(Error::InvalidInput)));
    }
    assert_eq!(
        (breaker.state(), breaker.snapshot().failures()),
        (State::Closed, 0)
    );
    assert_eq!(sensor.call(Sht4x::measure), Ok(21));
    sensor.driver().health = Health::Rubbish;
    assert!(sensor.call(Sht4x::measure).is_err());
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_reading_out_of_range_is_a_failure_where_the_call_says_so() {
    fn in_range(result: &Result<u16, Error>) -> Outcome {
        match result {
            Ok(1..=0xFFFE) => Outcome::Success,
            _ => Failure::new().into(),
        }
    }
    for is_async in [false, true] {
        let breaker = breaker(RULES);
        let mut sensor = Device::new(Sht4x::new(Health::Floating), &breaker);
        let mut sim = Sim::new();
        sim.run(async {
            for _ in 0..3 {
                if is_async {
                    let read =
                        sensor.call_async_with(in_range, async |it| it.measure_later().await);
                    assert_eq!(read.await, Ok(0xFFFF));
                } else {
                    assert_eq!(sensor.call_with(in_range, Sht4x::measure), Ok(0xFFFF));
                }
            }
        });
        assert_eq!(breaker.state(), State::Open);
    }
}

#[test]
fn a_measurement_that_hangs_ends_at_the_limit_and_is_repaired_before_the_probe() {
    let breaker = breaker(RULES);
    let mut sensor = Device::new(Sht4x::new(Health::Hangs), &breaker)
        .time_limit(Duration::from_millis(50))
        .before_probe_async(Duration::from_millis(300), async |sensor, trips| {
            Timer::after_millis(250).await;
            sensor.reset(trips)
        });
    let mut sim = Sim::new();
    let took = sim.run(async {
        for _ in 0..3 {
            let reading = sensor.call_async(async |sensor| sensor.measure_later().await);
            assert_eq!(reading.await, Err(CallError::Failed(Timed::TimedOut)));
        }
        assert_eq!(breaker.state(), State::Open);
        breaker.ready().await;
        let reading = sensor.call_async(async |sensor| sensor.measure_later().await);
        assert_eq!(reading.await, Ok(21));
    });
    assert_eq!(breaker.state(), State::Closed);
    assert!((1_400..2_600).contains(&took), "{took}");
}

/// A driver's read loop over a guard that rejects at once must not hold the executor for the open time.
#[test]
fn a_loop_around_rejections_lets_other_tasks_run() {
    let breaker = breaker(RULES);
    let beats = Cell::new(0);
    let mut sensor = Device::new(Sht4x::new(Health::Silent), &breaker);
    let mut sim = Sim::new();
    breaker.trip();
    let reads = async {
        while beats.get() < 10 {
            let before = beats.get();
            let reading = sensor.call_async(async |sensor| sensor.measure_later().await);
            assert!(reading.await.is_err());
            assert!(beats.get() > before, "no other task had a turn");
        }
    };
    let beat = async {
        for _ in 0..10 {
            beats.set(beats.get() + 1);
            let_others_run().await;
        }
    };
    sim.spawn(both(reads, beat));
    assert_eq!(beats.get(), 10);
}

/// A modem: commands and answers are one call, so that only its answer counts.
#[test]
fn a_modem_that_takes_commands_and_answers_none_is_noticed() {
    struct Modem {
        answers: bool,
        commands: u32,
    }
    impl Modem {
        async fn command(&mut self, _: &str) -> Result<(), Error> {
            self.commands += 1;
            if self.answers {
                return Ok(());
            }
            pending().await
        }
    }
    const PATIENT: Config = RULES.open_for(core::time::Duration::from_secs(5));
    static MODEM: Breaker = Breaker::new(PATIENT, EmbassyClock);
    let modem = Modem {
        answers: false,
        commands: 0,
    };
    let mut modem = Device::new(modem, &MODEM)
        .time_limit(Duration::from_secs(1))
        .before_probe_async(Duration::from_secs(10), async |modem, _| {
            Timer::after_secs(3).await;
            modem.answers = true;
            Ok(())
        });
    Sim::new().run(async {
        for _ in 0..3 {
            assert!(
                modem
                    .call_async(async |modem| modem.command("AT").await)
                    .await
                    .is_err()
            );
        }
        assert_eq!(MODEM.state(), State::Open);
        MODEM.ready().await;
        assert_eq!(
            modem
                .call_async(async |modem| modem.command("AT").await)
                .await,
            Ok(())
        );
    });
    assert_eq!((MODEM.state(), modem.driver().commands), (State::Closed, 4));
}
