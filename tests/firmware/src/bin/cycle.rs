// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole life cycle with embassy's timers; every transition happens in its millisecond.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, Ticks};
use atomic_breaker_embassy::{Breaker, Cause, Config, EmbassyClock, EventLog, State};
use embassy_executor::Spawner;
use embassy_time::{Instant, Timer};
use firmware::pass;

static LOG: EventLog<16> = EventLog::new();

/// Ticks of a millisecond.
type Word = Ticks<AtomicU32, 0>;

static DEVICE: Breaker<EmbassyClock, Word, (), &EventLog<16>> = Breaker::builder(
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_millis(256))
        .exponential(2, Duration::from_secs(4))
        .probes(2)
        .probe_lease(Duration::from_secs(5)),
    EmbassyClock,
)
.word(Ticks(AtomicU32::new(0)))
.observer(&LOG)
.build();

/// Reports that the device failed or works.
async fn device(works: bool) -> Result<(), ()> {
    Timer::after_millis(5).await;
    if works { Ok(()) } else { Err(()) }
}

async fn call(works: bool) -> bool {
    DEVICE.call_async(|| device(works)).await.is_ok()
}

/// Sleeps as long as a rejection tells, and checks that a millisecond less would have been too short.
async fn sleep_as_told(open_for: u64) {
    let left = DEVICE.acquire().expect_err("open").retry_in_ms();
    let left = u64::from(left.expect("not forced open"));
    assert_eq!(left, open_for);
    Timer::after_millis(left - 1).await;
    assert!(DEVICE.acquire().is_err(), "a millisecond early");
    Timer::after_millis(1).await;
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    Timer::after_millis(10).await;
    let begin = Instant::now().as_millis();

    for _ in 0..3 {
        assert!(!call(false).await);
    }
    sleep_as_told(256).await;
    assert!(!call(false).await, "a probe that fails");
    sleep_as_told(512).await;
    assert!(call(true).await);
    assert_eq!(DEVICE.state(), State::HalfOpen, "two are wanted");
    assert!(call(true).await);
    assert_eq!(DEVICE.state(), State::Returning, "its trips are kept");
    Timer::after_millis(512 - 5).await;
    assert!(call(true).await, "all calls pass");
    assert_eq!(DEVICE.state(), State::Returning);
    assert!(call(true).await);
    assert_eq!(DEVICE.state(), State::Closed, "as long as it was open");

    use Cause::{FailureLimit, OpenTimeOver, ProbeFailed, ProbesSucceeded, TrafficReturned};
    use State::{Closed, HalfOpen, Open, Returning};
    let expected = [
        (Closed, Open, FailureLimit, 15, 256),
        (Open, HalfOpen, OpenTimeOver, 15 + 256, 0),
        (HalfOpen, Open, ProbeFailed, 20 + 256, 512),
        (Open, HalfOpen, OpenTimeOver, 20 + 256 + 512, 0),
        (HalfOpen, Returning, ProbesSucceeded, 30 + 256 + 512, 0),
        (Returning, Closed, TrafficReturned, 30 + 256 + 2 * 512, 0),
    ];
    for (from, to, cause, at, open_for) in expected {
        let told = LOG.pop().expect("a transition");
        let seen = (
            told.from,
            told.to,
            told.cause,
            u64::from(told.at_ms) - begin,
        );
        assert_eq!(seen, (from, to, cause, at));
        assert_eq!(told.open_for_ms, open_for);
    }
    assert!(LOG.pop().is_none() && LOG.take_lost() == 0);
    pass!("{} transitions, each in its millisecond", expected.len());
}
