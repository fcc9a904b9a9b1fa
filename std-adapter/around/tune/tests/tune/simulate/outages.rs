// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outages of a kind before the real breaker, against figures by hand.

use atomic_breaker_tune::{ColdServer, Config, Ratio, Scenario, SimulationReport, State, simulate};
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const FIVE: Config = Config::new()
    .consecutive_failures(5)
    .open_for(Duration::from_secs(2));

#[test]
fn a_dead_resource_costs_what_the_rules_say() {
    let report = simulate(&FIVE, Scenario::dead());
    assert_eq!(report.calls_before_open(), 5, "{report}");
    // Five calls, one every 10 ms from 10 s on; the last fails at 10.041 s. Probes at 12.05 s, 14.06 s, ... 68.33 s fail.
    assert_eq!(report.time_until_open(), ms(41));
    assert_eq!(report.wasted(), 5 + 29, "{report}");
    assert_eq!(report.wasted_time(), 34 * ms(1));
    assert_eq!(report.longest_call(), ms(1));
    assert_eq!(report.trips(), 1);
    // The next probe is answered: at 70.34 s, in 10 ms.
    assert_eq!(report.time_until_closed(), ms(350), "{report}");
    assert_eq!(report.healthy_rejected(), 34);
    assert_eq!(report.rounds_of_probes(), 30);
    assert!(report.opened() && report.is_closed());
}

#[test]
fn growth_makes_probes_rare() {
    let config = FIVE.open_for(secs(1)).exponential(2, secs(16));
    let report = simulate(&config, Scenario::dead());
    // Open for 1, 2, 4, 8, 16, 16 and 16 s.
    assert_eq!(report.rounds_of_probes(), 7, "{report}");
    assert_eq!(report.wasted(), 5 + 6);
    // Its trips are forgotten 16 s after all calls pass.
    let passes = report.time_until_closed();
    let last = report.changes().last().unwrap();
    assert_eq!(last.transition.to, State::Closed);
    assert!(
        Duration::from_micros(last.at_us) >= secs(70) + passes + secs(16),
        "{report}"
    );
    assert!(passes < secs(16), "{report}");
}

#[test]
fn a_hanging_resource_costs_the_calls_in_flight() {
    let hangs = Scenario::hangs(secs(2)).callers(8).load(40);
    let report = simulate(&FIVE, hangs);
    // All eight wait before the first time limit is over; after the fifth of them it is open.
    assert!((8..=12).contains(&report.calls_before_open()), "{report}");
    assert_eq!(report.longest_call(), secs(2));
    // A time limit on the outside is none: the slow limit counts what took too long.
    let slow = simulate(&FIVE.slow_call(ms(500)), Scenario::slow(secs(1)));
    assert!(slow.opened(), "{slow}");
    assert!(!simulate(&FIVE, Scenario::slow(secs(1))).opened());
}

#[test]
fn settings_that_never_open_fail_what_one_would_assert() {
    let never = simulate(&Config::new().consecutive_failures(5), Scenario::errors(30));
    let ratio = Config::new().failure_ratio(Ratio::percent(30).of_last(20).min_calls(20));
    let opens = simulate(&ratio, Scenario::errors(30));
    assert!(opens.calls_before_open() <= 60, "{opens}");
    // 5 in a row come by chance within 6,000 calls of which 30 % fail, but late.
    assert!(never.calls_before_open() > 60, "{never}");
    let never = simulate(
        &Config::new().consecutive_failures(50),
        Scenario::errors(40),
    );
    assert_eq!(never.calls_before_open(), usize::MAX);
    assert_eq!(never.time_until_open(), Duration::MAX);
    assert!(
        never
            .to_string()
            .starts_with("did not open, and 6000 calls"),
        "{never}"
    );
}

#[test]
fn settings_that_stay_shut_fail_what_one_would_assert() {
    let config = FIVE.open_for(secs(300));
    let report = simulate(&config, Scenario::dead());
    assert!(!report.is_closed());
    assert_eq!(report.time_until_closed(), Duration::MAX);
    assert!(
        report.to_string().contains("not closed at the end"),
        "{report}"
    );
    // One in 50 does not trip five in a row, but 5 within a minute.
    assert_eq!(simulate(&FIVE, Scenario::errors(2)).trips(), 0);
    let touchy = Config::new().failures_within(5, secs(60));
    assert!(simulate(&touchy, Scenario::errors(2)).trips() > 0);
    assert!(simulate(&touchy, Scenario::dead().background(3)).healthy_rejected() > 1_000);
}

