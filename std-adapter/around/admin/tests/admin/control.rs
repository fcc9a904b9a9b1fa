// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes by an operator.

use crate::support::{App, RULES, World, assert_has};
use atomic_breaker_admin::Timeline;
use atomic_breaker_server::{Guard, State};
use serde_json::json;

#[tokio::test]
async fn each_command_does_what_its_name_says() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    let do_it = async |command: &str| {
        let change = json!({ "of": "hosts", "key": "a", "do": command });
        app.change(&change).await.json()["entry"]["state"].clone()
    };
    assert_eq!(do_it("probe-now").await, "half-open");
    assert_eq!(do_it("trip").await, "open");
    assert_eq!(do_it("reset").await, "closed");
    assert_eq!(do_it("force-open").await, "forced-open");
    assert_eq!(do_it("release").await, "half-open");
    assert_eq!(do_it("disable").await, "disabled");
    assert_eq!(do_it("enable").await, "closed");
    let tripped = app
        .changed(json!({ "of": "hosts", "key": "a", "do": "trip", "for_ms": 90_000 }))
        .await;
    assert_eq!(tripped["transition"]["open_for_ms"], 90_000);
    assert_eq!(tripped["text"], "closed -> open: by command, for 90s");
}

#[tokio::test]
async fn a_single_breaker_takes_commands_under_its_name() {
    let world = World::new();
    let app = world.app();
    let trip = app
        .changed(json!({ "of": "payments", "do": "force-open" }))
        .await;
    assert_eq!(
        (&trip["changed"], &trip["entry"]["state"]),
        (&json!(true), &json!("forced-open"))
    );
    assert_eq!(world.payments.breaker().state(), State::ForcedOpen);
    let keyed = json!({ "of": "payments", "key": "a", "do": "reset" });
    app.refuses(&keyed, 400, "leave the key out").await;
    assert_eq!(world.payments.breaker().state(), State::ForcedOpen);
}

#[tokio::test]
async fn a_command_that_does_not_apply_changes_nothing_and_says_so() {
    let world = World::new();
    let app = world.app();
    let release = app
        .changed(json!({ "of": "payments", "do": "release" }))
        .await;
    assert_eq!(release["changed"], false);
    assert_eq!(
        release["text"],
        "release changes nothing while it is closed"
    );
    assert_eq!(app.get("/timeline").await.json()["events"], json!([]));
}

#[tokio::test]
async fn a_change_creates_no_key() {
    let world = World::new();
    let app = world.app();
    world
        .hosts
        .of("healthy".to_owned())
        .call(|| Ok::<_, &str>(()))
        .unwrap();
    for change in [
        json!({ "do": "reset" }),
        json!({ "do": "force-open" }),
        json!({ "do": "trip", "for_ms": 1 }),
        json!({ "do": "set-rules", "rules": {} }),
        json!({ "do": "clear-rules" }),
    ] {
        for key in ["healthy", "never seen", ""] {
            let mut change = change.clone();
            change["of"] = json!("hosts");
            change["key"] = json!(key);
            app.refuses(&change, 404, "this key has no slot").await;
        }
    }
    app.refuses(
        &json!({ "of": "host", "key": "a", "do": "reset" }),
        404,
        "\"host\"",
    )
    .await;
    app.refuses(
        &json!({ "of": "hosts", "do": "reset" }),
        400,
        "a key is missing",
    )
    .await;
    app.get("/rules?of=hosts&key=never")
        .await
        .refused_with(404, "this key has no slot");
    assert_eq!(world.hosts.stats().keys, 0);
}

#[tokio::test]
async fn requests_that_contradict_themselves_are_refused() {
    let app = World::new().app();
    for (change, words) in [
        (
            json!({ "of": "payments", "do": "reset", "for_ms": 1 }),
            "for_ms is only for trip",
        ),
        (
            json!({ "of": "payments", "do": "trip", "for_ms": 2_144_448_001_u32 }),
            "24.8 days",
        ),
        (
            json!({ "of": "payments", "do": "trip", "for_ms": -1 }),
            "invalid value",
        ),
        (
            json!({ "of": "payments", "do": "reset", "rules": {} }),
            "rules are only for set-rules",
        ),
        (
            json!({ "of": "payments", "do": "reset", "percent": 1 }),
            "percent is only for enforce",
        ),
        (
            json!({ "of": "payments", "do": "enforce" }),
            "enforce needs percent",
        ),
        (
            json!({ "of": "hosts", "do": "set-rules" }),
            "set-rules needs rules",
        ),
        (
            json!({ "of": "hosts", "do": "enforce", "percent": 1, "epoch": 1 }),
            "epoch is only for",
        ),
        (json!({ "of": "payments", "do": "explode" }), "probe-now"),
        (
            json!({ "of": "payments", "do": "trip", "ms": 1 }),
            "unknown field `ms`",
        ),
        (json!({ "do": "trip" }), "missing field `of`"),
    ] {
        let error = app.change(&change).await.refused(422);
        assert!(error.contains(words), "{change}: {error}");
    }
}

