// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules and shadow mode, changed while running.

use std::sync::Arc;

use atomic_breaker_admin::{Admin, Recorder, Timeline};
use atomic_breaker_server::{
    AdjustableBreaker, Breaker, Guard, KeptRules, LastCalls, Registry, Resource, State, StdClock,
    TripRule, adjustable_breaker, word::NativeWord,
};
use serde_json::{Value, json};

use crate::support::{App, RULES, World, assert_has};

#[tokio::test]
async fn rules_are_compared_checked_and_set() {
    let world = World::new();
    let app = world.app();
    world.fail("a");
    let rules = json!({ "consecutive_failures": 9, "open_for_ms": 700 });
    let dry =
        json!({ "of": "hosts", "key": "a", "do": "set-rules", "rules": rules, "dry_run": true });
    let answer = app.change(&dry).await.json();
    assert_eq!(answer["changed"], false);
    assert_eq!(answer["rules"]["old"]["consecutive_failures"], 2);
    assert_eq!(answer["rules"]["new"]["consecutive_failures"], 9);
    assert_eq!(world.hosts.config_of(&"a".to_owned()), RULES);

    let set = json!({ "of": "hosts", "key": "a", "do": "set-rules", "rules": rules });
    assert_eq!(
        app.change(&set).await.json()["entry"]["has_own_rules"],
        true
    );
    let shown = app.get("/rules?of=hosts&key=a").await.json();
    assert_eq!(shown["rules"]["open_for_ms"], 700);
    let clear = json!({ "of": "hosts", "key": "a", "do": "clear-rules" });
    assert_eq!(
        app.change(&clear).await.json()["entry"]["has_own_rules"],
        false
    );

    let all = json!({ "of": "hosts", "do": "set-rules", "rules": rules });
    assert_eq!(app.change(&all).await.json()["changed"], true);
    assert_eq!(
        world.hosts.config().trip,
        TripRule::Consecutive { failures: 9 }
    );
    let events = app.get("/timeline").await.json()["events"].clone();
    let changes: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["change"])
        .collect();
    assert_eq!(
        json!(changes),
        json!(["rules", "own-rules-cleared", "rules"])
    );
    assert!(
        events
            .as_array()
            .unwrap()
            .iter()
            .all(|event| event["by"] == "alice"),
        "{events:#}"
    );
}

#[tokio::test]
async fn a_key_without_own_rules_follows_those_of_its_class() {
    let timeline = Timeline::new();
    let hosts = Registry::builder(RULES)
        .rules_by([(true, RULES.consecutive_failures(7))], |key: &String| {
            key.starts_with("slow")
        })
        .observer(timeline.recorder("hosts"));
    let hosts = Arc::new(hosts.build().unwrap());
    let app = App::of(Admin::new(&timeline).registry("hosts", Arc::clone(&hosts)));
    let key = "slow.example".to_owned();
    hosts
        .set_config_of(&key, RULES.consecutive_failures(3))
        .unwrap();
    let shown = "/rules?of=hosts&key=slow.example";
    assert_eq!(
        app.get(shown).await.json()["rules"]["consecutive_failures"],
        3
    );

    let clear =
        |dry_run| json!({ "of": "hosts", "key": key, "do": "clear-rules", "dry_run": dry_run });
    for dry_run in [true, false] {
        let answer = app.change(&clear(dry_run)).await.json();
        assert_eq!(answer["rules"]["new"]["consecutive_failures"], 7);
    }
    assert_eq!(
        app.get(shown).await.json()["rules"]["consecutive_failures"],
        7
    );
}

