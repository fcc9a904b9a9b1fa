// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loop without embassy and without tasks: the timer's interrupt counts milliseconds, and the loop reads a sensor that is
//! silent for a while. What bare metal firmware looks like, with a handle of size zero.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::{AtomicU32, Ticks};
use atomic_breaker::{Breaker, CallError, Clock, Config, State, static_breaker};
use core::sync::atomic::Ordering::Relaxed;
use firmware::{on_interrupt, pass, start};

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

struct Uptime;

impl Clock for Uptime {
    fn now_ms(&self) -> u32 {
        MILLISECONDS.load(Relaxed)
    }
}

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_millis(200));

static_breaker! {
    /// With ticks of a millisecond.
    struct Sensor: Breaker<Uptime, Ticks<AtomicU32, 0>> =
        Breaker::builder(RULES, Uptime).word(Ticks(AtomicU32::new(0)));
}

/// The sensor answers again after this many milliseconds.
const BACK_MS: u32 = 500;

struct Silent;

fn read() -> Result<u32, Silent> {
    if Uptime.now_ms() < BACK_MS {
        Err(Silent)
    } else {
        Ok(21)
    }
}

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    on_interrupt(|| {
        MILLISECONDS.fetch_add(1, Relaxed);
    });
    let _ = start();
    let (mut failed, mut rejected) = (0, 0);
    let degrees = loop {
        match Sensor.call(read) {
            Ok(degrees) => break degrees,
            Err(CallError::Failed(Silent)) => failed += 1,
            Err(CallError::Rejected(rejection)) => {
                rejected += 1;
                // Other work, for as long as the breaker is open: here a nap.
                let until = Uptime.now_ms() + rejection.retry_in_ms().unwrap_or(1);
                while Uptime.now_ms() < until {}
            }
        }
    };
    // Three to trip, then one each 200 ms.
    assert_eq!((degrees, failed, Sensor.state()), (21, 5, State::Closed));
    assert_eq!(size_of_val(&Sensor), 0);
    pass!("{failed} reads of a sensor that was silent for {BACK_MS} ms, {rejected} rejections");
}
