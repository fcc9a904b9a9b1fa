// SPDX-License-Identifier: MIT OR Apache-2.0
//! An outage in the log of the host: the breaker's `defmt` lines, decoded by `defmt-print`.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, Ticks};
use atomic_breaker_embassy::{Breaker, Config, DefmtLog, EmbassyClock};
use embassy_executor::Spawner;
use embassy_time::Timer;
// Carries the lines to the host.
use defmt_semihosting as _;

/// Ticks of a millisecond.
type Word = Ticks<AtomicU32, 0>;

static RADIO: Breaker<EmbassyClock, Word, (), DefmtLog> = Breaker::builder(
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::from_millis(512))
        .probe_lease(Duration::from_secs(5)),
    EmbassyClock,
)
.word(Ticks(AtomicU32::new(0)))
.observer(DefmtLog::new("radio"))
.build();

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    Timer::after_millis(100).await;
    for _ in 0..2 {
        RADIO.acquire().expect("closed").failure();
    }
    Timer::after_millis(300).await;
    assert!(RADIO.acquire().is_err());
    Timer::after_millis(212).await;
    RADIO.acquire().expect("a probe").success();
    semihosting::process::exit(0)
}
