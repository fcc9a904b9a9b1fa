// SPDX-License-Identifier: MIT OR Apache-2.0
//! The person whose act a transition is.

use std::sync::Arc;

use crate::support::{App, Payments, RULES, World, assert_has};
use atomic_breaker_admin::Admin;
use atomic_breaker_server::{Guard, KeyedObserver, Registry, State, Transition};
use serde_json::json;

/// Trips the breaker of payments as soon as the key `a` opens.
struct TripsToo(Arc<Payments>);

impl KeyedObserver<String> for TripsToo {
    fn transition(&self, key: &String, transition: &Transition) {
        if key == "a" && transition.to == State::Open {
            self.0.breaker().trip();
        }
    }
}

#[tokio::test]
async fn a_command_is_the_operators_but_not_what_an_observer_does_to_another_breaker() {
    let World {
        timeline, payments, ..
    } = World::new();
    let observer = (TripsToo(Arc::clone(&payments)), timeline.recorder("hosts"));
    let hosts = Registry::builder(RULES).observer(observer).build().unwrap();
    let hosts = Arc::new(hosts);
    hosts
        .of("a".to_owned())
        .call(|| Err::<(), _>("down"))
        .unwrap_err();
    let admin = Admin::new(&timeline)
        .registry("hosts", hosts)
        .resource("payments", payments);
    let app = App::of(admin);
    app.changed(json!({ "of": "hosts", "key": "a", "do": "trip", "reason": "ticket 7" }))
        .await;
    let events = app.get("/timeline").await.json()["events"].clone();
    let [a, payments] = [&events[0], &events[1]];
    assert_has(
        a,
        &json!({ "of": "hosts", "by": "alice", "reason": "ticket 7" }),
    );
    assert_has(
        payments,
        &json!({ "of": "payments", "by": null, "reason": null }),
    );
}
