// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that is back with empty caches.

use atomic_breaker_tune::ColdServer;
use atomic_breaker_tune::engine::Warming;
use std::time::Duration;

#[test]
fn a_cold_server_bears_more_the_longer_it_is_back() {
    let server = ColdServer::new(10, Duration::from_secs(10));
    // 1,000 calls a second, of which it is sent all.
    let borne = |at_us: u64| {
        let mut warming = Warming::new(server, 5_000_000, 1_000.0);
        (0..100).filter(|_| warming.bears(at_us)).count()
    };
    let times = [4_900_000, 5_000_000, 10_000_000, 14_000_000, 15_000_000];
    assert_eq!(times.map(borne), [100, 10, 55, 91, 100]);
}
