//! With `serde`: configurations that come from a file, snapshots and transitions that go into one.

use atomic_breaker::{Breaker, Config, ManualClock};

use super::support::ms;

#[test]
fn a_configuration_survives_a_file() {
    let config = Config::new()
        .failures_within(7, ms(60_000))
        .open_for(ms(2_000))
        .exponential(3, ms(50_000))
        .jitter_percent(10)
        .seed(42)
        .probes(2)
        .close_after(4)
        .slow_call(ms(300));
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);

    let sparse = r#"{"trip": {"consecutive": {"failures": 3}}, "open_for_ms": 250}"#;
    let expected = Config::new().consecutive_failures(3).open_for(ms(250));
    assert_eq!(serde_json::from_str::<Config>(sparse).unwrap(), expected);
    let tally = r#"{"trip": "tally_only"}"#;
    assert_eq!(
        serde_json::from_str::<Config>(tally).unwrap(),
        Config::new().tally_only()
    );

    let misspelt = r#"{"open_for": 250}"#;
    let error = serde_json::from_str::<Config>(misspelt)
        .unwrap_err()
        .to_string();
    assert!(error.contains("unknown field `open_for`"), "{error}");
}

#[test]
fn snapshots_and_transitions_can_be_written_out() {
    let clock = ManualClock::new();
    let log = atomic_breaker::EventLog::<1>::new();
    let breaker = Breaker::new(Config::new(), &clock).with_observer(&log);
    breaker.trip();
    let snapshot = serde_json::to_value(breaker.snapshot()).unwrap();
    assert_eq!(
        (&snapshot["state"], &snapshot["trips"]),
        (&"open".into(), &1.into())
    );
    let told = serde_json::to_value(log.pop().unwrap()).unwrap();
    assert_eq!(
        (&told["cause"], &told["open_for_ms"]),
        (&"manual".into(), &5_000.into())
    );
}
