// SPDX-License-Identifier: MIT OR Apache-2.0
//! `serde`: snapshots and transitions are written to a file.

use atomic_breaker::{Breaker, Config, EventLog, ManualClock};
use serde_json::json;

#[test]
fn snapshots_and_transitions_can_be_written_out() {
    let clock = ManualClock::new();
    let log = EventLog::<1>::new();
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(&log)
        .build();
    breaker.trip();
    let snapshot = serde_json::to_value(breaker.snapshot()).unwrap();
    assert_eq!(
        (&snapshot["state"], &snapshot["trips"]),
        (&json!("open"), &json!(1))
    );
    let reported = serde_json::to_value(log.pop().unwrap()).unwrap();
    assert_eq!(
        (&reported["cause"], &reported["open_for_ms"]),
        (&json!("manual"), &json!(5_000))
    );
    assert_eq!(
        (&reported["from"], &reported["to"]),
        (&json!("closed"), &json!("open"))
    );
}

#[test]
fn states_and_causes_are_read_back_as_they_are_written() {
    use atomic_breaker::{Cause, State};
    for (state, name) in [
        (State::HalfOpen, "half-open"),
        (State::ForcedOpen, "forced-open"),
        (State::Returning, "returning"),
    ] {
        assert_eq!(serde_json::to_value(state).unwrap(), json!(name));
        assert_eq!(serde_json::from_value::<State>(json!(name)).unwrap(), state);
    }
    for (cause, name) in [
        (Cause::ProbeCancelled, "probe-cancelled"),
        (Cause::TrafficReturned, "traffic-returned"),
        (Cause::Restored, "restored"),
    ] {
        assert_eq!(serde_json::to_value(cause).unwrap(), json!(name));
        assert_eq!(serde_json::from_value::<Cause>(json!(name)).unwrap(), cause);
    }
}
