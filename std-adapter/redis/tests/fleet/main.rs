//! Fleets on a real server of Redis.
//!
//! | file | what |
//! |---|---|
//! | `contract` | what every engine does alike: from the tests of the std adapter |
//! | `server` | a server of its own for each test |
//! | `epochs` | flushes, expiry, keys of others |
//! | `outages` | a server that is stopped, killed, flushed, in the midst of an outage |
//! | `speed` | a thousand votes and a thousand subscribers, with figures |

#[path = "../../../tests/fleet/contract/mod.rs"]
mod contract;
mod epochs;
mod outages;
mod server;
mod speed;

use atomic_breaker_redis::RedisFleet;
use server::Server;

fn run(promise: impl AsyncFnOnce(RedisFleet)) {
    let Some(server) = Server::start() else {
        return;
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(promise(server.fleet()));
}

contract!(run);

#[test]
fn a_prefix_that_would_break_out_of_its_keys_is_rejected() {
    for prefix in ["", "a}b", "{", "a b", "a\n", "ä", &"x".repeat(65)] {
        let error = RedisFleet::new("redis://127.0.0.1/", prefix).unwrap_err();
        assert!(error.to_string().contains("1 to 64"), "{prefix}: {error}");
    }
    assert!(RedisFleet::new("redis://127.0.0.1/", "shop:eu-1_a.b").is_ok());
}

#[test]
fn an_address_that_is_none_is_named() {
    let error = RedisFleet::new("127.0.0.1", "shop").unwrap_err();
    assert!(error.to_string().contains("address"), "{error}");
}
