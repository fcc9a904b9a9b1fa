// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timed tests. `tests/engines/run` runs them alone, one after the other, with the promised limits;
//! beside other tests the limits are those of a busy machine.
//!
//! | file | what |
//! |---|---|
//! | `crowd` | a thousand votes at once, a thousand subscribers |
//! | `many` | ten thousand breakers that are open |
//! | `latency` | calls, whatever happens to the server |

mod crowd;
mod latency;
mod many;

use std::time::Duration;

/// The largest number of laps, of which one has to hold: the machine may be busy.
const LAPS: usize = 3;

/// Of a few laps the best one.
async fn best(mut lap: impl AsyncFnMut() -> Duration) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..LAPS {
        best = best.min(lap().await);
    }
    best
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
