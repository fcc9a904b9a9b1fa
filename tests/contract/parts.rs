// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that need more memory than there is beside the word are rejected when the parts are put together; and
//! a configuration shows its settings.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::word::{AtomicU32, AtomicU64, Layout, NativeWord};
use atomic_breaker::{
    Breaker, Config, ConfigError, LastCalls, ManualClock, Memory, Ratio, Rules, Tally, TripRule,
    Verdict,
};

use super::support::ms;

/// Both layouts must reject it for the same reason.
fn both(config: Config) -> String {
    let [wide, narrow] =
        [Layout::WIDE, Layout::NARROW].map(|layout| config.check(layout).unwrap_err());
    assert_eq!(wide, narrow);
    wide.to_string()
}

#[test]
fn something_must_be_able_to_trip() {
    let clock = ManualClock::new();
    let error = Breaker::try_new(Config::new().tally_only(), &clock).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tally_only without a failure_ratio never trips: set a failure_ratio or a limit on failures"
    );
    // A tally may have its own rule; the tally of the last calls has none.
    let config = Config::new().tally_only();
    assert!(
        Breaker::builder(config, &clock)
            .tally(Fixed)
            .try_build()
            .is_ok()
    );
    let ratio = config.failure_ratio(Ratio::percent(50));
    let last = || Breaker::builder(ratio, &clock).last_calls(LastCalls::new());
    assert!(last().try_build().is_ok());
}

/// A ratio without a memory would silently never trip.
#[test]
fn a_ratio_without_memory_is_rejected_however_it_is_built() {
    let clock = ManualClock::new();
    let half = Config::new().tally_only().failure_ratio(Ratio::percent(50));
    let of_1000 = half.failure_ratio(Ratio::percent(50).of_last(1_000));
    let build = |config| Breaker::builder(config, &clock);
    let said = |error: Option<ConfigError>| error.unwrap().to_string();
    let no_memory = "a failure_ratio needs memory for the last calls";
    assert!(said(build(half).tally(None::<LastCalls>).try_build().err()).starts_with(no_memory));
    assert!(said(build(half).tally(()).try_build().err()).starts_with(no_memory));
    let tally_only = build(Config::new().tally_only());
    let never = "tally_only without a failure_ratio never trips";
    assert!(said(tally_only.last_calls(LastCalls::new()).try_build().err()).starts_with(never));
    let most = format!("(LastCalls: {} in a", <LastCalls>::MAX_CALLS);
    assert_eq!(<LastCalls>::MAX_CALLS, 59);
    assert!(said(build(of_1000).tally(LastCalls::new()).try_build().err()).contains(&most));

    // Rules that are shared, or come from a file while running.
    for (config, message) in [(half, no_memory), (of_1000, no_memory)] {
        let rules = Rules::try_new(config).unwrap();
        let word = NativeWord::new(0);
        let parts = Breaker::try_from_parts(&word, &rules, &clock, (), ());
        assert!(said(parts.err()).starts_with(message));
        let plain = Breaker::new(Config::new(), &clock);
        let view = Breaker::try_from_parts(plain.word(), &rules, plain.clock(), plain.tally(), ());
        assert!(said(view.err()).starts_with(message));
    }
    let rules = Rules::try_new(of_1000).unwrap();
    let remembers = build(half).last_calls(LastCalls::new()).build();
    let under =
        |rules| Breaker::try_from_parts(remembers.word(), rules, &clock, remembers.tally(), ());
    assert!(said(under(&rules).err()).contains(&most));
    let fits = Rules::try_new(half.failure_ratio(Ratio::percent(10))).unwrap();
    assert!(under(&fits).is_ok());
}

#[test]
#[should_panic(expected = "the memory remembers fewer calls than of_last asks for")]
fn rules_that_ask_for_more_than_is_remembered_panic_where_they_are_taken() {
    let clock = ManualClock::new();
    let config = Config::new().failure_ratio(Ratio::percent(50));
    let breaker = Breaker::builder(config, &clock)
        .last_calls(LastCalls::new())
        .build();
    let rules = Rules::new(config.failure_ratio(Ratio::percent(50).of_last(60)));
    let _ = breaker.with_rules(&rules);
}

