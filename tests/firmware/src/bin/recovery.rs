// SPDX-License-Identifier: MIT OR Apache-2.0
//! A radio that comes back, but slowly: its calls take longer than the probe's lease, and close the breaker
//! all the same; then traffic comes back gradually.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::{
    Breaker, Cause, Config, EmbassyClock, EventLog, State, word::NativeWord,
};
use embassy_executor::Spawner;
use embassy_futures::select::select;
use embassy_time::{Instant, Timer};
use firmware::pass;

static LOG: EventLog<16> = EventLog::new();

static RADIO: Breaker<EmbassyClock, NativeWord, (), &EventLog<16>> = Breaker::builder(
    Config::new()
        .open_for(Duration::from_secs(1))
        .probe_lease(Duration::from_secs(2))
        .gradual_return(10, Duration::from_secs(10)),
    EmbassyClock,
)
.observer(&LOG)
.build();

/// The time that a call takes: six times the lease, less a little.
const TAKES_S: u64 = 11;

/// A task that sends again and again.
async fn sender() {
    loop {
        let permit = RADIO.acquire_when_ready().await;
        Timer::after_secs(TAKES_S).await;
        permit.success();
    }
}

/// The percentage of calls that pass in each second of the return.
async fn shares() -> [u32; 10] {
    let mut passed = [0; 10];
    for share in &mut passed {
        for _ in 0..100 {
            if let Ok(permit) = RADIO.acquire() {
                permit.success();
                *share += 1;
            }
            Timer::after_millis(10).await;
        }
    }
    passed
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    RADIO.trip();
    let is_back = async {
        while !matches!(RADIO.state(), State::Returning) {
            Timer::after_millis(10).await;
        }
    };
    let senders = async {
        embassy_futures::join::join4(sender(), sender(), sender(), sender()).await;
    };
    select(is_back, senders).await;
    let returning_after = Instant::now().as_secs();

    let mut lost = 0;
    while let Some(told) = LOG.pop() {
        lost += u32::from(told.cause == Cause::ProbeLost);
    }
    // Leases of 2, 4 and 8 s: the first call succeeds in the third round, and counts.
    assert_eq!(lost, 2, "rounds lost");
    assert!(returning_after < 1 + 2 + 4 + 8, "{returning_after} s");

    let passed = shares().await;
    assert!(passed[0] < 30 && passed[9] > 80, "{passed:?}");
    assert!(
        passed.windows(4).all(|four| four[0] < four[3]),
        "{passed:?}"
    );
    Timer::after_secs(1).await;
    assert!(RADIO.acquire().is_ok());
    assert_eq!(RADIO.state(), State::Closed);
    pass!(
        "calls of {TAKES_S} s and a lease of 2 s: back after {lost} lost rounds, {returning_after} s; of 100 \
         calls a second pass {passed:?}"
    );
}
