// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes as events of `tracing`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use crate::support::World;
use serde_json::json;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// For all tests of this process, as commands run on threads of their own; those of this one are told by the key.
#[tokio::test]
async fn each_change_is_logged_with_its_operator() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(log).unwrap();
    let world = World::new();
    let app = world.app();
    world.trip("logged\nhere");
    app.changed(json!({ "of": "hosts", "key": "logged\nhere", "do": "reset" }))
        .await;
    app.change(&json!({ "of": "hosts", "key": "not logged here", "do": "reset" }))
        .await
        .refused(404);
    #[cfg(feature = "steps")]
    {
        crate::jobs::cancel("cancelled\nhere").await;
        crate::jobs::cancel_and_hang_up("left").await;
        crate::jobs::cancel_in_doubt("in doubt").await;
    }
    let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = lines
        .lines()
        .find(|line| line.contains("here") && line.contains("reset"));
    let line = line.expect(&lines);
    assert!(line.contains("logged\\\\nhere"), "in one line: {line}");
    for part in [
        "INFO atomic_breaker::admin: open -> closed: by command",
        "circuit_breaker.name=\"hosts\"",
        "circuit_breaker.command=\"reset\"",
        "circuit_breaker.operator=\"alice\"",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!lines.contains("not logged here"), "nothing was changed");
    #[cfg(feature = "steps")]
    {
        for (key, message) in [
            ("cancelled\\\\nhere", "it is cancelled"),
            ("left", "it is cancelled"),
            ("in doubt", "it may or may not be done"),
        ] {
            let key = format!("circuit_breaker.key=\"{key}\"");
            let line = lines
                .lines()
                .find(|line| line.contains(&key))
                .expect(&lines);
            for part in [
                &format!("INFO atomic_breaker::admin: {message}"),
                "circuit_breaker.name=\"office\"",
                "circuit_breaker.job=1",
                "circuit_breaker.command=\"cancel\"",
                "circuit_breaker.operator=\"alice\"",
            ] {
                assert!(line.contains(part), "{part} in {line}");
            }
        }
    }
}
