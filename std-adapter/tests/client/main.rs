//! Everything around an HTTP client: in paused time, and hyper-util's client.
//!
//! | file | what |
//! |---|---|
//! | `errors` | whose fault an error of hyper-util's client is, over loopback |
//! | `bodies` | bodies that break off, over loopback |
//! | `server` | a host that answers as the path says |
//! | `requests` | what becomes of requests |
//! | `settings` | what contradicts itself; the plan as text |
#![cfg(feature = "client")]

mod bodies;
mod errors;
#[path = "../support/host.rs"]
mod host;
mod requests;
mod server;
mod settings;
