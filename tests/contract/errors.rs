// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, fallbacks, and one error type made of two.

use std::error::Error;
use std::fmt;

use atomic_breaker::{Breaker, CallError, Config, Fallback, ManualClock, Rejected, State, Wait};

use super::support::ms;

/// An error with a cause.
#[derive(Debug, PartialEq)]
struct NoAnswer(std::num::ParseIntError);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl Error for NoAnswer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn no_answer() -> NoAnswer {
    NoAnswer("x".parse::<u32>().unwrap_err())
}

fn open(clock: &ManualClock) -> Breaker<&ManualClock> {
    let breaker = Breaker::new(Config::new().open_for(ms(4_200)), clock);
    breaker.trip();
    breaker
}

#[test]
fn a_rejection_says_that_it_was_rejected_and_how_long_to_wait() {
    let clock = ManualClock::new();
    let breaker = open(&clock);
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is open, retry in 4.2s"
    );

    clock.advance(ms(4_200));
    let _probe = breaker.acquire().unwrap();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is half-open: a probe is under way, retry soon, in 30s at the latest"
    );

    breaker.force_open();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is forced open, until it is released"
    );
    assert_eq!(Rejected::new(State::ForcedOpen, ms(5)), rejected);
}

#[test]
fn a_call_error_shows_what_is_behind_it() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);
    let failed = breaker.call(|| Err::<(), _>(no_answer())).unwrap_err();
    assert_eq!(failed.to_string(), "no answer");
    let source = failed.source().map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("invalid digit found in string"));
    assert_eq!(failed.rejected(), None);
    assert_eq!(failed.failed(), Some(no_answer()));

    let rejected = open(&clock).call(|| Err::<(), _>(no_answer())).unwrap_err();
    assert!(rejected.to_string().starts_with("circuit breaker is open"));
    let source = rejected
        .source()
        .and_then(|source| source.downcast_ref().copied());
    assert_eq!(
        source,
        rejected.rejected().copied(),
        "visible in the chain of sources"
    );
    assert_eq!(
        rejected.rejected().map(|rejected| rejected.state()),
        Some(State::Open)
    );
    assert_eq!(rejected.failed(), None);
}

#[test]
fn a_rejection_turns_into_a_call_error_by_the_question_mark() {
    fn two_steps(breaker: &Breaker<&ManualClock>) -> Result<(), CallError<NoAnswer>> {
        breaker.acquire()?.success();
        Ok(())
    }
    let clock = ManualClock::new();
    assert_eq!(two_steps(&Breaker::new(Config::new(), &clock)), Ok(()));
    assert!(matches!(
        two_steps(&open(&clock)),
        Err(CallError::Rejected(_))
    ));
}

#[test]
fn a_rejected_call_falls_back_to_a_value_or_another_call_in_one_expression() {
    let clock = ManualClock::new();
    let breaker = open(&clock);
    let call = || breaker.call(|| Ok::<_, NoAnswer>(1));
    assert_eq!(call().unwrap_or(2), 2);
    assert_eq!(call().or(Ok::<_, NoAnswer>(3)), Ok(3));
    assert_eq!(call().or_if_rejected(|_| Ok(4)), Ok(4));
    assert_eq!(
        call().or_if_rejected(|_| Err(no_answer())),
        Err(no_answer())
    );
    assert_eq!(
        call().or_if_rejected(|rejected| Ok(rejected.retry_in_ms().unwrap())),
        Ok(4_200)
    );
}

#[test]
fn a_failed_call_falls_back_only_where_asked() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);
    let call = || breaker.call(|| Err::<u32, _>(no_answer()));
    assert_eq!(call().or_if_rejected(|_| Ok(4)), Err(no_answer()));
    assert_eq!(call().unwrap_or(2), 2);
    let success = breaker.call(|| Ok::<_, NoAnswer>(1));
    assert_eq!(success.or_if_rejected(|_| Ok(4)), Ok(1));
}

/// For tests of code that handles rejections: the rejection that a breaker in that state would return.
#[test]
fn a_rejection_can_be_made_by_hand() {
    let open = Rejected::new(State::Open, ms(4_200));
    assert_eq!(
        (open.state(), open.wait()),
        (State::Open, Wait::For(ms(4_200)))
    );
    assert_eq!(
        (open.retry_in(), open.retry_in_ms()),
        (Some(ms(4_200)), Some(4_200))
    );
    assert_eq!(open.to_string(), "circuit breaker is open, retry in 4.2s");

    let half_open = Rejected::new(State::HalfOpen, ms(30_000));
    assert_eq!(half_open.wait(), Wait::AtMost(ms(30_000)));
    assert_eq!(half_open.retry_in(), Some(ms(100)), "soon");
    let nearly = Rejected::new(State::HalfOpen, ms(99));
    assert_eq!(nearly.retry_in(), Some(ms(99)));

    let returning = Rejected::new(State::Returning, ms(3_001));
    assert_eq!(returning.wait(), Wait::AtMost(ms(3_001)));
    assert_eq!(
        returning.retry_in(),
        Some(ms(1_501)),
        "half of it, rounded up"
    );

    let forced = Rejected::new(State::ForcedOpen, ms(7));
    assert_eq!(
        (forced.wait(), forced.retry_in()),
        (Wait::UntilReleased, None)
    );
    let micro = Rejected::new(State::Open, std::time::Duration::from_micros(1));
    assert_eq!(micro.retry_in(), Some(ms(1)), "rounded up");
    let breaker = rejection_of_an_open_breaker();
    assert_eq!(breaker, open);
}

