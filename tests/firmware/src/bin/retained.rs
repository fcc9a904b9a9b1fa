//! The word in RAM that start-up does not clear: a device that is down is still known to be down after
//! a reset, and the reset after that.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::AtomicU32;
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, State};
use embassy_executor::Spawner;
use embassy_time::{Instant, Timer};
use firmware::{pass, reset};
use portable_atomic::Ordering::Relaxed;

#[unsafe(link_section = ".uninit.word")]
static WORD: AtomicU32 = AtomicU32::new(0);
/// Says that the word was written by this program.
#[unsafe(link_section = ".uninit.mark")]
static MARK: AtomicU32 = AtomicU32::new(0);
#[unsafe(link_section = ".uninit.boots")]
static BOOTS: AtomicU32 = AtomicU32::new(0);

const WRITTEN: u32 = 0x7E7A_14ED;
const RESETS: u32 = 3;
const OPEN_FOR: Duration = Duration::from_secs(20);

static RADIO: Breaker<&AtomicU32> = Breaker::over(
    &WORD,
    Config::new().consecutive_failures(2).open_for(OPEN_FOR),
    EmbassyClock,
);

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    if MARK.load(Relaxed) == WRITTEN {
        warm_start().await;
    } else {
        cold_start().await;
    }
    // Something is wrong beside the radio, too.
    reset();
}

async fn cold_start() {
    // Real RAM holds anything now.
    WORD.store(0xDEAD_BEEF, Relaxed);
    assert!(RADIO.check().is_err(), "no breaker leaves that");
    WORD.store(0, Relaxed);
    assert_eq!(RADIO.check(), Ok(()));
    MARK.store(WRITTEN, Relaxed);
    BOOTS.store(0, Relaxed);

    // Long after the start, so that the time of the next start has nothing to do with it.
    Timer::after_secs(15).await;
    for _ in 0..2 {
        RADIO.acquire().expect("closed").failure();
    }
    assert_eq!(RADIO.state(), State::Open);
}

async fn warm_start() {
    let boots = BOOTS.fetch_add(1, Relaxed) + 1;
    assert_eq!(RADIO.check(), Ok(()));
    assert_eq!(RADIO.state(), State::Open, "not forgotten");
    // The clock has begun anew, so the open time has to.
    RADIO.trip();
    let left = RADIO.acquire().expect_err("open").retry_in();
    assert!(left.is_some_and(|left| left >= OPEN_FOR), "{left:?}");
    assert_eq!(RADIO.snapshot().trips(), 1, "the same trip");
    if boots < RESETS {
        return;
    }
    while let Err(rejected) = RADIO.acquire().map(|probe| probe.success()) {
        let left = rejected.retry_in_ms().expect("not forced open");
        Timer::after_millis(left.into()).await;
    }
    assert!(Instant::now().as_secs() >= OPEN_FOR.as_secs());
    assert_eq!(RADIO.state(), State::Closed);
    MARK.store(0, Relaxed);
    pass!(
        "open through {RESETS} resets, closed by a probe after the open time; garbage is an error"
    );
}
