// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers on tokio, in paused time: nothing here sleeps.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_std::{
    Breaker, CallError, Config, Mutating, Permit, Prober, Retry, State, StateWatch, Timed,
    TokioClock, word::NativeWord,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

type OnTokio = Breaker<TokioClock>;
type Watched = Breaker<TokioClock, NativeWord, (), StateWatch>;

fn breaker() -> Arc<OnTokio> {
    Arc::new(Breaker::new(RULES, TokioClock))
}

fn watched() -> Arc<Watched> {
    let breaker = Breaker::builder(RULES, TokioClock).observer(StateWatch::new());
    Arc::new(breaker.build())
}

async fn fails() -> Result<(), io::Error> {
    Err(io::Error::other("no answer"))
}

/// The usual ways to use them.
#[tokio::test(start_paused = true)]
async fn every_future_can_be_spawned() {
    static SERVER: OnTokio = Breaker::new(RULES, TokioClock);
    let mut tasks = JoinSet::new();
    tasks.spawn(async { SERVER.ready().await });
    tasks.spawn(async {
        SERVER.acquire_when_ready().await.success();
    });
    tasks.spawn(async {
        Permit::acquire_when_ready(&SERVER).await.success();
    });
    tasks.spawn(async {
        let answer = SERVER.call_timeout(SECOND, fails).await;
        assert!(matches!(answer, Err(CallError::Failed(Timed::Failed(_)))));
    });
    tasks.spawn(async {
        let answer = SERVER
            .retry(Retry::new().tries(1), async || fails().await)
            .await;
        assert!(matches!(answer, Err(CallError::Failed(_))));
    });
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let prober = tokio::spawn(async {
        SERVER
            .run_prober(Prober::every(SECOND), async || fails().await)
            .await
    });
    tokio::time::sleep(SECOND).await;
    prober.abort();
}