/// A builder whose configuration does not fit drops the parts it was given.
#[test]
fn a_builder_that_fails_drops_its_parts() {
    let clock = Arc::new(ManualClock::new());
    for _ in 0..3 {
        let clock = Arc::clone(&clock);
        assert!(Breaker::try_new(Config::new().probes(0), clock).is_err());
    }
    assert_eq!(Arc::strong_count(&clock), 1);
}

/// Trips at the first failure, by its own rule.
struct Fixed;

impl Tally for Fixed {
    fn memory(&self) -> Memory {
        Memory::NONE.has_rule()
    }

    fn record(&self, _call: Call, _ratio: Option<Ratio>) -> Verdict {
        Verdict::Trip
    }

    fn clear(&self) {}
}

#[test]
fn a_failure_ratio_needs_memory() {
    let clock = ManualClock::new();
    let config = Config::new().failure_ratio(Ratio::percent(50));
    let no_memory = "a failure_ratio needs memory for the last calls: build the breaker with \
                  last_calls or another tally, or leave it out";
    assert_eq!(
        Breaker::try_new(config, &clock).unwrap_err().to_string(),
        no_memory
    );
    assert_eq!(
        Breaker::builder(config, &clock)
            .word(AtomicU32::new(0))
            .try_build()
            .unwrap_err()
            .to_string(),
        no_memory
    );
    let rules = Rules::new(config);
    let message = std::panic::catch_unwind(|| {
        let clock = ManualClock::new();
        let _ = Breaker::from_parts(AtomicU64::new(0), rules, &clock, (), ());
    });
    let message = message.unwrap_err();
    assert_eq!(
        message.downcast_ref::<String>().map(String::as_str),
        Some(no_memory)
    );
}

#[test]
fn limits_of_the_failure_ratio() {
    let of = |percent, calls, min_calls| {
        Config::new().failure_ratio(Ratio::percent(percent).of_last(calls).min_calls(min_calls))
    };
    assert_eq!(
        both(of(50, 0, 1)),
        "a failure_ratio of the last 0 calls never trips: set at least 1"
    );
    let min = "min_calls must be between 1 and the number of calls that the failure_ratio looks \
               at: change one of them";
    assert_eq!(
        (both(of(50, 10, 0)), both(of(50, 10, 11))),
        (min.into(), min.into())
    );
    let percent = "the share of a failure_ratio must be between 1 and 10000 basis points (0.01 to 100 percent): change it";
    assert_eq!(
        (both(of(0, 10, 5)), both(of(101, 10, 5))),
        (percent.into(), percent.into())
    );
    // The memory determines how many calls are remembered.
    assert!(of(100, 1_000, 1_000).check(Layout::NARROW).is_ok());
}

#[test]
fn limits_of_the_history() {
    let clock = ManualClock::new();
    let of = |calls| Config::new().failure_ratio(Ratio::percent(1).of_last(calls));
    let wide = |calls| {
        Breaker::builder(of(calls), &clock)
            .last_calls(LastCalls::over(AtomicU64::new(0)))
            .try_build()
            .map(drop)
    };
    let narrow = |calls| {
        Breaker::builder(of(calls), &clock)
            .last_calls(LastCalls::over(AtomicU32::new(0)))
            .try_build()
            .map(drop)
    };
    assert_eq!((wide(59), narrow(27)), (Ok(()), Ok(())));
    assert_eq!((wide(1), narrow(1)), (Ok(()), Ok(())));
    assert_eq!(
        wide(60).unwrap_err().to_string(),
        "the memory remembers fewer calls than of_last asks for (LastCalls: 59 in a 64-bit word, 27 in a \
         32-bit word): lower of_last, or set the time in which as many calls are made (within) and build the breaker \
         with SlidingRatio of atomic-breaker-server"
    );
    assert_eq!(
        narrow(28).unwrap_err().to_string(),
        "the memory remembers fewer calls than of_last asks for (LastCalls: 59 in a 64-bit word, 27 in a \
         32-bit word): lower of_last, or set the time in which as many calls are made (within) and build the breaker \
         with SlidingRatio of atomic-breaker-server"
    );
}

