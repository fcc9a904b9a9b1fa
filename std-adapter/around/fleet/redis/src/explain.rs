// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explanations of errors, with the fix.

use atomic_breaker_fleet::FleetError;
use redis::{ErrorKind, RedisError, RedisResult};

const PASSWORD: &str = "put the password into the address: redis://:password@host/";

const RIGHTS: &str = "the user needs keys and channels of {prefix}:*, and +@scripting +@hash +@sortedset +@pubsub \
                      +del +pexpire +pttl +time +ping";

/// The server refused the subscription; the client does not say why.
pub(crate) fn not_subscribed() -> FleetError {
    FleetError::new(format_args!("no subscription: {RIGHTS}"))
}

pub(crate) fn explained<T>(answer: RedisResult<T>) -> Result<T, FleetError> {
    answer.map_err(|error| match advice(&error) {
        Some(advice) => FleetError::new(format_args!("{error}: {advice}")),
        None => FleetError::new(error),
    })
}

fn advice(error: &RedisError) -> Option<&'static str> {
    Some(match error.code() {
        _ if error.kind() == ErrorKind::AuthenticationFailed => {
            "check the user and the password in the address"
        }
        // What a server says if an unauthenticated client runs a script.
        _ if error.to_string().contains("unauthenticated") => PASSWORD,
        // The commands inside a script are checked, too.
        _ if error.to_string().contains("user executing the script") => RIGHTS,
        Some("NOAUTH") => PASSWORD,
        Some("WRONGPASS") => "check the user and the password in the address",
        Some("NOPERM") => RIGHTS,
        Some("DENIED") => "set a password, or bind the server to its own network",
        Some("OOM") => "give the server more memory, or a policy that evicts",
        Some("READONLY") => "this is a replica: use the address of the primary",
        Some("MOVED" | "ASK" | "CROSSSLOT") => {
            "this is a node of a cluster: use the address of the one that has the keys of {prefix}"
        }
        Some("LOADING" | "MASTERDOWN" | "CLUSTERDOWN") => "it will answer when it is ready",
        Some("WRONGTYPE") => "another program writes to these keys: choose another prefix",
        _ => return None,
    })
}
