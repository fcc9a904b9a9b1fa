//! Whether the engine of a fleet answers, as events.

use std::time::Duration;

use atomic_breaker_std::fleet::{FleetConfig, InProcess, Joined};
use tracing::Level;

use crate::support::{Logged, logged};

/// What is logged by this, in virtual time.
fn events(what: impl AsyncFnOnce(InProcess, Joined)) -> Vec<Logged> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let all = logged(|| {
        runtime.block_on(async {
            let engine = InProcess::new();
            engine.cut();
            let joined = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
            what(engine, joined).await;
        });
    });
    let is_ours = |event: &Logged| event.target == "atomic_breaker::fleet";
    all.into_iter().filter(is_ours).collect()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[test]
fn an_engine_that_never_answers_is_logged_once_with_its_error() {
    let events = events(async |_, _joined| pass(600).await);
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(event.level, Level::WARN);
    assert_eq!(event.get("error"), Some("the connection was cut"));
}

#[test]
fn each_loss_and_each_return_is_logged() {
    let events = events(async |engine, _joined| {
        for _ in 0..2 {
            pass(60).await;
            engine.mend();
            pass(60).await;
            engine.cut();
        }
        pass(60).await;
    });
    let levels: Vec<_> = events.iter().map(|event| event.level).collect();
    let warn = Level::WARN;
    let info = Level::INFO;
    assert_eq!(levels, [warn, info, warn, info, warn], "{events:?}");
    assert_eq!(events[1].get("living"), Some("1"));
}

#[test]
fn another_error_is_logged_too() {
    let events = events(async |engine, _joined| {
        pass(60).await;
        engine.mend();
        engine.hang(true);
        pass(60).await;
    });
    let errors: Vec<_> = events.iter().map(|event| event.get("error")).collect();
    let late = Some("no answer within 250ms");
    assert_eq!(errors, [Some("the connection was cut"), late]);
}