/// Any order of the calls builds the same breaker.
#[test]
fn the_order_of_the_builder_does_not_matter() {
    let clock = ManualClock::new();
    let config = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(50).of_last(40));
    let calls = || LastCalls::over(AtomicU64::new(0));
    let builder = || Breaker::builder(config, &clock);
    assert!(
        builder()
            .last_calls(calls())
            .word(AtomicU32::new(0))
            .try_build()
            .is_ok()
    );
    assert!(
        builder()
            .word(AtomicU32::new(0))
            .last_calls(calls())
            .try_build()
            .is_ok()
    );
    let late = builder()
        .last_calls(LastCalls::over(AtomicU32::new(0)))
        .observer(())
        .last_calls(calls());
    assert!(late.try_build().is_ok(), "the last one counts");
}

#[test]
fn a_configuration_shows_what_was_set() {
    let second = Duration::from_secs(1);
    let ratio = Ratio::percent(40).of_last(30);
    let config = Config::new()
        .failures_within(7, 60 * second)
        .failure_ratio(ratio)
        .slow_call(2 * second)
        .open_for(3 * second)
        .exponential_percent(150, 40 * second)
        .jitter_percent(12)
        .seed(99)
        .max_retry_after(50 * second)
        .probes(2)
        .close_after(4)
        .probe_lease(9 * second)
        .cancel_limit(ms(500))
        .gradual_return(15, 20 * second);
    let within = TripRule::Within {
        failures: 7,
        window_ms: 60_000,
    };
    assert_eq!(config.trip, within);
    assert_eq!(config.failure_ratio, Some(ratio));
    assert_eq!(config.slow_call_ms, Some(2_000));
    assert_eq!(config.open_for_ms, 3_000);
    let growth = config.growth.unwrap();
    assert_eq!((growth.percent(), growth.step_ms()), (Some(150), None));
    assert_eq!(growth.max_ms, 40_000);
    assert_eq!((config.jitter_percent, config.seed), (12, Some(99)));
    assert_eq!(config.max_retry_after_ms, Some(50_000));
    assert_eq!((config.probes, config.close_after), (2, Some(4)));
    assert_eq!(config.probe_lease_ms, Some(9_000));
    assert_eq!(config.cancel_limit_ms, 500);
    let back = config.gradual_return.unwrap();
    assert_eq!((back.first_percent, back.over_ms), (15, 20_000));
    let other = config.tally_only().linear(5 * second, 40 * second);
    assert_eq!(other.trip, TripRule::TallyOnly);
    let growth = other.growth.unwrap();
    assert_eq!((growth.percent(), growth.step_ms()), (None, Some(5_000)));
}

/// The defaults are those of the documentation's table.
#[test]
fn a_configuration_shows_its_defaults() {
    let config = Config::new();
    assert_eq!(config.trip, TripRule::Consecutive { failures: 5 });
    assert_eq!((config.failure_ratio, config.slow_call_ms), (None, None));
    assert_eq!((config.open_for_ms, config.growth), (5_000, None));
    assert_eq!((config.jitter_percent, config.seed), (0, None));
    assert_eq!(config.max_retry_after_ms, None);
    assert_eq!(config.longest_retry_after_ms(u32::MAX), 300_000);
    assert_eq!(config.longest_retry_after_ms(1_000), 1_000);
    assert_eq!((config.probes, config.needed_successes()), (1, 1));
    assert_eq!(config.probes(3).needed_successes(), 3, "as many as probes");
    assert_eq!(config.probe_lease_ms, None);
    assert_eq!(config.lease_ms(u32::MAX), 30_000);
    assert_eq!(config.lease_ms(1_000), 1_000);
    assert_eq!(config.cancel_limit_ms, 250);
    assert_eq!(config.gradual_return, None);
    assert!(!config.needs_tally() && config.tally_only().needs_tally());
    let ratio = Ratio::percent(50);
    assert!(config.failure_ratio(ratio).needs_tally());
    assert_eq!((ratio.calls(), ratio.needed_calls()), (Some(20), 10));
    assert_eq!(ratio.of_last(7).needed_calls(), 4, "rounded up");
    assert_eq!(ratio.of_last(7).min_calls(2).needed_calls(), 2);
}
