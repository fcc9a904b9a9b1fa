// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers of the gateway: lines of each, and how long they were open.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use atomic_breaker_embassy::{
    Config, EmbassyClock, FacadeLog, Observer, State, Transition, word::NativeWord,
};
use embassy_time::Instant;
use firmware::println;
use log::{Log, Metadata, Record};

/// The milliseconds for which breakers were open, all together, once they are closed again.
pub struct OpenTime(AtomicU32);

impl OpenTime {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub fn take_ms(&self) -> u32 {
        self.0.swap(0, Relaxed)
    }
}

impl Observer for OpenTime {
    fn transition(&self, transition: &Transition) {
        if transition.from == State::Open {
            self.0.fetch_add(transition.at_ms, Relaxed);
        }
        if transition.to == State::Open {
            self.0.fetch_sub(transition.at_ms, Relaxed);
        }
    }
}

pub type Breaker =
    atomic_breaker_embassy::Breaker<EmbassyClock, NativeWord, (), (FacadeLog, &'static OpenTime)>;

pub const fn watched(name: &'static str, rules: Config, open: &'static OpenTime) -> Breaker {
    atomic_breaker_embassy::Breaker::builder(rules, EmbassyClock)
        .observer((FacadeLog::new(name), open))
        .build()
}

/// Lines on the console, with the time of the day.
pub struct Console;

impl Log for Console {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let seconds = Instant::now().as_secs();
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        println!(
            "{hours:02}:{minutes:02}:{:02} {} {}",
            seconds % 60,
            record.level(),
            record.args()
        );
    }

    fn flush(&self) {}
}
