//! An outage as the host reads it: the breaker's `defmt` lines, decoded by `defmt-print`.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::{Breaker, Config, DefmtLog, EmbassyClock, word::NativeWord};
use embassy_executor::Spawner;
use embassy_time::Timer;
// Takes the lines to the host.
use defmt_semihosting as _;

static RADIO: Breaker<NativeWord, (), DefmtLog> = Breaker::from_parts(
    NativeWord::new(0),
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::from_millis(512))
        .tick_log2_ms(0)
        .probe_lease(Duration::from_secs(5)),
    EmbassyClock,
    (),
    DefmtLog::new("radio"),
);

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
