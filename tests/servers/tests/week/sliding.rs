// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ratio of failures over a sliding time, and a limit on the calls in flight.

use std::error::Error;
use std::mem::forget;
use std::sync::{Arc, mpsc};
use std::thread;

use atomic_breaker_http::{Breaker, Clock, Config, Outcome, Ratio, TokioClock};
use atomic_breaker_server::{
    Admit, AnyPermit, InFlightLimit, ManualClock, Permit, Resource, SlidingRatio, word::NativeWord,
};
use tokio::time::{sleep, timeout};

use super::SECOND;
use test_support::week::{Host, config, protects, week, week_by_hand};

type Sliding<C> = Breaker<C, NativeWord, SlidingRatio<C>>;

/// Half of the calls of the last minute must fail; no other rule trips.
fn half() -> Config {
    let ratio = Ratio::percent(50).within(60 * SECOND).min_calls(10);
    config().tally_only().failure_ratio(ratio)
}

fn by<C: Clock + Copy>(clock: C) -> Sliding<C> {
    let tally = SlidingRatio::by(clock);
    Breaker::builder(half(), clock).tally(tally).build()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_left_by_the_question_mark() {
    let (host, breaker) = (Host::default(), by(TokioClock));
    let ask = async || -> Result<u32, Box<dyn Error>> {
        let value = breaker.call_async(|| host.answer()).await?;
        Ok(value + 1)
    };
    protects(&week(&host, || async { ask().await.is_ok() }).await, 110);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_an_attempt() {
    let (host, breaker) = (Host::hanging(), by(TokioClock));
    let ask = async || -> Result<u32, Box<dyn Error>> {
        let attempt = breaker.acquire()?.failing_when_dropped();
        let value = timeout(SECOND / 2, host.answer()).await??;
        attempt.success();
        Ok(value)
    };
    protects(&week(&host, || async { ask().await.is_ok() }).await, 110);
}

/// Two callers, each with its own thread and therefore its own shard.
#[test]
fn one_breaker_in_two_places() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let breaker = Arc::new(by(&clock));
    let other = Arc::clone(&breaker);
    thread::scope(|scope| {
        let (ask, asked) = mpsc::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let there = host.clone();
        scope.spawn(move || {
            for () in asked {
                let result = other.call(|| there.answer_at_once());
                answer.send(result.is_ok()).unwrap();
            }
        });
        let mut turn = 0;
        let week = week_by_hand(&host, &clock, || {
            turn += 1;
            if turn % 2 == 0 {
                return breaker.call(|| host.answer_at_once()).is_ok();
            }
            ask.send(()).unwrap();
            answered.recv().unwrap()
        });
        protects(&week, 110);
        drop(ask);
    });
}

/// Every fifth permit is dropped, and one is never dropped at all.
#[test]
fn permits_that_are_dropped_in_the_middle() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let breaker = Arc::new(by(&clock));
    forget(Permit::acquire(Arc::clone(&breaker)).unwrap());
    let mut turn = 0;
    let week = week_by_hand(&host, &clock, || {
        let Ok(permit) = Permit::acquire(Arc::clone(&breaker)) else {
            return false;
        };
        turn += 1;
        if turn % 5 == 0 {
            drop(permit);
            return breaker.call(|| host.answer_at_once()).is_ok();
        }
        let answer = host.answer_at_once();
        match answer {
            Ok(_) => permit.success(),
            Err(_) => permit.failure(),
        };
        answer.is_ok()
    });
    protects(&week, 110);
}

/// The clock steps back by up to two seconds at every third call.
#[test]
fn a_clock_that_steps_back_again_and_again() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let breaker = by(&clock);
    let mut turn = 0_u32;
    let week = week_by_hand(&host, &clock, || {
        turn += 1;
        let back = SECOND * (turn % 3) * u32::from(turn > 9);
        clock.step_back(back);
        let answer = breaker.call(|| host.answer_at_once());
        clock.advance(back);
        answer.is_ok()
    });
    protects(&week, 110);
}

/// Calls hang for 25 s and their callers do not wait, so no failure is ever reported. The host is back before the last
/// probe has ended, and that probe ends before the open time that follows it.
#[tokio::test(start_paused = true)]
async fn calls_in_flight_of_clones() {
    let host = Host::hanging();
    let rules = Config::new().exponential(2, 30 * SECOND);
    let resource = Arc::new(Resource::new(Breaker::new(rules, TokioClock)));
    let limit = Arc::new(InFlightLimit::new(resource, 10).tripping());
    let ask = async || -> Result<u32, Box<dyn Error>> {
        let permit = Arc::clone(&limit).admit(&())?;
        let host = host.clone();
        let call = tokio::spawn(async move {
            let answer = timeout(25 * SECOND, host.answer()).await;
            if matches!(answer, Ok(Ok(_))) {
                permit.report(Outcome::Success);
            }
            answer
        });
        Ok(timeout(SECOND / 2, call).await????)
    };
    protects(&week(&host, || async { ask().await.is_ok() }).await, 110);
    sleep(25 * SECOND).await;
    assert_eq!(limit.in_flight(), 0);
}
