// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything around an HTTP client: in paused time, and hyper-util's client.
//!
//! | file | what |
//! |---|---|
//! | `errors` | whose fault an error of hyper-util's client is, over loopback |
//! | `bodies` | truncated bodies, over loopback |
//! | `body_limits` | hosts that keep the readers of their bodies waiting |
//! | `body_waits` | bodies whose readers keep them, or do something else now and then |
//! | `server` | a host that answers as the path says |
//! | `clocks` | a clock of the caller's own |
//! | `crowd` | forty callers at once of a host that loses most of its connections, over loopback |
//! | `file` | settings in a file |
//! | `health` | hosts that are shut out are asked whether they are back |
//! | `held` | who holds a guard and its clients |
//! | `in_flight` | a host that hangs is noticed by its calls in flight |
//! | `keyed` | guards for other keys than hosts |
//! | `leaving` | callers that leave before their host has answered |
//! | `leaving_bodies` | the same before the head, where the body decides |
//! | `liveness` | days with a host that fails and recovers, and callers of any patience |
//! | `observed` | who is notified of tries that failed |
//! | `partial` | a host that answers most requests: what serves one of them ill shuts out no other |
//! | `passes` | a health check passes its own guard and nothing else |
//! | `probe_limits` | how long a probe may take |
//! | `quota` | one tenant over its quota, beside others |
//! | `reachable` | minimums that a host which hangs never reaches |
//! | `refused` | requests that a host refuses unprocessed, through a stack of layers, over loopback |
//! | `repairs` | a layer below the guard that repairs within a probe |
//! | `requests` | what becomes of requests |
//! | `streams` | HTTP/2: what the end of a connection says, over loopback |
//! | `slow` | a host that answers too late |
//! | `stale` | idle connections whose host lost its side unnoticed, over loopback |
//! | `retries` | what is tried again, and when |
//! | `twice` | the same guard twice in one stack |
//! | `settings` | settings that contradict each other; the plan as text |

use std::time::Duration;

use atomic_breaker_http::{ClientConfig, Config, Ratio, State};

/// The preset with rules that are easy to count by, whatever its own are: five failures in a row, a second that doubles.
const fn five_in_a_row() -> ClientConfig {
    let half = Ratio::percent(50)
        .within(Duration::from_secs(10))
        .min_calls(20);
    let rules = Config::new()
        .consecutive_failures(5)
        .failure_ratio(half)
        .open_for(Duration::from_secs(1))
        .exponential(2, Duration::from_secs(30))
        .max_retry_after(Duration::from_secs(60))
        .jitter_percent(20);
    ClientConfig::new().breaker(rules)
}

/// Returns whether all calls pass: closed, or returning after an outage.
fn is_served(state: State) -> bool {
    matches!(state, State::Closed | State::Returning)
}

mod bodies;
mod body_limits;
mod body_waits;
mod clocks;
mod crowd;
mod errors;
#[cfg(feature = "serde")]
mod file;
mod health;
mod held;
mod in_flight;
mod keyed;
mod leaving;
mod leaving_bodies;
mod liveness;
mod observed;
mod partial;
mod passes;
mod probe_limits;
mod quota;
mod reachable;
#[cfg(feature = "http2")]
mod refused;
mod repairs;
mod requests;
mod retries;
mod server;
mod settings;
mod slow;
mod stale;
#[cfg(feature = "http2")]
mod streams;
mod twice;
