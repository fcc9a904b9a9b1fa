// SPDX-License-Identifier: MIT OR Apache-2.0
//! The records that a recorder writes, and those that it drops.

use atomic_breaker::{Breaker, ManualClock};
use atomic_breaker_tune::{
    CallRecorder, Config, Failure, LogReader, LoggedCall, Outcome, ReadLog, RecordedOutcome,
};

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::time::Duration;

fn path(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("recorded-{name}.csv"));
    let _ = fs::remove_file(&path);
    path
}

fn read(path: &PathBuf) -> ReadLog {
    LogReader::new()
        .read(BufReader::new(File::open(path).unwrap()))
        .unwrap()
}

fn error() -> io::Error {
    io::Error::other("no answer")
}

#[test]
fn calls_that_are_recorded_are_read_again() {
    let path = path("whole");
    let recorder = CallRecorder::builder().start(&path).unwrap();
    let breaker = Breaker::new(Config::new().consecutive_failures(2), ManualClock::new());
    for _ in 0..2 {
        let _ = recorder.call("a", || breaker.call(|| Err::<(), _>(error())));
    }
    let rejected = recorder.call("a", || breaker.call(|| Ok::<_, io::Error>(7)));
    assert!(rejected.is_err());
    assert_eq!(
        recorder
            .call("b, \"c\"\n", || Ok::<_, io::Error>(7))
            .unwrap(),
        7
    );
    recorder.begin("d").end(RecordedOutcome::Ignored);
    drop(recorder.begin("d"));
    let begun = std::time::Instant::now();
    let slow = recorder.begin("slow");
    std::thread::sleep(Duration::from_millis(20));
    slow.end(RecordedOutcome::Ok);
    let slept = begun.elapsed();
    let summary = recorder.finish();
    assert_eq!((summary.written, summary.dropped), (7, 0));
    assert!(summary.error.is_none());
    let read = read(&path);
    assert_eq!(read.summary.skipped, 0, "{}", read.summary);
    let calls = read.log.calls();
    let key = |call: &LoggedCall| read.log.keys()[call.key as usize].to_string();
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (key(call), call.completion().outcome))
        .collect();
    let bad = ("a".to_owned(), Outcome::Failure(Failure::new()));
    let nothing = ("d".to_owned(), Outcome::Ignored);
    assert_eq!(seen[..3], [bad.clone(), bad.clone(), bad]);
    assert!(calls[2].was_rejected());
    assert_eq!(seen[3], ("b, \"c\"".to_owned(), Outcome::Success));
    assert_eq!(seen[4..6], [nothing.clone(), nothing]);
    let took = Duration::from_micros(calls[6].completion().duration_us.into());
    assert!(
        (Duration::from_millis(20)..=slept).contains(&took),
        "{took:?}"
    );
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let path = path("exists");
    fs::write(&path, "precious").unwrap();
    let error = CallRecorder::builder().start(&path).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let text = error.to_string();
    let advice = "recorded-exists.csv: a log is never overwritten, name a new file for each start";
    assert!(text.contains(advice), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn the_file_ends_at_its_size_and_the_rest_is_counted() {
    let path = path("full");
    let recorder = CallRecorder::builder()
        .max_bytes(1_000)
        .start(&path)
        .unwrap();
    for _ in 0..1_000 {
        recorder.begin("key").end(RecordedOutcome::Ok);
    }
    let summary = recorder.finish();
    assert!(fs::metadata(&path).unwrap().len() <= 1_000);
    assert_eq!(summary.written + summary.dropped, 1_000);
    assert!((20..40).contains(&summary.written), "{summary:?}");
    assert_eq!(read(&path).log.calls().len() as u64, summary.written);
}

#[test]
fn all_calls_of_a_key_are_kept_or_none() {
    let path = path("share");
    let recorder = CallRecorder::builder()
        .share_of_keys(25)
        .start(&path)
        .unwrap();
    for _ in 0..4 {
        for key in 0..1_000 {
            recorder
                .begin(&format!("host-{key}"))
                .end(RecordedOutcome::Ok);
        }
    }
    assert_eq!(recorder.finish().dropped, 0);
    let read = read(&path);
    let keys = read.log.keys().len();
    assert!((200..300).contains(&keys), "{keys}");
    assert_eq!(read.log.calls().len(), keys * 4);
}

#[test]
fn many_threads_lose_nothing_that_is_not_counted() {
    let path = path("threads");
    let recorder = CallRecorder::builder().queue(16).start(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let recorder = &recorder;
            scope.spawn(move || {
                for _ in 0..5_000 {
                    recorder
                        .begin(if thread % 2 == 0 { "a" } else { "b" })
                        .end(RecordedOutcome::Ok);
                }
            });
        }
    });
    let summary = recorder.finish();
    assert_eq!(summary.written + summary.dropped, 40_000);
    assert!(summary.written > 0);
    assert_eq!(read(&path).log.calls().len() as u64, summary.written);
}

#[tokio::test]
async fn a_future_that_is_dropped_is_cancelled() {
    let path = path("futures");
    let recorder = CallRecorder::builder().start(&path).unwrap();
    let answer = recorder.call_async("a", async { Ok::<_, io::Error>(7) });
    assert_eq!(answer.await.unwrap(), 7);
    let hangs = recorder.call_async("a", std::future::pending::<Result<(), io::Error>>());
    assert!(
        tokio::time::timeout(Duration::from_millis(10), hangs)
            .await
            .is_err()
    );
    assert_eq!(recorder.finish().written, 2);
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains(",ok,a\n") && text.contains(",cancelled,a\n"),
        "{text}"
    );
}

#[cfg(feature = "tower")]
#[tokio::test]
async fn a_layer_records_the_calls_of_a_service() {
    use atomic_breaker_tune::RecordLayer;
    use std::sync::Arc;
    use tower::{ServiceBuilder, ServiceExt, service_fn};

    let path = path("layer");
    let recorder = Arc::new(CallRecorder::builder().start(&path).unwrap());
    let layer = RecordLayer::new(
        Arc::clone(&recorder),
        |host: &&'static str| *host,
        |result: &Result<usize, io::Error>| RecordedOutcome::from_result(result),
    );
    let service =
        ServiceBuilder::new()
            .layer(layer)
            .service(service_fn(|host: &'static str| async move {
                match host {
                    "down" => Err(error()),
                    "hangs" => std::future::pending().await,
                    host => Ok(host.len()),
                }
            }));
    assert_eq!(service.clone().oneshot("up").await.unwrap(), 2);
    assert!(service.clone().oneshot("down").await.is_err());
    let hangs = service.clone().oneshot("hangs");
    assert!(
        tokio::time::timeout(Duration::from_millis(10), hangs)
            .await
            .is_err()
    );
    drop(service);
    Arc::try_unwrap(recorder).unwrap().finish();
    let text = fs::read_to_string(&path).unwrap();
    for line in [",ok,up\n", ",failed,down\n", ",cancelled,hangs\n"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_rejection_within_an_io_error_is_one() {
    let breaker = Breaker::new(Config::new(), ManualClock::new());
    breaker.trip();
    let error = io::Error::other(breaker.acquire().map(drop).unwrap_err());
    assert_eq!(
        RecordedOutcome::from_error(&error),
        RecordedOutcome::Rejected
    );
}
