// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings recommended for a log.

use atomic_breaker_tune::{
    BreakerScope, CallLog, ColdServer, Completion, Config, Failure, Figures, LoggedCall,
    NoRecommendation, Outcome, Recommend, Recommendation, Replay, Weights, builder_line,
};

use std::time::Duration;

const FAILED: Outcome = Outcome::Failure(Failure::new());

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 100 calls a second, which fail where `down` says so, by second.
fn log(seconds: u64, down: impl Fn(u64) -> bool) -> CallLog {
    let calls = (0..seconds * 100).map(|number| {
        let outcome = if down(number / 100) {
            FAILED
        } else {
            Outcome::Success
        };
        LoggedCall::new(number * 10_000, Completion::new(outcome, ms(20)))
    });
    CallLog::new(calls.collect(), Vec::new())
}

/// Every two minutes it is down, for three to twelve seconds.
fn dead_every_minute() -> CallLog {
    log(1_200, |second| {
        let length = 3 + second / 120 * 7 % 10;
        (30..30 + length).contains(&(second % 120))
    })
}

fn in_threads(threads: usize, log: &CallLog) -> Recommendation {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let recommend = Recommend::new().tries(150).replay(Replay::new().seed(9));
    let mut log = log.clone();
    pool.build()
        .unwrap()
        .install(|| recommend.run(&mut log).unwrap())
}

#[test]
fn recommended_settings_beat_no_breaker_and_the_defaults() {
    let recommend = Recommend::new().tries(300).today(Config::new());
    let found = recommend.run(&mut dead_every_minute()).unwrap();
    let today = found.today.unwrap();
    assert!(found.pick.cost < today.cost, "{:?}", found.pick);
    assert!(found.pick.cost < Weights::new().cost(&found.without));
    // On the incidents that it did not know, too.
    let checked = |figures: &Figures| Weights::new().cost(figures);
    assert_eq!((found.incidents.len(), found.held_out), (10, 3));
    assert!(checked(&found.pick.checked_on) < checked(&today.checked_on));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let log = dead_every_minute();
    let (one, two) = (in_threads(1, &log), in_threads(2, &log));
    assert_eq!(one.pick.config, two.pick.config);
    assert_eq!(one.front.len(), two.front.len());
    for (one, two) in one.front.iter().zip(&two.front) {
        assert_eq!((one.config, one.all), (two.config, two.all));
    }
}

#[test]
fn weights_decide_between_waste_and_healthy_calls() {
    // Half a minute of every two, 40 % of the calls fail.
    let log = || {
        let mut random = fastrand::Rng::with_seed(4);
        let calls = (0..60_000_u64).map(|number| {
            let bad = (number / 100) % 120 >= 90;
            let fails = random.u32(..100) < if bad { 40 } else { 1 };
            let outcome = if fails { FAILED } else { Outcome::Success };
            LoggedCall::new(number * 10_000, Completion::new(outcome, ms(20)))
        });
        CallLog::new(calls.collect(), Vec::new())
    };
    let pick = |healthy: f64| {
        let weights = Weights::new().healthy_rejected(healthy);
        let found = Recommend::new().tries(200).weights(weights);
        found.run(&mut log()).unwrap().pick.all
    };
    let (careless, careful) = (pick(0.1), pick(20.0));
    assert!(careless.wasted < careful.wasted);
    assert!(careless.healthy_rejected > careful.healthy_rejected);
}

#[test]
fn a_log_without_an_incident_recommends_nothing() {
    for seed in 0..5 {
        // A busy hour with 8 % errors.
        let mut random = fastrand::Rng::with_seed(seed);
        let calls = (0..360_000_u64).map(|number| {
            let outcome = if random.u32(..100) < 8 {
                FAILED
            } else {
                Outcome::Success
            };
            LoggedCall::new(number * 10_000, Completion::new(outcome, ms(20)))
        });
        let mut log = CallLog::new(calls.collect(), Vec::new());
        let nothing = Recommend::new().run(&mut log).unwrap_err();
        assert!(matches!(nothing, NoRecommendation::NoIncident { .. }));
        assert!(nothing.to_string().starts_with("no incident"), "{nothing}");
    }
    let nothing = Recommend::new().run(&mut CallLog::default()).unwrap_err();
    assert_eq!(nothing.to_string(), "no incident: the log has no calls");
}

#[test]
fn two_incidents_are_too_few_to_hold_one_out() {
    let mut log = log(200, |second| (50..60).contains(&second) || second >= 190);
    let found = Recommend::new().tries(50).run(&mut log).unwrap();
    assert_eq!((found.incidents.len(), found.held_out), (2, 0));
    assert_eq!(found.pick.checked_on, Figures::default());
}

