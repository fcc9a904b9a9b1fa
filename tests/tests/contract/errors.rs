//! B13: errors; B14: fallback.

use std::error::Error;
use std::fmt;

use atomic_breaker::{Breaker, CallError, Config, Fallback, ManualClock, Rejected, State};

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
fn a_refusal_says_that_it_was_refused_and_how_long_to_wait() {
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
        "circuit breaker is half-open, retry in 30s"
    );

    breaker.force_open();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is forced open, until it is released"
    );
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

    let refused = open(&clock).call(|| Err::<(), _>(no_answer())).unwrap_err();
    assert!(refused.to_string().starts_with("circuit breaker is open"));
    assert!(refused.source().is_none());
    assert_eq!(refused.rejected().map(Rejected::state), Some(State::Open));
    assert_eq!(refused.failed(), None);
}

#[test]
fn a_refusal_turns_into_a_call_error_by_the_question_mark() {
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
fn a_refused_call_falls_back_to_a_value_or_another_call_in_one_expression() {
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
