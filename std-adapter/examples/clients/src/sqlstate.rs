// SPDX-License-Identifier: MIT OR Apache-2.0
//! The codes of PostgreSQL's errors. Both of its clients use this.

use atomic_breaker_server::{Failure, Outcome};

/// Returns whether the connection leads to a standby, perhaps one that used to be the primary: a new one resolves the
/// name again. Reads succeed there, so no breaker opens by a few writes among them.
pub fn is_of_a_standby(code: &str) -> bool {
    code == "25006"
}

/// Returns whether the server refuses each write, and answers reads: it is a standby, or its disk is full.
pub fn refuses_writes(code: &str) -> bool {
    is_of_a_standby(code) || code == "53100"
}

/// By class, which are the first two characters, and by code.
pub fn classify(code: &str) -> Outcome {
    let class = code.get(..2).unwrap_or_default();
    match (class, code) {
        // The server ended a session because the application left it idle.
        (_, "57P05" | "25P03") => Outcome::Ignored,
        // An internal error is as often that of one query as that of the server.
        ("XX", _) => Outcome::Ignored,
        // A full disk fails writes alone, and opening would turn away the reads: writes have a breaker of their own.
        (_, "53100") => Outcome::Success,
        // Connections; no login, no such database; no memory or connection left; shut down or starting, or cancelled
        // by `statement_timeout`; a fault of its files. No query of anybody would do better.
        ("08" | "28" | "3D" | "53" | "57" | "58", _) => Failure::new().into(),
        // A write on a standby.
        _ if is_of_a_standby(code) => Failure::new().into(),
        // A unique violation, a syntax error, a serialization failure, a deadlock: the server is well, as it answered.
        _ => Outcome::Success,
    }
}