#[tokio::test]
async fn the_second_of_two_operators_learns_that_it_has_changed() {
    let world = World::new();
    let app = world.app();
    world.trip("a");
    let seen = app.get("/status").await.json()["entries"][0]["epoch"].clone();
    let hold = json!({ "of": "hosts", "key": "a", "do": "force-open", "epoch": seen });
    let reset = json!({ "of": "hosts", "key": "a", "do": "reset", "epoch": seen });
    assert_eq!(app.change(&hold).await.json()["changed"], true);
    assert_eq!(
        app.change(&reset).await.refused(409),
        "it has changed since you looked, and nothing was done: it is forced open now, at epoch 2 instead of 1, \
         open -> forced open: by command, by alice; look again"
    );
    assert_eq!(world.hosts.state(&"a".to_owned()), State::ForcedOpen);
    world.payments.breaker().trip();
    let reset = json!({ "of": "payments", "do": "reset", "epoch": 0 });
    assert_eq!(
        app.change(&reset).await.refused(409),
        "it has changed since you looked, and nothing was done: it is open now, at epoch 1 instead of 0, \
         closed -> open: by command, for 5s; look again"
    );
}

#[tokio::test]
async fn a_manual_change_names_its_operator() {
    let world = World::new();
    let app = world.app();
    app.changed(json!({ "of": "payments", "do": "trip" })).await;
    world.payments.breaker().reset();
    let events = app.get("/timeline").await.json()["events"].clone();
    // By the program.
    assert_has(&events[0], &json!({ "to": "closed", "by": null }));
    assert_has(&events[1], &json!({ "to": "open", "by": "alice" }));
    assert_eq!(events.as_array().unwrap().len(), 2, "each once");
}

#[tokio::test]
async fn a_reason_stands_beside_the_name_in_the_timeline() {
    let world = World::new();
    world.trip("a.example");
    let app = world.app();
    let reason = "  maintenance, ticket 7 ";
    app.changed(json!({ "of": "payments", "do": "trip", "reason": reason }))
        .await;
    app.changed(json!({ "of": "payments", "do": "reset", "reason": " " }))
        .await;
    let rules = json!({ "consecutive_failures": 3 });
    app.changed(json!({ "of": "hosts", "do": "set-rules", "rules": rules, "reason": "as agreed" }))
        .await;
    let events = app.get("/timeline").await.json()["events"].clone();
    assert_has(
        &events[0],
        &json!({ "change": "rules", "by": "alice", "reason": "as agreed" }),
    );
    assert_has(
        &events[1],
        &json!({ "to": "closed", "by": "alice", "reason": null }),
    );
    assert_has(
        &events[2],
        &json!({ "to": "open", "reason": "maintenance, ticket 7" }),
    );
    assert_has(
        &events[3],
        &json!({ "key": "a.example", "by": null, "reason": null }),
    );

    // Who looks at something else learns why it changed.
    let force = json!({ "of": "payments", "do": "force-open", "reason": "<b>drill</b>" });
    app.changed(force).await;
    let late = json!({ "of": "payments", "do": "release", "epoch": 0 });
    let refused = app.change(&late).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.body.contains("by alice, because"),
        "{}",
        refused.body
    );
    assert!(refused.body.contains("drill"), "{}", refused.body);
}

#[tokio::test]
async fn a_reason_that_is_too_long_is_refused_and_nothing_is_done() {
    let world = World::new();
    let app = world.app();
    let trip =
        |bytes: usize| json!({ "of": "payments", "do": "trip", "reason": "x".repeat(bytes) });
    let refused = app.change(&trip(257)).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.body.contains("at most 256 bytes"),
        "{}",
        refused.body
    );
    assert!(world.payments.breaker().acquire().is_ok());
    assert_eq!(app.change(&trip(256)).await.status, 200);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let world = World::new();
    let app: App = world.app();
    let trip = app
        .changed(json!({ "of": "payments", "do": "trip", "dry_run": true }))
        .await;
    assert_has(
        &trip,
        &json!({ "changed": false, "text": "trip would be attempted: it is closed now" }),
    );
    let shadow = json!({ "of": "payments", "do": "enforce", "percent": 5, "dry_run": true });
    assert_eq!(app.change(&shadow).await.json()["changed"], false);
    assert_eq!(
        (
            world.payments.breaker().state(),
            world.payments.enforcement().percent()
        ),
        (State::Closed, 100)
    );
    assert_eq!(app.get("/timeline").await.json()["events"], json!([]));
}

#[tokio::test]
async fn a_command_for_a_key_that_was_just_evicted_says_so() {
    let world = World::with(Timeline::new(), RULES, 1);
    let app = world.app();
    world.trip("a.example");
    let reset = json!({ "of": "hosts", "key": "a.example", "do": "reset" });
    assert_eq!(app.changed(reset.clone()).await["changed"], true);
    world.fail("b.example");
    let words = "has given its slot to another one while it was closed";
    app.refuses(&reset, 404, words).await;
    let rules = json!({ "of": "hosts", "key": "a.example", "do": "set-rules", "rules": RULES });
    app.refuses(&rules, 404, words).await;
    let timeline = app.get("/timeline?of=hosts&key=a.example").await.json();
    assert_eq!(timeline["events"].as_array().unwrap().len(), 2);
}
