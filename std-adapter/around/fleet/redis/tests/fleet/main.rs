// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fleets on a real server of Redis.
//!
//! | file | what |
//! |---|---|
//! | `server`, `redis_server`, `proxy` | a separate server for each test, and a proxy before it |
//! | `process` | instances |
//! | `epochs` | flushes, expiry, keys of others |
//! | `readings` | an instance that has heard every change reads none of the records again |
//! | `errors` | errors of the server are shown |
//! | `far` | a server whose round trips take almost as long as the limit |
//! | `outages` | a server that is stopped, killed or flushed in the middle of an outage |
//! | `failover` | a replica takes over |
//! | `grammar` | records that are not as the script writes them |
//! | `older` | a server that goes back to older records, and records that it has not made |
//! | `prober` | a process that is killed while it probes |
//! | `fleets` | one sick instance, clocks apart, what is written |
//! | `alone` | timed tests: with tight limits when `tests/engines/run` runs them alone |
//! | `figures` | figures, and their limits |

mod alone;
mod epochs;
mod errors;
mod failover;
mod far;
mod figures;
mod fleets;
mod grammar;
mod older;
mod outages;
mod prober;
mod process;
mod proxy;
mod readings;
#[path = "../../examples/fleet/redis_server.rs"]
mod redis_server;
mod server;

use std::sync::atomic::{AtomicU32, Ordering};

use atomic_breaker_fleet::contract;
use atomic_breaker_fleet_redis::RedisFleet;
use server::Server;

#[tokio::test]
async fn it_keeps_the_contract() {
    let Some(server) = Server::start() else {
        return;
    };
    let number = AtomicU32::new(0);
    contract::check(async || {
        let prefix = format!("test{}", number.fetch_add(1, Ordering::Relaxed));
        RedisFleet::new(&server.address(), &prefix).unwrap()
    })
    .await;
}

#[test]
fn a_prefix_that_would_break_out_of_its_keys_is_rejected() {
    for prefix in ["", "a}b", "{", "a b", "a\n", "ä", &"x".repeat(65)] {
        let error = RedisFleet::new("redis://127.0.0.1/", prefix).unwrap_err();
        assert!(error.to_string().contains("1 to 64"), "{prefix}: {error}");
    }
    assert!(RedisFleet::new("redis://127.0.0.1/", "shop:eu-1_a.b").is_ok());
}

#[test]
fn an_invalid_address_is_named() {
    let error = RedisFleet::new("127.0.0.1", "shop").unwrap_err();
    assert!(error.to_string().contains("address"), "{error}");
}