fn rejection_of_an_open_breaker() -> Rejected {
    let clock = ManualClock::new();
    open(&clock).acquire().unwrap_err()
}

type Anything = Box<dyn Error + Send + Sync>;

/// `?` from a guarded call into an error type for everything, such as the outermost functions of programs use.
#[test]
fn a_call_error_goes_by_the_question_mark_into_a_box() {
    fn parse(breaker: &Breaker<&ManualClock>, text: &str) -> Result<u32, Box<dyn Error>> {
        Ok(breaker.call(|| text.parse::<u32>())?)
    }
    let clock = ManualClock::new();
    let closed = Breaker::new(Config::new(), &clock);
    assert_eq!(parse(&closed, "7").unwrap(), 7);
    let failed = parse(&closed, "x").unwrap_err();
    assert_eq!(failed.to_string(), "invalid digit found in string");
    let rejected = parse(&open(&clock), "7").unwrap_err();
    assert!(rejected.to_string().starts_with("circuit breaker is open"));
}

/// If the operation's error is a box, a rejection is boxed, too.
#[test]
fn one_box_is_made_of_a_rejection_and_of_a_failure() {
    fn parse(breaker: &Breaker<&ManualClock>, text: &str) -> Result<u32, Anything> {
        let number = || -> Result<u32, Anything> { Ok(text.parse::<u32>()?) };
        breaker.call(number).map_err(CallError::merge)
    }
    let clock = ManualClock::new();
    let closed = Breaker::new(Config::new(), &clock);
    assert_eq!(parse(&closed, "7").unwrap(), 7);
    let failed = parse(&closed, "x").unwrap_err();
    assert!(failed.downcast_ref::<std::num::ParseIntError>().is_some());
    let rejected = parse(&open(&clock), "7").unwrap_err();
    let rejected = rejected.downcast_ref::<Rejected>().unwrap();
    assert_eq!(rejected.retry_in(), Some(ms(4_200)));
}

#[test]
fn anyhow_takes_both() {
    fn parse(breaker: &Breaker<&ManualClock>, text: &str) -> anyhow::Result<u32> {
        let plain = breaker.call(|| text.parse::<u32>())?;
        let number = || -> anyhow::Result<u32> { Ok(text.parse::<u32>()?) };
        let merged = breaker.call(number).map_err(CallError::merge)?;
        assert_eq!(plain, merged);
        Ok(merged)
    }
    fn parse_by_hand(breaker: &Breaker<&ManualClock>, text: &str) -> anyhow::Result<u32> {
        let attempt = breaker.acquire()?.failing_when_dropped();
        let number = text.parse::<u32>()?;
        attempt.success();
        Ok(number)
    }
    let clock = ManualClock::new();
    for parse in [parse, parse_by_hand] {
        let closed = Breaker::new(Config::new(), &clock);
        assert_eq!(parse(&closed, "7").unwrap(), 7);
        let failed = parse(&closed, "x").unwrap_err();
        assert_eq!(failed.to_string(), "invalid digit found in string");
        assert_eq!(closed.snapshot().failures(), 1);
        let rejected = parse(&open(&clock), "7").unwrap_err();
        assert!(rejected.to_string().starts_with("circuit breaker is open"));
    }
    let merged: anyhow::Error = CallError::Rejected(rejection_of_an_open_breaker()).merge();
    assert!(merged.downcast_ref::<Rejected>().is_some());
}

/// A user's own error type with a variant for rejections.
#[test]
fn an_error_with_a_variant_for_rejections_is_made_of_both() {
    #[derive(Debug, PartialEq)]
    enum Problem {
        NotTried(Rejected),
        Parse,
    }
    impl From<Rejected> for Problem {
        fn from(rejected: Rejected) -> Self {
            Self::NotTried(rejected)
        }
    }
    let clock = ManualClock::new();
    let call = |breaker: &Breaker<_>| {
        let called = breaker.call(|| Err::<(), _>(Problem::Parse));
        called.map_err(CallError::merge)
    };
    assert_eq!(
        call(&Breaker::new(Config::new(), &clock)),
        Err(Problem::Parse)
    );
    let expected = Problem::NotTried(rejection_of_an_open_breaker());
    assert_eq!(call(&open(&clock)), Err(expected));
}