#[tokio::test]
async fn rules_that_do_not_fit_are_refused_with_the_fix_and_change_nothing() {
    let world = World::new();
    let app = world.app();
    world.fail("a");
    for (rules, words) in [
        (json!({ "consecutive_failures": 0 }), "set at least 1"),
        (
            json!({ "consecutive_failures": 5, "tally_only": true }),
            "keep one",
        ),
        (json!({ "consecutive_failure": 5 }), "unknown field"),
        (
            json!({ "failure_ratio": { "percent": 50, "of_last": 20 } }),
            "tally",
        ),
        (json!([]), "settings by name"),
    ] {
        for key in [json!("a"), Value::Null] {
            let set = json!({ "of": "hosts", "key": key, "do": "set-rules", "rules": rules });
            let error = app.change(&set).await.refused(422);
            assert!(error.contains(words), "{rules}: {error}");
        }
    }
    assert_eq!(
        (world.hosts.config(), world.hosts.config_of(&"a".to_owned())),
        (RULES, RULES)
    );
}

/// Single breakers: in a `static`, behind an `Arc`, and within a resource.
struct Adjusted {
    shared: Arc<AdjustableBreaker<StdClock, NativeWord, LastCalls>>,
    resource: Arc<Resource<AdjustableBreaker<StdClock, NativeWord, (), Recorder>>>,
    app: App,
}

static ALONE: AdjustableBreaker = adjustable_breaker(RULES);

fn adjusted() -> Adjusted {
    let timeline = Timeline::new();
    let shared = Breaker::builder(RULES, StdClock)
        .last_calls(LastCalls::new())
        .build_adjustable(KeptRules::new());
    let resource = Breaker::builder(RULES, StdClock)
        .observer(timeline.recorder("resource"))
        .build_adjustable(KeptRules::new());
    let (shared, resource) = (Arc::new(shared), Arc::new(Resource::new(resource)));
    let admin = Admin::new(&timeline)
        .breaker("alone", &ALONE)
        .breaker("shared", Arc::clone(&shared))
        .resource("resource", Arc::clone(&resource))
        .breaker("fixed", Arc::new(atomic_breaker_server::breaker(RULES)));
    let app = App::of(admin);
    Adjusted {
        shared,
        resource,
        app,
    }
}

#[tokio::test]
async fn rules_of_a_single_breaker_are_compared_and_set() {
    let Adjusted {
        shared,
        resource,
        app,
    } = adjusted();
    resource.breaker().trip();
    for of in ["alone", "shared", "resource"] {
        let rules = json!({ "consecutive_failures": 9, "open_for_ms": 700 });
        let dry = json!({ "of": of, "do": "set-rules", "rules": rules, "dry_run": true });
        let answer = app.change(&dry).await.json();
        assert_eq!(answer["text"], "the rules of the breaker would be as shown");
        assert_eq!(answer["changed"], false);
        assert_eq!(answer["rules"]["old"]["consecutive_failures"], 2);

        let set = json!({ "of": of, "do": "set-rules", "rules": rules });
        let answer = app.change(&set).await.json();
        assert_eq!(answer["changed"], true);
        assert_eq!(answer["entry"]["of"], of);
        assert_eq!(app.change(&set).await.json()["changed"], false, "again");
        let shown = app.get(&format!("/rules?of={of}")).await.json();
        assert_eq!(shown["rules"]["open_for_ms"], 700);
        let status = app.get(&format!("/status?of={of}")).await.json();
        let sources = status["sources"].as_array().unwrap();
        let source = sources.iter().find(|source| source["name"] == of).unwrap();
        assert_eq!(source["can_change_rules"], true);
        assert_eq!(source["rules"]["consecutive_failures"], 9);
    }
    let all = [
        *ALONE.config(),
        *shared.config(),
        *resource.breaker().config(),
    ];
    let trip = TripRule::Consecutive { failures: 9 };
    assert_eq!(all.map(|config| config.trip), [trip; 3]);
    assert_eq!(resource.breaker().state(), State::Open, "states stay");
    let events = app.get("/timeline?of=resource").await.json()["events"].clone();
    assert_has(&events[0], &json!({ "change": "rules", "by": "alice" }));
    assert_eq!(events[1]["kind"], "transition", "once");
}

