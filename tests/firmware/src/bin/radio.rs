// SPDX-License-Identifier: MIT OR Apache-2.0
//! A radio that is down for ten seconds: a task that sleeps in `ready()` against one that polls, and four
//! senders that come back one after the other.
#![no_std]
#![no_main]

use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::time::Duration;

use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, State, StateWatch, word::NativeWord};
use embassy_executor::Spawner;
use embassy_futures::join::join4;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Instant, Timer};
use firmware::pass;

type Watch = StateWatch<CriticalSectionRawMutex, 1>;

static STATE: Watch = StateWatch::new();

static RADIO: Breaker<EmbassyClock, NativeWord, (), &Watch> = Breaker::builder(
    Config::new()
        .open_for(Duration::from_secs(10))
        .probe_lease(Duration::from_secs(5)),
    EmbassyClock,
)
.observer(&STATE)
.build();

/// Runs a future and counts how often it is woken.
async fn wakes(future: impl Future<Output = ()>) -> u32 {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        future.as_mut().poll(context)
    })
    .await;
    polls - 1
}

async fn poll_until_ready() {
    while RADIO.snapshot().rejection().is_some() {
        Timer::after_millis(50).await;
    }
}

/// Sends one packet; returns when the radio let it through.
async fn send(on_air: &Cell<u32>) -> u64 {
    let permit = RADIO.acquire_when_ready().await;
    let begun = Instant::now().as_millis();
    if permit.is_probe() {
        assert_eq!(on_air.get(), 0, "only the probe");
    }
    on_air.set(on_air.get() + 1);
    Timer::after_millis(30).await;
    on_air.set(on_air.get() - 1);
    permit.success();
    begun
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    RADIO.trip();
    let polling = wakes(poll_until_ready()).await;
    assert!(RADIO.acquire().is_ok_and(|probe| probe.is_probe()));

    RADIO.reset();
    RADIO.trip();
    let sleeping = wakes(async { RADIO.ready().await }).await;
    assert!(
        polling >= 190 && sleeping <= 2,
        "{polling} and {sleeping} wake-ups"
    );

    RADIO.reset();
    RADIO.trip();
    let (tripped, on_air) = (Instant::now().as_millis(), Cell::new(0));
    let begun = join4(send(&on_air), send(&on_air), send(&on_air), send(&on_air)).await;
    let mut begun = [begun.0, begun.1, begun.2, begun.3].map(|at| at - tripped);
    begun.sort_unstable();
    assert!(begun[0] >= 10_000, "not before the time is over");
    assert!(begun[3] <= 13_000, "nor long after the radio is back");
    assert!(
        begun.windows(2).all(|pair| pair[0] < pair[1]),
        "not at once: {begun:?}"
    );
    assert_eq!(RADIO.state(), State::Closed);
    pass!(
        "{sleeping} wake-ups instead of {polling} in ten seconds; four senders come back {}, {} and {} ms \
         after the first",
        begun[1] - begun[0],
        begun[2] - begun[0],
        begun[3] - begun[0],
    );
}
