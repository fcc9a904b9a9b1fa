// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules about the calls within a time, and tallies that do or do not remember times.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::word::{Layout, NativeWord};
use atomic_breaker::{
    Breaker, Config, ConstTally, LastCalls, ManualClock, Memory, Ratio, Rules, Tally, Verdict,
};

use super::support::ms;

/// Both layouts must reject it for the same reason.
fn both(config: Config) -> String {
    let [wide, narrow] =
        [Layout::WIDE, Layout::NARROW].map(|layout| config.check(layout).unwrap_err());
    assert_eq!(wide, narrow);
    wide.to_string()
}

/// A memory of up to a minute, not of a number of calls.
struct Minute;

impl Tally for Minute {
    fn memory(&self) -> Memory {
        Self::MEMORY
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        assert_eq!(ratio.and_then(Ratio::within_ms), Some(60_000));
        match call.failure {
            Some(_) => Verdict::Trip,
            None => Verdict::Keep,
        }
    }

    fn clear(&self) {}
}

impl ConstTally for Minute {
    const MEMORY: Memory = Memory::NONE.max_within_ms(60_000);
}

const fn within(time: Duration) -> Config {
    Config::new().failure_ratio(Ratio::percent(50).within(time))
}

#[test]
fn limits_of_a_failure_ratio_within_a_time() {
    let none = "a failure_ratio within a time of 0 sees no calls: lengthen it or set of_last";
    assert_eq!(both(within(Duration::ZERO)), none);
    let long = "the time of the failure_ratio is longer than 2^31 ms (24.8 days): shorten it";
    assert_eq!(both(within(ms((1 << 31) + 1))), long);
    assert_eq!(both(within(Duration::MAX)), long);
    assert!(within(ms(1 << 31)).check(Layout::NARROW).is_ok());
    assert!(
        within(Duration::from_nanos(1))
            .check(Layout::NARROW)
            .is_ok()
    );
    let of = |percent, min_calls| {
        let ratio = Ratio::percent(percent)
            .within(ms(1_000))
            .min_calls(min_calls);
        Config::new().failure_ratio(ratio)
    };
    assert_eq!(
        both(of(50, 0)),
        "min_calls of 0 would judge by no calls at all: set at least 1"
    );
    let percent = "the share of a failure_ratio must be between 1 and 10000 basis points (0.01 to 100 percent): change it";
    assert_eq!(
        (both(of(0, 1)), both(of(101, 1))),
        (percent.into(), percent.into())
    );
    let many = "min_calls is at most 65534: lower it";
    assert_eq!(
        (both(of(50, 65_535)), both(of(50, u32::MAX))),
        (many.into(), many.into())
    );
    assert!(of(100, 65_534).check(Layout::NARROW).is_ok());
}

/// This holds for a tally behind any pointer.
#[test]
fn a_ratio_within_a_time_needs_a_tally_that_remembers_times() {
    fn fault(tally: impl Tally, config: Config) -> Option<String> {
        let clock = ManualClock::new();
        let built = Breaker::builder(config, &clock).tally(tally).try_build();
        built.err().map(|error| error.to_string())
    }
    let no_time = Some(
        "a failure_ratio within a time needs a tally that remembers times: build the breaker with \
         SlidingRatio of atomic-breaker-server, or set of_last and build it with last_calls"
            .to_string(),
    );
    let minute = within(ms(60_000));
    assert_eq!(fault((), minute), no_time);
    assert_eq!(fault(LastCalls::new(), minute), no_time);
    assert_eq!(fault(None::<Minute>, minute), no_time);
    assert_eq!(fault(Minute, minute), None);
    assert_eq!(fault(&Minute, minute), None);
    assert_eq!(fault(Some(Minute), minute), None);
    assert_eq!(fault(Arc::new(Minute), minute), None);
    let boxed: Box<dyn Tally> = Box::new(Minute);
    assert_eq!(fault(boxed, minute), None);
    assert_eq!(
        fault(Minute, within(ms(60_001))).unwrap(),
        "the time of the failure_ratio is longer than the tally remembers: shorten it"
    );
    let calls = Config::new().failure_ratio(Ratio::percent(50));
    assert_eq!(
        fault(Minute, calls).unwrap(),
        "the tally remembers times, not calls: set the time of the failure_ratio (within) instead of \
         of_last, or build the breaker with last_calls"
    );
    let clock = ManualClock::new();
    let breaker = Breaker::builder(Config::new(), &clock).build();
    let view = Breaker::try_from_parts(breaker.word(), Rules::new(minute), &clock, (), ());
    assert!(view.is_err());
}

#[test]
fn a_tally_that_remembers_times_is_shown_calls_in_a_static_too() {
    static CLOCK: ManualClock = ManualClock::new();
    static BREAKER: Breaker<&ManualClock, NativeWord, Minute> = Breaker::builder(
        within(Duration::from_secs(60)).consecutive_failures(9),
        &CLOCK,
    )
    .const_tally(Minute)
    .build();
    BREAKER.acquire().unwrap().success();
    assert!(BREAKER.acquire().unwrap().failure().is_some());
}

#[test]
fn calls_and_times_take_each_others_place() {
    let ratio = Ratio::percent(50).within(Duration::from_micros(1_500));
    assert_eq!(
        (ratio.calls(), ratio.within_ms(), ratio.needed_calls()),
        (None, Some(2), 20)
    );
    let calls = ratio.of_last(7);
    assert_eq!(
        (calls.calls(), calls.within_ms(), calls.needed_calls()),
        (Some(7), None, 4)
    );
    assert_eq!(ratio.min_calls(3).of_last(9).needed_calls(), 3);
    assert_eq!(calls.min_calls(5).within(ms(9)).needed_calls(), 5);
}