#[tokio::test]
async fn rules_that_do_not_fit_a_single_breaker_are_refused_and_change_nothing() {
    let Adjusted { shared, app, .. } = adjusted();
    let ratio = |of_last: u32| json!({ "failure_ratio": { "percent": 50, "of_last": of_last } });
    for (of, rules, words) in [
        ("resource", ratio(20), "last_calls"),
        ("shared", ratio(60), "remembers fewer calls"),
        ("shared", json!({ "probes": 0 }), "set at least 1"),
    ] {
        for dry_run in [true, false] {
            let set = json!({ "of": of, "do": "set-rules", "rules": rules, "dry_run": dry_run });
            let error = app.change(&set).await.refused(422);
            assert!(error.contains(words), "{of}, {rules}: {error}");
        }
    }
    assert_eq!(*shared.config(), RULES);
    let set = json!({ "of": "shared", "do": "set-rules", "rules": ratio(20) });
    assert_eq!(app.change(&set).await.json()["changed"], true);

    for (change, words) in [
        (
            json!({ "of": "shared", "key": "a", "do": "set-rules", "rules": {} }),
            "leave the key out",
        ),
        (
            json!({ "of": "shared", "key": "a", "do": "clear-rules" }),
            "leave the key out",
        ),
    ] {
        assert!(app.change(&change).await.refused(400).contains(words));
    }
}

#[tokio::test]
async fn fixed_rules_are_refused_with_how_to_build_an_adjustable_breaker() {
    let Adjusted { app, .. } = adjusted();
    for dry_run in [true, false] {
        let set = json!({ "of": "fixed", "do": "set-rules", "rules": {}, "dry_run": dry_run });
        app.refuses(&set, 409, "build_adjustable").await;
    }
    let status = app.get("/status").await.json();
    assert_eq!(status["sources"][3]["can_change_rules"], false);
}

#[tokio::test]
async fn shadow_mode_applies_to_a_whole_registry() {
    let world = World::new();
    let app = world.app();
    let shadow = json!({ "of": "hosts", "do": "enforce", "percent": 0 });
    let answer = app.change(&shadow).await.json();
    assert_eq!(
        answer["text"],
        "0 % of the rejections are enforced; before: 100 %"
    );
    assert_eq!(world.hosts.enforcement().percent(), 0);
    world.trip("a");
    assert!(
        world
            .hosts
            .of("a".to_owned())
            .call(|| Ok::<_, &str>(()))
            .is_ok(),
        "calls pass"
    );
    let events = app.get("/timeline?search=hosts").await.json()["events"].clone();
    assert_eq!(events[1]["change"], "enforcement");
    assert_has(&events[1], &json!({ "old_percent": 100, "by": "alice" }));
    for (wrong, words) in [
        (
            json!({ "of": "hosts", "key": "a", "do": "enforce", "percent": 0 }),
            "leave the key out",
        ),
        (
            json!({ "of": "hosts", "do": "enforce", "percent": 101 }),
            "101 percent",
        ),
        (
            json!({ "of": "hosts", "do": "enforce", "percent": 101, "dry_run": true }),
            "101 percent",
        ),
    ] {
        assert!(app.change(&wrong).await.refused(400).contains(words));
    }
}

#[tokio::test]
async fn rules_of_a_key_that_equal_the_common_ones_are_a_change_and_the_same_again_is_none() {
    let world = World::new();
    let app = world.app();
    world.fail("a.example");
    let set = json!({ "of": "hosts", "key": "a.example", "do": "set-rules", "rules": RULES });
    let clear = json!({ "of": "hosts", "key": "a.example", "do": "clear-rules" });
    for (command, has_own) in [(set, true), (clear, false)] {
        let done = app.changed(command.clone()).await;
        assert_eq!(done["changed"], true, "{done}");
        assert_eq!(done["entry"]["has_own_rules"], has_own);
        assert_eq!(app.changed(command).await["changed"], false);
    }
    let all = json!({ "of": "hosts", "do": "set-rules", "rules": RULES });
    assert_eq!(app.changed(all).await["changed"], false);
    let timeline = app.get("/timeline?of=hosts").await.json();
    let events = timeline["events"].as_array().unwrap();
    let changes: Vec<_> = events.iter().rev().map(|event| &event["change"]).collect();
    assert_eq!(changes, ["rules", "own-rules-cleared"]);
}
