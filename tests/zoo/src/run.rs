// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand measurements, one a second: well, ill from the 100th second on, curable from the 400th.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use atomic_breaker_embassy::{Breaker, Config, Device, EmbassyClock, Failure, Outcome};
use embassy_time::{Duration, Instant, Timer};

use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::{Ended, Time, pass_until, run};

/// The number of measurements that are due.
pub const READINGS: u32 = 1_000;
/// The second in which the device falls ill.
pub const ILL: u32 = 100;
/// The second from which on a repair helps.
pub const CURABLE: u32 = 400;

/// The rules of all guards here.
pub const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(core::time::Duration::from_secs(2))
    .exponential(2, core::time::Duration::from_secs(30));

/// The limit of a measurement.
const LIMIT: Duration = Duration::from_secs(2);
/// The time after which a measurement counts as one that never ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// The result of a measurement without a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// A right reading.
    Right,
    /// `Ok` with a wrong reading that the user's check lets pass.
    WrongAndPlausible,
    /// `Ok` with a wrong reading that the user's check finds.
    Wrong,
    /// An error.
    Error,
    /// Nothing: it does not return.
    Nothing,
    /// A panic.
    Panic,
}

/// Results with their counts.
pub type Sight = BTreeMap<Seen, u32>;

fn see<E>(ended: &Ended<Result<Reading, E>>) -> Seen {
    match ended {
        Ended::With(Ok(reading)) if reading.right => Seen::Right,
        Ended::With(Ok(reading)) if reading.plausible => Seen::WrongAndPlausible,
        Ended::With(Ok(_)) => Seen::Wrong,
        Ended::With(Err(_)) => Seen::Error,
        Ended::Never => Seen::Nothing,
        Ended::InPanic => Seen::Panic,
    }
}

fn look(condition: &Condition, subject: &mut impl Subject, readings: Range<u32>) -> Sight {
    let mut sight = Sight::new();
    for truth in readings {
        pass_until(Instant::from_secs(Instant::now().as_secs() + 1));
        condition.set_truth(truth);
        *sight
            .entry(see(&run(PATIENCE, subject.measure(truth))))
            .or_default() += 1;
    }
    sight
}

/// Returns what the driver returns while the device is well, for each of a thousand measurements.
pub fn well<S: Subject>(make: impl Fn(&Rc<Condition>) -> S) -> Sight {
    let _time = Time::take();
    let condition = Rc::new(Condition::default());
    let mut subject = make(&condition);
    look(&condition, &mut subject, 0..READINGS)
}

/// Returns what the driver returns while the device is ill, and after a repair: the power is cycled, the driver sets it up.
pub fn ill<S: Subject>(make: impl Fn(&Rc<Condition>) -> S, ill: Ill) -> [Sight; 2] {
    let _time = Time::take();
    let condition = Rc::new(Condition::default());
    let mut subject = make(&condition);
    look(&condition, &mut subject, 0..10);
    condition.fall_ill(ill);
    let before = look(&condition, &mut subject, 10..20);
    condition.end_cause();
    condition.cycle_power();
    let set_up = run(PATIENCE, subject.set_up());
    assert!(matches!(set_up, Ended::With(Ok(()))), "{set_up:?}");
    [before, look(&condition, &mut subject, 20..40)]
}

/// Returns what the driver returns after the power was cycled, if it does not set the device up again.
pub fn not_set_up<S: Subject>(make: impl Fn(&Rc<Condition>) -> S) -> Sight {
    let _time = Time::take();
    let condition = Rc::new(Condition::default());
    let mut subject = make(&condition);
    look(&condition, &mut subject, 0..10);
    condition.cycle_power();
    look(&condition, &mut subject, 10..20)
}

/// The outcome of a thousand measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Right readings.
    pub right: u32,
    /// Wrong readings that were taken for right.
    pub wrong: u32,
    /// Measurements that were made until the breaker opened, the device being ill.
    pub noticed_after: Option<u32>,
    /// Measurements that the breaker admitted while the device was ill, with the probes.
    pub wasted: u32,
    /// Repairs.
    pub repairs: u32,
    /// Seconds from when a repair could help to the next right reading.
    pub served_after: Option<u32>,
    /// Times that the breaker opened while the device was well.
    pub false_trips: u32,
}

/// The repair that a guard makes before a probe: from the second trip on it cycles the power.
#[derive(Clone, Debug)]
pub struct Workshop {
    condition: Rc<Condition>,
    repairs: Rc<Cell<u32>>,
    /// `true` until the driver has set the device up.
    is_bare: Rc<Cell<bool>>,
}

