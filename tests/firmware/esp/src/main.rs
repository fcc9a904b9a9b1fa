// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loop on an ESP32-C3, without an executor.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use atomic_breaker::{Breaker, Clock, Config};
use esp_hal::time::Instant;

struct Uptime;

impl Clock for Uptime {
    fn now_ms(&self) -> u32 {
        // It wraps, as a breaker expects.
        Instant::now().duration_since_epoch().as_millis() as u32
    }
}

static SENSOR: Breaker<Uptime> = Breaker::new(Config::new().consecutive_failures(3), Uptime);

struct Silent;

fn read() -> Result<u32, Silent> {
    Err(Silent)
}

#[esp_hal::main]
fn main() -> ! {
    let _peripherals = esp_hal::init(esp_hal::Config::default());
    loop {
        let _ = SENSOR.call(read);
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
