// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word lies in RAM that start-up does not clear: a device that is down is still known to be down after a
//! reset and after the next one. After a loss of power the memory may hold anything, and none of it is believed.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, Bits, Retained};
use atomic_breaker_embassy::{Breaker, Cause, Config, EmbassyClock, State};
use embassy_executor::Spawner;
use embassy_time::{Instant, Timer};
use firmware::{pass, reset};
use portable_atomic::Ordering::Relaxed;

#[unsafe(link_section = ".uninit.word")]
static WORD: Retained = Retained::new();
/// The number of times that the chip has started. The emulator's memory begins with zeros.
#[unsafe(link_section = ".uninit.starts")]
static STARTS: AtomicU32 = AtomicU32::new(0);

const RESETS: u32 = 3;
const OPEN_FOR: Duration = Duration::from_secs(20);

static RADIO: Breaker<EmbassyClock, &Retained> = Breaker::over(
    &WORD,
    Config::new().consecutive_failures(2).open_for(OPEN_FOR),
    EmbassyClock,
);

/// Bits that the memory may hold after a loss of power; at worst a breaker that is open for long.
const ANYTHING: u32 = 0x9E37_7B09;

/// The power fails, and comes back.
fn lose_power() {
    let memory = (&raw const WORD).cast_mut().cast::<[u32; 3]>();
    // SAFETY: as large as the word and its mark, which are nothing but atomics, and nothing else runs.
    unsafe { memory.write_volatile([ANYTHING; 3]) };
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    match STARTS.fetch_add(1, Relaxed) {
        0 => after_power_loss().await,
        starts @ 1..=RESETS => after_reset(starts).await,
        _ => at_last(),
    }
    // Something besides the radio is wrong, too.
    reset();
}

async fn after_power_loss() {
    lose_power();
    assert!(
        ANYTHING.check().is_ok() && RADIO.snapshot().entered() == State::Open,
        "it looks like a breaker"
    );
    assert!(RADIO.restore().is_err(), "and is not believed");
    assert_eq!(RADIO.state(), State::Closed);

    // Long after the start, so that the time of the next start has nothing to do with it.
    Timer::after_secs(15).await;
    for _ in 0..2 {
        RADIO.acquire().expect("closed").failure();
    }
    assert_eq!(RADIO.state(), State::Open);
}

async fn after_reset(starts: u32) {
    // The clock has started over: half of what was left counts as passed.
    let restored = RADIO.restore().expect("the memory is kept");
    assert!(restored.is_some_and(|told| told.cause == Cause::Restored));
    assert_eq!(RADIO.state(), State::Open, "not forgotten");
    let left = RADIO.acquire().expect_err("open").retry_in();
    let half = OPEN_FOR / (1 << starts);
    assert!(
        left.is_some_and(|left| left >= half && left <= half + half / 4),
        "{left:?}"
    );
    assert_eq!(RADIO.snapshot().trips(), 1, "the same trip");
    if starts < RESETS {
        return;
    }
    while let Err(rejected) = RADIO.acquire().map(|probe| probe.success()) {
        let left = rejected.retry_in_ms().expect("not forced open");
        Timer::after_millis(left.into()).await;
    }
    assert!(Instant::now().as_millis() >= 2_500);
    assert_eq!(RADIO.state(), State::Closed);
    RADIO.trip();
    lose_power();
}

fn at_last() -> ! {
    assert!(RADIO.restore().is_err(), "what it held is lost");
    assert_eq!(RADIO.state(), State::Closed);
    assert_eq!(RADIO.restore(), Ok(None), "marked again");
    pass!(
        "open through {RESETS} resets, closed by a probe after an eighth of the open time; what is left after a loss \
         of power is not believed, though it looks like a breaker"
    );
}
