// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shadow mode, and the failure that opened it.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{Guard, Resource, redact};
use atomic_breaker_tower::{AnyPermit, Breaker, BreakerLayer, Failure, Outcome, State, TokioClock};
use tower::{Layer, ServiceExt};

use crate::fake::{Fake, Mood, OnTokio, RULES, SECOND};

fn resource() -> Arc<Resource<OnTokio>> {
    Arc::new(Resource::new(Breaker::new(RULES, TokioClock)))
}

fn text(server: &Resource<OnTokio>) -> Option<String> {
    Some(server.last_failure().get()?.text.to_string())
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_it_trips_probes_and_closes_while_all_calls_pass() {
    let (server, fake) = (resource(), Fake::new(Mood::Fails));
    server.enforcement().set_percent(0).unwrap();
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    for made in 1..=5 {
        let failed = guarded.clone().oneshot(1).await.unwrap_err();
        assert!(failed.rejected().is_none());
        assert_eq!(fake.calls(), made);
    }
    assert_eq!(
        (
            server.breaker().state(),
            server.breaker().snapshot().trips()
        ),
        (State::Open, 1)
    );
    // Answers that the breaker did not ask for do not close it.
    fake.set(Mood::Answers);
    assert!(guarded.clone().oneshot(1).await.is_ok());
    assert_eq!(server.breaker().state(), State::Open);
    // A probe that hangs, and others that pass beside it.
    tokio::time::sleep(10 * SECOND).await;
    fake.set(Mood::AnswersAfter(SECOND));
    let probe = tokio::spawn(guarded.clone().oneshot(1));
    tokio::task::yield_now().await;
    assert_eq!(server.breaker().state(), State::HalfOpen);
    fake.set(Mood::Fails);
    assert!(guarded.clone().oneshot(1).await.is_err());
    assert_eq!(
        server.breaker().state(),
        State::HalfOpen,
        "only the probe decides"
    );
    assert!(probe.await.unwrap().is_ok());
    assert_eq!(server.breaker().state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_share_is_enforced_and_can_be_changed_while_running() {
    let (server, fake) = (resource(), Fake::new(Mood::Answers));
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake);
    server.breaker().force_open();
    for (percent, passing) in [(100, 0..=0), (0, 1_000..=1_000), (30, 600..=800)] {
        server.enforcement().set_percent(percent).unwrap();
        let mut passed = 0;
        for _ in 0..1_000 {
            passed += u32::from(guarded.clone().oneshot(1).await.is_ok());
        }
        assert!(passing.contains(&passed), "{percent} %: {passed} passed");
    }
    assert!(server.enforcement().set_percent(101).is_err());
}

#[tokio::test(start_paused = true)]
async fn rejections_show_the_failure_that_opened_it_and_it_is_kept_when_it_closes() {
    let (server, fake) = (resource(), Fake::new(Mood::Fails));
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    assert!(guarded.clone().oneshot(1).await.is_err());
    assert_eq!(text(&server), None, "not open yet");
    assert!(guarded.clone().oneshot(1).await.is_err());
    let rejected = guarded.clone().oneshot(1).await.unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is open, retry in 10s (last failure: no answer)"
    );
    tokio::time::sleep(10 * SECOND).await;
    fake.set(Mood::Answers);
    assert!(guarded.oneshot(1).await.is_ok());
    assert_eq!(server.breaker().state(), State::Closed);
    assert_eq!(text(&server).as_deref(), Some("no answer"), "history");
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_call_that_hung_are_failures_with_words() {
    let (server, fake) = (resource(), Fake::new(Mood::Panics));
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    for _ in 0..2 {
        let call = tokio::spawn(guarded.clone().oneshot(1));
        assert!(call.await.is_err());
    }
    assert_eq!(text(&server).as_deref(), Some("panicked"));
    tokio::time::sleep(10 * SECOND).await;
    fake.set(Mood::Hangs);
    let probe = tokio::time::timeout(SECOND, guarded.oneshot(1)).await;
    assert!(probe.is_err());
    assert_eq!(server.breaker().state(), State::Open);
    let hung = "a call hung until it was cancelled";
    assert_eq!(text(&server).as_deref(), Some(hung));
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_words_does_not_leave_those_of_an_earlier_one() {
    let server = resource();
    let fail = || Failure::tripping().into();
    let permit = server.acquire().unwrap();
    permit.report_because(fail(), || "503".to_owned());
    assert_eq!(text(&server).as_deref(), Some("503"));
    server.breaker().reset();
    server.acquire().unwrap().report(fail());
    assert_eq!(text(&server), None);
    server.breaker().reset();
    server.acquire().unwrap().report(Outcome::Success);
}

#[test]
fn a_long_text_is_cut_between_characters() {
    for letter in ["x", "é", "€", "𝄞"] {
        for padding in 0..4 {
            let long = "y".repeat(padding) + &letter.repeat(300);
            let cut = redact::failure(&long).text;
            assert!(cut.len() <= 256 && cut.len() > 256 - 2 * 4, "{}", cut.len());
            assert!(long.starts_with(cut.strip_suffix('…').unwrap()));
        }
    }
    let fits = "z".repeat(256);
    assert_eq!(*redact::failure(&fits).text, fits);
    let age = redact::failure(&fits).at.elapsed().unwrap();
    assert!(age < Duration::from_secs(60));
}