#[test]
fn a_rate_limit_keeps_it_open_as_long_as_asked() {
    let limited = Scenario::rate_limited(secs(20)).lasts(secs(30));
    let report = simulate(&Config::new(), limited);
    assert_eq!(report.calls_before_open(), 5, "{report}");
    assert_eq!(report.wasted(), 6, "one more after 20 s: {report}");
    assert!(report.time_until_closed() < ms(10_100), "{report}");
}

#[test]
fn a_cold_server_trips_less_with_a_gradual_return() {
    let cold = Scenario::restarted(ColdServer::new(10, secs(20)))
        .lasts(secs(10))
        .load(500)
        .callers(500);
    let config = FIVE.open_for(secs(1));
    let (at_once, gradually) = (
        simulate(&config, cold),
        simulate(&config.gradual_return(10, secs(20)), cold),
    );
    assert!(at_once.trips() >= 5, "{at_once}");
    assert!(gradually.trips() < at_once.trips(), "{gradually}");
    let answered = |report: &SimulationReport| {
        report.figures().calls - report.figures().rejected - report.wasted()
    };
    assert!(
        answered(&gradually) > answered(&at_once),
        "{gradually}\n{at_once}"
    );
}

#[test]
fn a_flapping_resource_trips_it_once_a_turn() {
    let flapping = Scenario::flapping(secs(5), secs(5));
    let report = simulate(&FIVE.open_for(ms(500)), flapping);
    assert_eq!(report.trips(), 6, "{report}");
    assert_eq!(
        report.changes().last().unwrap().transition.to,
        State::Closed
    );
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let config = FIVE.jitter_percent(50);
    let run = |seed| simulate(&config, Scenario::errors(60).background(1).seed(seed)).to_string();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn useless_answers_are_wasted() {
    let slow = Scenario::slow(ms(800))
        .useful_within(ms(500))
        .callers(10)
        .load(10)
        .lasts(secs(10));
    let report = simulate(&Config::new(), slow);
    assert_eq!(report.wasted(), 100, "{report}");
    assert_eq!(
        simulate(&Config::new(), slow.useful_within(ms(800))).wasted(),
        0
    );
}

#[test]
#[should_panic(expected = "with 0 probes an open breaker never closes: set at least 1")]
fn settings_that_do_not_fit_say_so() {
    let _ = simulate(&Config::new().probes(0), Scenario::dead());
}

/// Settings at random: a dead resource trips, and a healthy one is served again within the longest open time, the time of a
/// round of probes and the gradual return.
#[test]
fn any_settings_open_for_a_dead_resource_and_close_after_it() {
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..2_000 {
        let open = random.u64(50..3_000);
        let longest = open * random.u64(1..4);
        let returns = random.bool().then(|| random.u64(100..5_000));
        let probes = random.u32(1..4);
        let mut config = Config::new()
            .consecutive_failures(random.u32(1..20))
            .open_for(ms(open))
            .exponential(2, ms(longest.max(open)))
            .jitter_percent(random.u32(0..=50))
            .probes(probes)
            .close_after(random.u32(probes..=6));
        if let Some(over) = returns {
            config = config.gradual_return(random.u32(1..=50), ms(over));
        }
        let scenario = Scenario::dead()
            .callers(random.u32(1..20))
            .load(random.u32(20..200))
            .lasts(secs(10))
            .healthy_for(secs(1))
            .well_for(secs(40))
            .seed(random.u64(..));
        let report = simulate(&config, scenario);
        assert!(report.opened(), "{config:?} {report}");
        let figures = report.figures();
        assert!(figures.rejected + figures.wasted <= figures.calls);
        // A round of six probes, one at a time, at the slowest beat of 50 ms.
        let bound = ms(longest * 3 / 2 + returns.unwrap_or(0) + 6 * 60 + 500);
        assert!(
            report.time_until_closed() <= bound,
            "{config:?} {bound:?} {report}"
        );
    }
}
