//! The adapter on embassy's mock time: every millisecond happens when a test says so.

mod guarded;
mod prober;
mod ready;
mod retry;
mod sim;
mod timeout;
