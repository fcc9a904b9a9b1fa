//! The adapter on embassy's mock time: every millisecond happens when a test says so.

mod clock;
mod elsewhere;
mod guarded;
mod guarded_limits;
mod half_open;
mod observers;
mod prober;
mod promises;
mod ready;
mod retry;
mod returning;
mod sim;
mod spread;
mod timeout;
