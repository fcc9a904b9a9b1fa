// SPDX-License-Identifier: MIT OR Apache-2.0
//! No pause goes past the deadline.

use atomic_breaker_tower::{Backoff, RetryConfig, RetryLayer};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::server::Request::Read;
use crate::server::{LENIENT, Server, always, fail};
use crate::{MS, budget};

#[tokio::test(start_paused = true)]
async fn no_try_begins_after_the_deadline_and_no_pause_is_in_vain() {
    let config = RetryConfig::new()
        .tries(1_000)
        .within(400 * MS)
        .backoff(Backoff::new().longest(100 * MS));
    for _ in 0..100 {
        let server = Server::that_takes(30 * MS, LENIENT, |_| fail());
        let client = server.client(RetryLayer::new(config, budget(), always));
        let begin = Instant::now();
        assert!(client.oneshot(Read).await.is_err());
        let calls = server.calls();
        let last = *calls.last().unwrap();
        // tokio rounds up to the next millisecond.
        assert!(last - begin <= 401 * MS, "{:?}", last - begin);
        assert_eq!(
            Instant::now() - last,
            30 * MS,
            "answered when the last try ended"
        );
        assert!(calls.len() > 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_that_takes_longer_than_all_the_time_is_the_last() {
    let server = Server::that_takes(500 * MS, LENIENT, |_| fail());
    let config = RetryConfig::new().within(400 * MS);
    let client = server.client(RetryLayer::new(config, budget(), always));
    assert!(client.oneshot(Read).await.is_err());
    assert_eq!(server.calls().len(), 1);
}