impl Workshop {
    fn new(condition: &Rc<Condition>) -> Self {
        Self {
            condition: condition.clone(),
            repairs: Rc::default(),
            is_bare: Rc::default(),
        }
    }

    /// Cycles the power.
    pub fn repair(&self, trips: u8) {
        self.repairs.set(self.repairs.get() + 1);
        self.is_bare.set(true);
        if trips > 1 {
            self.condition.cycle_power();
        }
    }

    /// Cycles the power, and waits until the device has started.
    pub async fn repair_async(&self, trips: u8) {
        self.repair(trips);
        Timer::after_millis(50).await;
    }
}

/// Lets a device fall ill, and measures all the while.
fn play(
    condition: &Condition,
    ill: Ill,
    breaker: &Breaker,
    mut measure: impl AsyncFnMut(u32) -> Option<Reading>,
) -> Figures {
    let mut figures = Figures::default();
    let begin = Instant::now();
    for second in 0..READINGS {
        let due = begin + Duration::from_secs(second.into());
        if Instant::now() > due {
            continue;
        }
        pass_until(due);
        if second == ILL {
            condition.fall_ill(ill);
        }
        if second >= CURABLE {
            condition.end_cause();
        }
        condition.set_truth(second);
        let is_ill = condition.ill().is_some();
        let is_asked = breaker.snapshot().rejection().is_none();
        let trips = breaker.snapshot().trips();
        let ended = run(PATIENCE, measure(second));
        let has_tripped = breaker.snapshot().trips() > trips;
        figures.false_trips += u32::from(has_tripped && !is_ill);
        if is_ill && is_asked && condition.ill().is_some() {
            figures.wasted += 1;
            if has_tripped && figures.noticed_after.is_none() {
                figures.noticed_after = Some(figures.wasted);
            }
        }
        if let Ended::With(Some(reading)) = ended {
            figures.right += u32::from(reading.right);
            figures.wrong += u32::from(!reading.right);
            if reading.right && second >= CURABLE && figures.served_after.is_none() {
                figures.served_after = Some(second - CURABLE);
            }
        }
    }
    figures
}

/// The verdict of the user's check.
fn is_plausible<E>(result: &Result<Reading, E>) -> Outcome {
    match result {
        Ok(reading) if reading.plausible => Outcome::Success,
        _ => Failure::new().into(),
    }
}

/// A driver in a [`Device`], that sets the device up before a probe.
pub fn by_driver<S: Subject>(make: impl Fn(&Rc<Condition>) -> S, ill: Ill) -> Figures {
    let _time = Time::take();
    let condition = Rc::new(Condition::default());
    let workshop = Workshop::new(&condition);
    let breaker = Breaker::new(RULES, EmbassyClock);
    let repair = async |subject: &mut S, trips| {
        workshop.repair_async(trips).await;
        subject.set_up().await
    };
    let mut device = Device::new(make(&condition), &breaker)
        .time_limit(LIMIT)
        .before_probe_async(Duration::from_secs(10), repair);
    let figures = play(&condition, ill, &breaker, async |truth| {
        let measure = async |subject: &mut S| subject.measure(truth).await;
        let result = device.call_async_with(is_plausible, measure).await;
        result.ok().filter(|reading| reading.plausible)
    });
    Figures {
        repairs: workshop.repairs.get(),
        ..figures
    }
}

/// A driver over a guarded bus, stream, stack or chip. What the guard has repaired is set up by the application, as only
/// the driver can.
pub fn by_transport<S: Subject>(
    make: impl Fn(&Rc<Condition>, &'static Breaker, &Workshop) -> S,
    rules: Config,
    ill: Ill,
) -> Figures {
    let _time = Time::take();
    let condition = Rc::new(Condition::default());
    let workshop = Workshop::new(&condition);
    // In firmware it is a static.
    let breaker: &'static Breaker = Box::leak(Box::new(Breaker::new(rules, EmbassyClock)));
    let mut subject = make(&condition, breaker, &workshop);
    let figures = play(&condition, ill, breaker, async |truth| {
        if workshop.is_bare.take() && subject.set_up().await.is_err() {
            workshop.is_bare.set(true);
            return None;
        }
        let result = subject.measure(truth).await.ok();
        result.filter(|reading| reading.plausible)
    });
    Figures {
        repairs: workshop.repairs.get(),
        ..figures
    }
}