/// The compiler shows that a future is `Send` only if it knows the future of the operation.
#[tokio::test(start_paused = true)]
async fn retries_of_operations_that_borrow_can_be_spawned() {
    async fn send(url: &str, body: &[u8]) -> Result<usize, io::Error> {
        tokio::task::yield_now().await;
        Ok(url.len() + body.len())
    }
    let server = breaker();
    let sent = tokio::spawn(async move {
        let (url, body) = (String::from("host"), vec![7; 3]);
        let mut tries = 0;
        let counted = || {
            tries += 1;
            send(&url, &body)
        };
        let policy = Retry::new().try_limit(SECOND);
        let first = server.retry(policy, counted).await.unwrap();
        let block = || async { Ok::<_, io::Error>(send(&url, &body).await? + first) };
        server.retry(Retry::new(), block).await.unwrap() + tries
    });
    assert_eq!(sent.await.unwrap(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_cut_off_and_trips() {
    let server = breaker();
    for _ in 0..2 {
        let begin = Instant::now();
        let answer = server
            .call_timeout(SECOND, pending::<Result<(), io::Error>>)
            .await;
        assert!(matches!(answer, Err(CallError::Failed(Timed::TimedOut))));
        assert_eq!(begin.elapsed(), SECOND);
    }
    assert_eq!(server.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn ready_sleeps_until_the_open_time_is_over() {
    let server = breaker();
    server.trip();
    let begin = Instant::now();
    server.ready().await;
    let slept = begin.elapsed();
    assert!(slept >= 10 * SECOND && slept <= 11 * SECOND, "{slept:?}");
    assert!(server.acquire().unwrap().is_probe());
}

#[tokio::test(start_paused = true)]
async fn a_watch_wakes_sleeping_callers_when_the_breaker_closes() {
    let server = watched();
    server.force_open();
    let begin = Instant::now();
    let mut sleepers = JoinSet::new();
    // More than are woken: the others poll once a second.
    for _ in 0..5_000 {
        let server = Arc::clone(&server);
        sleepers.spawn(async move {
            server.ready().await;
            begin.elapsed()
        });
    }
    tokio::time::sleep(60 * SECOND).await;
    server.reset();
    let woken = sleepers.join_all().await;
    // Spread over a second, and up to another for those that poll.
    assert!(
        woken
            .iter()
            .all(|&at| at >= 60 * SECOND && at <= 63 * SECOND)
    );
    let soon = woken.iter().filter(|&&at| at <= 61 * SECOND).count();
    assert!(soon >= 4_000, "{soon}");
    let busiest = (0..3_000)
        .map(|ms| {
            let from = 60 * SECOND + Duration::from_millis(ms);
            let within = from..from + Duration::from_millis(10);
            woken.iter().filter(|at| within.contains(at)).count()
        })
        .max();
    assert!(busiest < Some(200), "they come spread: {busiest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_sees_the_last_transition() {
    let server = watched();
    let mut changes = server.observer().subscribe();
    assert_eq!(*changes.borrow_and_update(), None);
    server.trip();
    server.reset();
    changes.changed().await.unwrap();
    assert_eq!(changes.borrow_and_update().unwrap().to, State::Closed);
    assert_eq!(server.observer().last().unwrap().to, State::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_aborted_task_gives_the_slot_of_its_probe_back() {
    let server = breaker();
    server.trip();
    let permit = Permit::acquire_when_ready(Arc::clone(&server)).await;
    assert!(permit.is_probe());
    let call = tokio::spawn(async move {
        pending::<()>().await;
        permit.success();
    });
    tokio::task::yield_now().await;
    assert!(Permit::acquire(Arc::clone(&server)).is_err());
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(server.snapshot().probes_in_flight(), 0);
    server.acquire().unwrap().success();
    assert_eq!(server.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_to_waits_out_the_open_time_and_takes_no_try_for_it() {
    let server = breaker();
    server.trip();
    let begin = Instant::now();
    let tries = std::cell::Cell::new(0);
    let at_once = server.retry(Retry::new(), fails).await.unwrap_err();
    assert!(at_once.rejected().is_some() && begin.elapsed().is_zero());
    let patient = Retry::new().wait_for_breaker(Duration::MAX);
    let answer = server
        .retry(patient.tries(1), async || {
            tries.set(tries.get() + 1);
            Ok::<_, io::Error>(7)
        })
        .await;
    assert_eq!((answer.unwrap(), tries.get()), (7, 1));
    assert!(begin.elapsed() >= 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_prober_closes_as_soon_as_the_resource_responds() {
    let server = Arc::new(Breaker::new(RULES.open_for(600 * SECOND), TokioClock));
    server.trip();
    let up_at = Instant::now() + 30 * SECOND;
    let prober = tokio::spawn({
        let server = Arc::clone(&server);
        async move {
            let ping = async || {
                if Instant::now() >= up_at {
                    Ok(())
                } else {
                    fails().await
                }
            };
            server.run_prober(Prober::every(SECOND), ping).await
        }
    });
    tokio::time::sleep(29 * SECOND).await;
    assert_eq!(server.state(), State::Open);
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(server.state(), State::Closed);
    prober.abort();
}

/// The runtimes of tests each have their own paused time: the first one to read the clock may be far ahead.
#[test]
fn the_clock_goes_on_in_every_paused_runtime() {
    use atomic_breaker_std::Clock;
    let runtimes = [(); 3].map(|()| {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
    });
    for (runtime, ahead) in runtimes.iter().zip([3_600, 1, 0]) {
        runtime.block_on(async {
            tokio::time::advance(ahead * SECOND).await;
            let before = TokioClock.now_ms();
            tokio::time::advance(60 * SECOND).await;
            let passed = TokioClock.now_ms().wrapping_sub(before);
            assert!((60_000..60_010).contains(&passed), "{passed}");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_changes_what_it_captures_is_tried_again() {
    struct Connection(Vec<u32>);
    impl Connection {
        async fn send(&mut self, number: u32) -> Result<usize, io::Error> {
            self.0.push(number);
            match self.0.len() {
                3 => Ok(3),
                _ => fails().await.map(|()| 0),
            }
        }
    }
    let breaker = Breaker::new(RULES.consecutive_failures(9), TokioClock);
    let mut connection = Connection(Vec::new());
    let operation = async || connection.send(7).await;
    let sent = breaker.retry(Retry::new(), Mutating(operation)).await;
    assert_eq!((sent.unwrap(), connection.0), (3, vec![7; 3]));

    let mut connection = Connection(Vec::new());
    let ignored = |_: &Result<usize, io::Error>| atomic_breaker_std::Outcome::Ignored;
    let operation = async || connection.send(7).await;
    let sent = breaker
        .retry_with(ignored, Retry::new(), Mutating(operation))
        .await;
    assert!(sent.is_err());
    assert_eq!(connection.0, [7], "only a failure is tried again");
}