#[test]
fn a_search_that_is_stopped_keeps_the_best_so_far() {
    let stopped_after = |most: usize| {
        let goes_on = move |done: usize| done < most;
        Recommend::new().run_while(&mut dead_every_minute(), goes_on)
    };
    let found = stopped_after(20).unwrap();
    assert!(!found.is_complete);
    assert!((20..=20 + 64).contains(&found.tried), "{}", found.tried);
    assert!(found.pick.all.wasted < found.without.wasted / 2);
    let nothing = stopped_after(0).unwrap_err();
    assert!(matches!(nothing, NoRecommendation::Stopped));
}

#[test]
fn useless_answers_are_an_incident_that_a_slow_limit_ends() {
    // In the last ten seconds of every two minutes, answers take two seconds.
    let calls = (0..120_000_u64).map(|number| {
        let slow = (number / 100) % 120 >= 110;
        LoggedCall::new(
            number * 10_000,
            Completion::new(Outcome::Success, ms(if slow { 2_000 } else { 20 })),
        )
    });
    let mut log = CallLog::new(calls.collect(), Vec::new());
    assert!(Recommend::new().run(&mut log).is_err());
    let replay = Replay::new().useful_within(ms(500));
    let found = Recommend::new()
        .replay(replay)
        .tries(300)
        .run(&mut log)
        .unwrap();
    assert_eq!(found.incidents.len(), 10);
    assert!(
        found.pick.config.slow_call_ms.is_some(),
        "{:?}",
        found.pick.config
    );
    assert!(found.pick.all.wasted < found.without.wasted / 4);
}

#[test]
fn hostile_logs_are_borne() {
    let failed = |start| LoggedCall::new(start, Completion::new(FAILED, Completion::LONGEST));
    let logs = [
        vec![failed(0)],
        vec![failed(u64::MAX); 100],
        vec![failed(7); 1_000],
        (0..1_000)
            .map(|at| failed(at * (u64::MAX / 1_000)))
            .collect(),
        vec![failed(0).rejected(); 1_000],
        (0..200_000).map(|at| failed(at).key(at as u32)).collect(),
    ];
    for calls in logs {
        for breakers in [BreakerScope::Single, BreakerScope::PerKey { capacity: 16 }] {
            let mut log = CallLog::new(calls.clone(), Vec::new());
            let replay = Replay::new().breakers(breakers);
            let number = log.calls().len() as u64;
            if let Ok(found) = Recommend::new().replay(replay).tries(5).run(&mut log) {
                assert_eq!(found.pick.all.calls, number);
            }
            let callers = replay.callers(3, ms(1));
            let figures = callers.without(&CallLog::new(calls[..1].to_vec(), Vec::new()));
            assert!(figures.calls <= 3);
        }
    }
}

#[test]
fn a_cold_server_makes_a_gradual_return_worth_it() {
    let server = ColdServer::new(5, Duration::from_secs(15));
    let replay = Replay::new().cold_server(server);
    let log = || log(1_200, |second| second % 120 >= 30 && second % 120 < 36);
    let config = Config::new().open_for(ms(500));
    let warm = Replay::new().run(&config, &log()).unwrap().figures;
    let cold = replay.run(&config, &log()).unwrap().figures;
    assert!(cold.wasted > 3 * warm.wasted, "{cold:?} {warm:?}");
    let gradual = config.gradual_return(10, Duration::from_secs(15));
    let returned = replay.run(&gradual, &log()).unwrap().figures;
    assert!(returned.wasted < cold.wasted, "{returned:?} {cold:?}");
    // A search plays it, too.
    let found = Recommend::new()
        .replay(replay)
        .tries(100)
        .run(&mut log())
        .unwrap();
    let without = Recommend::new().tries(100).run(&mut log()).unwrap();
    assert!(found.pick.cost > without.pick.cost);
    assert!(found.without.wasted > without.without.wasted);
}

#[test]
fn a_jump_of_the_clock_says_nothing_of_what_a_cold_server_bears() {
    let replay = Replay::new().cold_server(ColdServer::new(10, Duration::from_secs(30)));
    let log = log(600, |second| second % 120 >= 30 && second % 120 < 36);
    let mut calls = log.calls().to_vec();
    // All but the first one began after the clock was set.
    for call in &mut calls[1..] {
        call.start_us += 365 * 86_400_000_000;
    }
    let jumped = CallLog::new(calls, Vec::new());
    let [wasted, after] = [&log, &jumped].map(|log| replay.without(log).wasted);
    assert!(after.abs_diff(wasted) * 20 < wasted, "{after} {wasted}");
}

/// The longest time that it stays open.
fn longest_open(config: &Config) -> Duration {
    ms(config
        .growth
        .map_or(config.open_for_ms, |growth| growth.max_ms)
        .into())
}

