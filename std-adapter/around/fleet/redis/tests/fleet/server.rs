// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real server for each test, where one is wanted.

use std::io::{self, Write};
use std::ops::Deref;
use std::process::Command;
use std::sync::Once;

use atomic_breaker_fleet_redis::RedisFleet;

use crate::redis_server::RedisServer;

pub(crate) struct Server {
    server: RedisServer,
    id: u32,
}

static SKIPPED: Once = Once::new();

/// Set by `tests/engines/run`, which installs a server.
const WANTED: &str = "ATOMIC_BREAKER_NEEDS_REDIS";

impl Server {
    /// `None` where no server is wanted.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Option<Self> {
        Self::is_wanted().then(|| Self::of(RedisServer::start_with(arguments)))
    }

    pub(crate) fn start_at(port: u16) -> Option<Self> {
        Self::is_wanted().then(|| Self::of(RedisServer::start_at(port, &[])))
    }

    fn is_wanted() -> bool {
        let is_wanted = std::env::var_os(WANTED).is_some();
        if !is_wanted {
            SKIPPED.call_once(|| {
                // Bypasses the capture of printed output.
                let line = "skipped: needs redis-server, run tests/engines/run fleet";
                let _ = writeln!(io::stderr(), "{line}");
            });
        }
        is_wanted
    }

    fn of(started: io::Result<RedisServer>) -> Self {
        let server = started.expect("redis-server: tests/engines/run fleet installs it");
        // A server that requires a password gets no command and no signal.
        let id = server.id().unwrap_or(0);
        Self { server, id }
    }

    pub(crate) fn fleet(&self) -> RedisFleet {
        RedisFleet::new(&self.address(), "test").unwrap()
    }

    /// `STOP`, `CONT`: by the id of this process alone.
    pub(crate) fn signal(&self, signal: &str) {
        assert_ne!(self.id, 0);
        send(signal, self.id);
    }

    pub(crate) fn command(&self, words: &[&str]) -> String {
        self.server.command(words).unwrap()
    }

    pub(crate) fn done(&self, command: &str) -> u64 {
        self.server.done(command).unwrap()
    }
}

impl Deref for Server {
    type Target = RedisServer;

    fn deref(&self) -> &RedisServer {
        &self.server
    }
}

pub(crate) fn send(signal: &str, id: u32) {
    let sent = Command::new("kill")
        .arg(format!("-{signal}"))
        .arg(id.to_string())
        .status();
    assert!(sent.unwrap().success());
}
