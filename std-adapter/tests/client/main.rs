//! Everything around an HTTP client, in paused time.
//!
//! | file | what |
//! |---|---|
//! | `requests` | what becomes of requests |
//! | `settings` | what contradicts itself; the plan as text |
#![cfg(feature = "client")]

mod requests;
mod settings;
