// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts that fail occasionally, and calls to them.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{AnyPermit, Failure, Guard, KeyGuard, Outcome};
use tokio::time::{Instant, sleep};

use super::app::Service;

/// A host, how many seconds of each period it fails, the period in seconds, and the text of its error.
const HOSTS: [(&str, u64, u64, &str); 5] = [
    ("accounts.example", 0, 1, ""),
    ("images.example", 60, 60, "connection refused"),
    ("search.example", 8, 20, "503 Service Unavailable"),
    ("mail.example", 5, 45, "timed out after 3s"),
    ("<b>odd</b>.example", 30, 40, "certificate has expired"),
];

/// Calls each host ten times a second, and the database.
pub(crate) async fn run(service: Arc<Service>) {
    let started = Instant::now();
    loop {
        let second = started.elapsed().as_secs();
        for (host, fails, of, words) in HOSTS {
            let Ok(permit) = KeyGuard::new(&*service.hosts, Arc::from(host)).acquire() else {
                continue;
            };
            if second % of < fails {
                let _ =
                    permit.report_because(Outcome::Failure(Failure::new()), || words.to_owned());
            } else {
                let _ = permit.report(Outcome::Success);
            }
        }
        let is_down = second % 30 > 20;
        let query = async || {
            if is_down {
                Err("deadlock detected")
            } else {
                Ok(())
            }
        };
        let _ = service.database.call_async(query).await;
        sleep(Duration::from_millis(100)).await;
    }
}
