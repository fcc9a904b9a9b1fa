// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time since which something has been down, through all its probes.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{App, RULES, assert_has};
use atomic_breaker_admin::{Admin, Recorder, Timeline};
use atomic_breaker_server::{AnyPermit, Failure, Guard, ManualClock, Outcome, Registry};
use serde_json::{Value, json};

type Hosts = Registry<String, &'static ManualClock, (), Recorder>;

struct World {
    clock: &'static ManualClock,
    hosts: Arc<Hosts>,
    app: App,
}

fn world(timeline: &Timeline) -> World {
    let clock = Box::leak(Box::new(ManualClock::new()));
    let hosts: Arc<Hosts> = Arc::new(
        Registry::builder(RULES.open_for(Duration::from_secs(5)))
            .clock(&*clock)
            .observer(timeline.recorder("hosts"))
            .build()
            .unwrap(),
    );
    let app = App::of(Admin::new(timeline).registry("hosts", Arc::clone(&hosts)));
    World { clock, hosts, app }
}

impl World {
    fn report(&self, key: &str, outcome: Outcome) {
        let permit = self.hosts.of(key.to_owned()).acquire().unwrap();
        permit.report(outcome);
    }

    fn trip(&self, key: &str) {
        for _ in 0..2 {
            self.report(key, Outcome::Failure(Failure::new()));
        }
    }

    /// A probe, after the open time.
    fn probe(&self, key: &str, outcome: Outcome) {
        self.clock.advance(Duration::from_secs(5));
        self.report(key, outcome);
    }

    async fn entry(&self, key: &str) -> Value {
        let path = format!("/status?of=hosts&search={key}");
        self.app.get(&path).await.json()["entries"][0].clone()
    }

    async fn events(&self) -> Vec<Value> {
        let events = self.app.get("/timeline").await.json()["events"].take();
        events.as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn an_outage_lasts_from_the_first_trip_until_it_is_closed_again() {
    let world = world(&Timeline::new());
    world.trip("a");
    let began = world.events().await[0]["at"].clone();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(3));
        world.probe("a", Outcome::Failure(Failure::new()));
    }
    let entry = world.entry("a").await;
    assert_has(
        &entry,
        &json!({ "down_since": began, "is_down_longer": false }),
    );
    assert!(entry["since"]["at"].as_u64() > began.as_u64());
    world.probe("a", Outcome::Success);
    let up = json!({ "state": "closed", "down_since": null, "is_down_longer": false });
    assert_has(&world.entry("a").await, &up);
    world.trip("a");
    let again = world.entry("a").await["down_since"].as_u64();
    assert!(again > began.as_u64(), "another outage");
}

#[tokio::test]
async fn the_probes_of_an_outage_are_one_event_so_that_its_begin_is_kept() {
    let world = world(&Timeline::keeping(10, 10).unwrap());
    world.trip("a");
    world.trip("b");
    for _ in 0..500 {
        world.probe("a", Outcome::Failure(Failure::new()));
        world.report("b", Outcome::Failure(Failure::new()));
    }
    let events = world.events().await;
    assert_eq!(events.len(), 4, "{events:?}");
    for (event, key) in [(&events[0], "b"), (&events[1], "a")] {
        let last = json!({ "key": key, "from": "half-open", "to": "open", "changes": 1_000 });
        assert_has(event, &last);
    }
    assert_eq!(
        (&events[1]["first"], &events[1]["number"]),
        (&json!(3), &json!(2_000))
    );
    for (event, key) in [(&events[2], "b"), (&events[3], "a")] {
        assert_has(
            event,
            &json!({ "key": key, "from": "closed", "changes": 1 }),
        );
    }
    world.probe("a", Outcome::Success);
    let events = world.events().await;
    assert_eq!(events.len(), 5, "its last probe, and its end");
    assert_has(
        &events[0],
        &json!({ "key": "a", "to": "closed", "changes": 1 }),
    );
    assert_has(
        &events[1],
        &json!({ "key": "a", "to": "half-open", "changes": 1_001 }),
    );
}

#[tokio::test]
async fn what_an_operator_does_is_an_event_of_its_own() {
    let world = world(&Timeline::new());
    world.trip("a");
    world.probe("a", Outcome::Failure(Failure::new()));
    for command in ["force-open", "release"] {
        let command = json!({ "of": "hosts", "key": "a", "do": command });
        world.app.changed(command).await;
    }
    world.report("a", Outcome::Failure(Failure::new()));
    let events = world.events().await;
    let shown: Vec<_> = events
        .iter()
        .map(|event| (event["to"].as_str().unwrap(), event["by"].as_str()))
        .collect();
    let by_hand = Some("alice");
    let expected = [
        ("open", None),
        ("half-open", by_hand),
        ("forced-open", by_hand),
        ("open", None),
        ("open", None),
    ];
    assert_eq!(shown, expected);
    let began = &events[4]["at"];
    assert_eq!(world.entry("a").await["down_since"], *began);
}

#[tokio::test]
async fn an_outage_that_began_unseen_has_lasted_at_least_since_it_was_heard_of() {
    let world = world(&Timeline::keeping(10, 1).unwrap());
    world.trip("a");
    world.trip("b");
    let unknown = json!({ "state": "open", "down_since": null, "is_down_longer": true });
    assert_has(&world.entry("a").await, &unknown);
    world.probe("a", Outcome::Failure(Failure::new()));
    let heard = world.entry("a").await;
    assert_eq!(heard["is_down_longer"], true);
    let events = world.events().await;
    assert_has(
        &events[1],
        &json!({ "to": "half-open", "at": heard["down_since"] }),
    );
}