#[test]
fn an_outage_that_lasts_until_the_end_of_the_log_has_a_price() {
    let mut log = log(300, |second| second >= 250);
    let found = Recommend::new().tries(120).run(&mut log).unwrap();
    let open = longest_open(&found.pick.config);
    assert!(open <= Duration::from_secs(10), "{:?}", found.pick);
}

/// Thirty pods, each called ten times a second for the two minutes that it lives, of which the last twenty seconds fail;
/// five of them work again for the last ten seconds.
fn pods() -> CallLog {
    let calls = (0..30_u32).flat_map(|pod| {
        let begin = u64::from(pod) * 60_000_000;
        (0..1_200_u64).map(move |number| {
            let second = number / 10;
            let is_back = pod % 6 == 0 && second >= 110;
            let outcome = if second < 100 || is_back {
                Outcome::Success
            } else {
                FAILED
            };
            LoggedCall::new(begin + number * 100_000, Completion::new(outcome, ms(20))).key(pod)
        })
    });
    CallLog::new(calls.collect(), Vec::new())
}

#[test]
fn an_outage_that_lasts_until_the_end_of_its_key_has_a_price() {
    let replay = Replay::new().breakers(BreakerScope::PerKey { capacity: 4_096 });
    let recommend = Recommend::new().replay(replay).tries(120);
    let long = Config::new().open_for(Duration::from_secs(600));
    let found = recommend.today(long).run(&mut pods()).unwrap();
    let open = longest_open(&found.pick.config);
    assert!(open <= Duration::from_secs(10), "{:?}", found.pick);
    // Incidents that were held out do not confirm what is free.
    let today = found.today.unwrap();
    let cost = |figures: &Figures| Weights::new().cost(figures);
    assert!(cost(&today.checked_on) > 5.0 * cost(&found.pick.checked_on));
}

#[test]
fn an_outage_of_several_keys_is_held_out_as_a_whole() {
    // Twenty keys, down together, and later two more times.
    let down = |second: u64| {
        [300..330, 900..930, 1_500..1_530]
            .iter()
            .any(|out| out.contains(&second))
    };
    for (outages, held_out) in [(1, 0), (3, 20)] {
        let calls = (0..outages * 60_000_u64).map(|number| {
            let outcome = if down(number / 100) {
                FAILED
            } else {
                Outcome::Success
            };
            LoggedCall::new(number * 10_000, Completion::new(outcome, ms(20)))
                .key(number as u32 % 20)
        });
        let mut log = CallLog::new(calls.collect(), Vec::new());
        let replay = Replay::new().breakers(BreakerScope::PerKey { capacity: 64 });
        let found = Recommend::new()
            .replay(replay)
            .tries(20)
            .run(&mut log)
            .unwrap();
        assert_eq!(found.incidents.len() as u64, 20 * outages);
        assert_eq!(found.held_out, held_out);
    }
}

/// One host that is called 500 times a second, and forty that are called twice. A quarter of the calls fails by chance for
/// twenty seconds of each 115, as with a bad replica of four; then all hosts are down for ten.
fn a_bad_replica_and_outages() -> CallLog {
    let mut random = fastrand::Rng::with_seed(11);
    let busy = (0..575 * 500_u64).map(|number| (number * 2_000, 0));
    let quiet = (1..=40_u32).flat_map(|key| {
        (0..575 * 2_u64).map(move |number| (number * 500_000 + u64::from(key) * 7_000, key))
    });
    let mut calls: Vec<_> = busy.chain(quiet).collect();
    calls.sort_unstable();
    let mut call = |(start_us, key): (u64, u32)| {
        let fails = match start_us / 1_000_000 % 115 {
            20..40 => random.u32(..4) == 0,
            45..55 => true,
            _ => false,
        };
        let outcome = if fails { FAILED } else { Outcome::Success };
        LoggedCall::new(start_us, Completion::new(outcome, ms(5))).key(key)
    };
    let calls = calls.into_iter().map(&mut call);
    CallLog::new(calls.collect(), Vec::new())
}

/// More failures in a row do as well if all hosts are called as often.
#[test]
fn for_hosts_of_different_rates_a_row_that_lasts_is_recommended() {
    let replay = Replay::new().breakers(BreakerScope::PerKey { capacity: 64 });
    let today = Config::new().consecutive_failures(5).open_for(ms(1_000));
    let recommend = Recommend::new().replay(replay).tries(150).today(today);
    let found = recommend.run(&mut a_bad_replica_and_outages()).unwrap();
    let line = builder_line(&found.pick.config);
    println!("{line}");
    assert!(line.contains("lasting("), "{line}");
    // Five in a row come by chance several times a second, though most calls are answered.
    let (pick, today) = (found.pick.all, found.today.unwrap().all);
    println!("{pick:?} {today:?}");
    assert!(today.healthy_rejected > 8 * pick.healthy_rejected);
}
