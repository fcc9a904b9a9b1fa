// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of `tracing` that say whether the engine of a fleet responds.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{Breaker, Config, StdClock};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static PAYMENTS: Breaker<StdClock> = Breaker::new(Config::new(), StdClock);

const LOST: &str = "the engine of the fleet does not answer: breakers go on alone";
const CUT: &str = "error=the connection was cut";

/// The lines that are logged meanwhile, in virtual time, without their target.
fn lines(what: impl AsyncFnOnce(InProcess, Joined)) -> Vec<String> {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    tracing::subscriber::with_default(log, || {
        runtime.block_on(async {
            let engine = InProcess::new();
            engine.cut();
            let joined = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
            what(engine, joined).await;
        });
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().filter(|line| line.contains("breaker"));
    lines
        .map(|line| line.trim().replace("atomic_breaker::fleet: ", ""))
        .collect()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[test]
fn an_engine_that_never_answers_is_logged_once_with_its_error() {
    let lines = lines(async |_, _joined| pass(600).await);
    assert_eq!(lines, [format!("WARN {LOST} {CUT}")]);
}

#[test]
fn each_loss_and_each_return_is_logged() {
    let lines = lines(async |engine, _joined| {
        for _ in 0..2 {
            pass(60).await;
            engine.mend();
            pass(60).await;
            engine.cut();
        }
        pass(60).await;
    });
    let lost = &*format!("WARN {LOST} {CUT}");
    let back = "INFO the engine of the fleet answers living=1";
    assert_eq!(lines, [lost, back, lost, back, lost]);
}

/// The machine slept, or the runtime was blocked: nothing went unanswered, but what was last heard is old.
#[test]
fn an_engine_not_heard_for_two_polls_and_a_limit_is_not_relied_on_until_it_answers() {
    let ms = Duration::from_millis;
    for (stands_still, is_lost) in [(ms(10_240), false), (ms(10_260), true)] {
        let lines = lines(async |engine, joined| {
            engine.mend();
            pass(60).await;
            // It reads at once.
            let seat = joined.seat("payments").unwrap();
            seat.take(&PAYMENTS);
            tokio::time::sleep(ms(1)).await;
            tokio::time::advance(stands_still).await;
            pass(60).await;
        });
        let back = lines.iter().filter(|line| line.starts_with("INFO"));
        assert_eq!(back.count(), 1 + usize::from(is_lost), "{lines:?}");
    }
}

#[test]
fn another_error_is_logged_too() {
    let lines = lines(async |engine, _joined| {
        pass(60).await;
        engine.mend();
        engine.hang(true);
        pass(60).await;
    });
    let late = format!("WARN {LOST} error=not connected within 2s");
    assert_eq!(lines, [format!("WARN {LOST} {CUT}"), late]);
}
