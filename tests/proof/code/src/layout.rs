// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places of the settings in memory: each setting of these has another number, by which the prover finds it.

use core::mem::{offset_of, size_of};
use core::time::Duration;

use atomic_breaker::Config;

const fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[used]
#[unsafe(no_mangle)]
pub static SAMPLES: [Config; 4] = [
    Config::new()
        .consecutive_failures(0x1101_1101)
        .open_for(ms(0x2202_2202))
        .linear(ms(0x3303_3303), ms(0x4404_4404))
        .seed(0x5505_5505)
        .max_retry_after(ms(0x6606_6606))
        .gradual_return(0x77, ms(0x0708_0708))
        .probe_lease(ms(0x0809_0809))
        .cancel_limit(ms(0x090A_090A))
        .probes(0xA0B1)
        .close_after(0xC0D1)
        .jitter_percent(0xE5)
        .slow_call(ms(0x0F01_0F01)),
    Config::new()
        .consecutive_failures(0x1201_1201)
        .lasting(ms(0x1301_1301))
        .exponential_percent(0x64_00, ms(0x4404_4404)),
    Config::new().failures_within(0x1401_1401, ms(0x1501_1501)),
    Config::new().tally_only(),
];

/// The places where the fields of [`Config`] begin, in the order of its declaration, and its size.
#[used]
#[unsafe(no_mangle)]
pub static OFFSETS: [u32; 14] = [
    offset_of!(Config, growth) as u32,
    offset_of!(Config, seed) as u32,
    offset_of!(Config, max_retry_after_ms) as u32,
    offset_of!(Config, gradual_return) as u32,
    offset_of!(Config, open_for_ms) as u32,
    offset_of!(Config, probe_lease_ms) as u32,
    offset_of!(Config, cancel_limit_ms) as u32,
    offset_of!(Config, probes) as u32,
    offset_of!(Config, close_after) as u32,
    offset_of!(Config, jitter_percent) as u32,
    offset_of!(Config, failure_ratio) as u32,
    offset_of!(Config, slow_call_ms) as u32,
    offset_of!(Config, trip) as u32,
    size_of::<Config>() as u32,
];
