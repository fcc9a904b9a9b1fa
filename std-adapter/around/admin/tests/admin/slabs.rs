// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that other processes have opened: those of keys in memory that processes share, and a single one.

use crate::support::{App, assert_has};
use atomic_breaker_admin::{Admin, Timeline};
use atomic_breaker_mapped::{BootClock, Config, MappedSlab, State, for_forks};
use serde_json::json;
use std::sync::Arc;

fn slab(keys: u32) -> Arc<MappedSlab> {
    let rules = Config::new().consecutive_failures(2);
    let builder = MappedSlab::builder(rules).capacity(keys);
    Arc::new(builder.for_forks().unwrap())
}

fn app(slab: &Arc<MappedSlab>) -> App {
    App::of(Admin::new(&Timeline::new()).slab("hosts", Arc::clone(slab)))
}

/// As another process does: nobody is notified here.
fn fail(slab: &MappedSlab<BootClock>, key: impl AsRef<[u8]>, times: u32) {
    for _ in 0..times {
        let breaker = slab.breaker(&key).unwrap();
        breaker.acquire().unwrap().failure();
    }
}

#[tokio::test]
async fn keys_that_other_processes_have_opened_are_listed_by_their_names() {
    let slab = slab(3);
    let app = app(&slab);
    fail(&slab, "a.example", 2);
    fail(&slab, "b.example", 1);
    fail(&slab, [b'c', 0xFF], 1);
    assert!(slab.breaker("d.example").is_err());
    let status = app.get("/status").await.json();
    let [open, failing, other] = &status["entries"].as_array().unwrap()[..] else {
        panic!("{status:#}")
    };
    assert_has(
        open,
        &json!({ "of": "hosts", "key": "a.example", "state": "open", "trips": 1 }),
    );
    assert_has(
        failing,
        &json!({ "key": "b.example", "state": "closed", "failures": 1 }),
    );
    assert_has(other, &json!({ "key": "c\u{FFFD}", "last_failure": null }));
    let source = &status["sources"][0];
    assert_has(
        source,
        &json!({ "kind": "slab", "can_change_rules": false, "enforced_percent": null }),
    );
    let keys = json!({ "known": 3, "capacity": 3, "evicted": 0, "unguarded": 1 });
    assert_eq!(source["keys"], keys);
}

#[tokio::test]
async fn a_command_for_a_key_is_one_for_all_processes() {
    let slab = slab(8);
    let app = app(&slab);
    fail(&slab, "a.example", 2);
    let closed = app
        .changed(json!({ "of": "hosts", "key": "a.example", "do": "reset" }))
        .await;
    assert_eq!(closed["entry"]["state"], "closed");
    assert_eq!(slab.get("a.example").unwrap().state(), State::Closed);
    let missing = json!({ "of": "hosts", "key": "z.example", "do": "reset" });
    app.refuses(&missing, 404, "no slot").await;
    app.refuses(
        &json!({ "of": "hosts", "do": "reset" }),
        400,
        "a key is missing",
    )
    .await;
    assert_eq!(slab.keys(), 1, "no request takes a slot");
}

#[tokio::test]
async fn keys_that_show_the_same_name_are_left_alone() {
    let slab = slab(8);
    let app = app(&slab);
    fail(&slab, [0xFE], 2);
    fail(&slab, [0xFF], 2);
    let change = json!({ "of": "hosts", "key": "\u{FFFD}", "do": "reset" });
    app.refuses(&change, 409, "several keys have this name")
        .await;
}

#[tokio::test]
async fn their_rules_are_those_of_all_processes() {
    let slab = slab(8);
    let app = app(&slab);
    fail(&slab, "a.example", 1);
    for change in [
        json!({ "of": "hosts", "do": "set-rules", "rules": { "consecutive_failures": 9 } }),
        json!({ "of": "hosts", "key": "a.example", "do": "clear-rules" }),
    ] {
        app.refuses(&change, 409, "replace_unused").await;
    }
}

#[tokio::test]
async fn a_single_breaker_that_another_process_has_opened_is_shown_open() {
    let database = Arc::new(for_forks(Config::new()).unwrap());
    let app = App::of(Admin::new(&Timeline::new()).breaker("database", Arc::clone(&database)));
    // The word is what another process has changed.
    let elsewhere = database.word().clone();
    let rules = Config::new();
    atomic_breaker_mapped::Breaker::shared(elsewhere, rules, BootClock).trip();
    let status = app.get("/status").await.json();
    assert_has(
        &status["entries"][0],
        &json!({ "of": "database", "state": "open" }),
    );
}
