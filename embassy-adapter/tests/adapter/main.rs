// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adapter on embassy's mock clock, which tests advance millisecond by millisecond.

mod can;
mod clock;
mod defmt_lines;
mod device;
mod device_repair;
mod elsewhere;
mod evidence;
mod exchange;
mod facade_log;
mod flash;
mod guarded;
mod guarded_errors;
mod guarded_limits;
mod guarded_repair;
mod half_open;
mod known;
mod observers;
mod pings_beside_calls;
mod prober;
mod promises;
mod ready;
mod repair;
mod repair_times;
mod repaired_streams;
mod retry;
mod retry_waits;
mod returning;
mod shared_bus;
mod sim;
mod spread;
mod tcp;
mod timeout;
mod try_limit;
