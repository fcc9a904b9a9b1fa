// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that users rely on although nothing states them: futures that are `Send`, words of
//! either width.

use std::future::{Future, ready};

use atomic_breaker_embassy::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker_embassy::{Breaker, EmbassyClock, Mutating, Permit, Prober, Retry, State};
use core::time::Duration;
use embassy_time::Timer;

use super::sim::{RULES, Sim, Times, Watch, watched};

fn is_send<F: Future + Send>(_: F) {}

#[test]
fn futures_are_send_where_their_parts_are() {
    let watch = Watch::<4>::new();
    let breaker = watched(RULES, &watch);
    let second = Duration::from_secs(1);
    is_send(breaker.ready());
    is_send(breaker.acquire_when_ready());
    is_send(Permit::acquire_when_ready(&breaker));
    is_send(breaker.call_timeout(second, || ready(Ok::<(), ()>(()))));
    is_send(breaker.retry(Retry::new(), || ready(Ok::<(), ()>(()))));
    is_send(breaker.retry(Retry::new(), async || Ok::<(), ()>(())));
    is_send(async {
        let mut device = 0;
        let read = async move || {
            device += 1;
            Timer::after_millis(device).await;
            Ok::<(), ()>(())
        };
        breaker.retry(Retry::new(), Mutating(read)).await
    });
    is_send(async {
        breaker
            .run_prober(Prober::every(second), || ready(Ok::<(), ()>(())))
            .await
    });
}

/// Four tasks through an outage of a second and a return of four, with a word of that kind.
fn through_an_outage(word: impl Word) {
    let rules = RULES
        .probe_lease(Duration::from_secs(10))
        .close_after(2)
        .gradual_return(25, Duration::from_secs(4));
    let breaker = Breaker::builder(rules, EmbassyClock).word(word).build();
    let (begun, done) = (Times::default(), Times::default());
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..4 {
        sim.spawn(async {
            let permit = breaker.acquire_when_ready().await;
            begun.mark();
            Timer::after_millis(30).await;
            permit.success();
        });
        sim.spawn(async {
            let send = || ready(Ok::<_, ()>(()));
            let patient = Retry::new().wait_for_breaker(Duration::MAX);
            assert_eq!(breaker.retry(patient, send).await, Ok(()));
            done.mark();
        });
    }
    sim.pass(9_000);
    assert_eq!((begun.len(), done.len()), (4, 4));
    assert!(begun.all()[0] >= 1_000 && done.all()[0] >= 1_000);
    assert!(matches!(breaker.state(), State::Closed | State::Returning));
}

#[test]
fn waiting_works_with_words_of_every_kind() {
    through_an_outage(AtomicU64::new(0));
    through_an_outage(AtomicU32::new(0));
    through_an_outage(Ticks::<_, 0>(AtomicU32::new(0)));
    through_an_outage(Ticks::<_, 8>(AtomicU32::new(0)));
}
