//! What is wrong, and what to do.

use atomic_breaker_std::fleet::EngineError;
use redis::{ErrorKind, RedisError};

pub(crate) fn explained(error: &RedisError) -> EngineError {
    match advice(error) {
        Some(advice) => EngineError::new(format_args!("{error}: {advice}")),
        None => EngineError::new(error),
    }
}

fn advice(error: &RedisError) -> Option<&'static str> {
    Some(match error.code() {
        _ if error.kind() == ErrorKind::AuthenticationFailed => {
            "see to the user and the password in the address"
        }
        Some("NOAUTH") => "put the password into the address, as redis://:password@host/",
        Some("WRONGPASS") => "see to the user and the password in the address",
        Some("NOPERM") => {
            "the user needs scripts, SUBSCRIBE, HGETALL and PING, with keys and channels of {prefix}:*"
        }
        Some("DENIED") => "set a password, or bind the server to its own network",
        Some("OOM") => "give the server more memory, or a policy that evicts",
        Some("READONLY") => "this is a replica: use the address of the primary",
        Some("MOVED" | "ASK" | "CROSSSLOT") => {
            "this is a node of a cluster: use the address of the one that has the keys of {prefix}"
        }
        Some("LOADING" | "MASTERDOWN" | "CLUSTERDOWN") => "it will answer when it is ready",
        Some("WRONGTYPE") => "somebody else writes to these keys: take another prefix",
        _ => return None,
    })
}
