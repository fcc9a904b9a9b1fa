// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs as users write them before they have read anything: each compiles, and does what it seems to.

use std::future::{pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_std::{
    AnyBreaker, Breaker, CallError, Config, Mutating, Retry, State, Timed, breaker, wait::HasTimer,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

static DATABASE: Breaker = breaker(Config::new());
const SECOND: Duration = Duration::from_secs(1);

async fn connect() -> io::Result<usize> {
    Ok(0)
}

async fn length(text: &str) -> io::Result<usize> {
    ready(Ok(text.len())).await
}

#[tokio::test]
async fn functions_and_async_closures_are_operations() {
    let text = "abc".to_owned();
    assert!(DATABASE.retry(Retry::new(), connect).await.is_ok());
    let retry = DATABASE.retry(Retry::new(), async || length(&text).await);
    assert_eq!(retry.await.unwrap(), 3);
    let call = DATABASE.call_timeout(SECOND, async || length(&text).await);
    assert_eq!(call.await.unwrap(), 3);
}

#[tokio::test]
async fn a_question_mark_takes_errors_inside_and_outside() -> Result<(), Box<dyn std::error::Error>>
{
    let call = || async {
        let number: usize = "3".parse().map_err(io::Error::other)?;
        Ok::<_, io::Error>(number + connect().await?)
    };
    assert_eq!(DATABASE.retry(Retry::new(), call).await?, 3);
    assert_eq!(DATABASE.call_timeout(SECOND, call).await?, 3);
    Ok(())
}

#[tokio::test]
async fn calls_of_a_static_are_spawned_as_they_are() {
    let retry = tokio::spawn(DATABASE.retry(Retry::new().try_limit(SECOND), || length("abc")));
    assert_eq!(retry.await.unwrap().unwrap(), 3);
    let call = tokio::spawn(DATABASE.call_timeout(SECOND, connect));
    assert!(call.await.unwrap().is_ok());
    let permit = tokio::spawn(DATABASE.acquire_when_ready());
    permit.await.unwrap().success();
}

fn spawned<O, F>(database: Arc<Breaker>, operation: O) -> JoinHandle<bool>
where
    O: FnMut() -> F + Send + 'static,
    F: Future<Output = io::Result<usize>> + Send + 'static,
{
    tokio::spawn(async move { database.retry(Retry::new(), operation).await.is_ok() })
}

#[tokio::test]
async fn generic_and_boxed_operations_are_spawned() {
    type Boxed = Pin<Box<dyn Future<Output = io::Result<usize>> + Send>>;
    let database = Arc::new(breaker(Config::new()));
    assert!(spawned(Arc::clone(&database), connect).await.unwrap());
    let boxed: Box<dyn FnMut() -> Boxed + Send> = Box::new(|| Box::pin(connect()));
    assert!(spawned(database, boxed).await.unwrap());
}

async fn is_up(database: impl AnyBreaker<Clock: HasTimer>) -> bool {
    let call = database.as_breaker().call_timeout(SECOND, connect);
    call.await.is_ok()
}

#[tokio::test]
async fn any_handle_leads_to_the_calls() {
    assert!(is_up(&DATABASE).await && is_up(&&DATABASE).await);
    assert!(is_up(Arc::new(breaker(Config::new()))).await);
}

#[tokio::test]
async fn an_operation_may_mutate_what_it_captures() {
    let (mut tries, mut read) = (0, Vec::new());
    let counts = || {
        tries += 1;
        let result = if tries < 2 { Err("down") } else { Ok(tries) };
        async move { result }
    };
    assert_eq!(DATABASE.retry(Retry::new(), counts).await, Ok(2));
    let reads = Mutating(async || {
        read.push(1);
        Ok::<_, &str>(())
    });
    assert_eq!(DATABASE.retry(Retry::new(), reads).await, Ok(()));
    assert_eq!(read, [1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_the_middle_is_cancelled() {
    let never = pending::<io::Result<()>>;
    let database = breaker(Config::new().consecutive_failures(1));
    let retry = database.retry(Retry::new(), never);
    assert!(timeout(SECOND, retry).await.is_err());
    let call = database.call_timeout(5 * SECOND, never);
    assert!(timeout(SECOND, call).await.is_err());
    assert_eq!(database.state(), State::Closed);
    let late = database.call_timeout(SECOND, never).await;
    assert!(matches!(late, Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(database.state(), State::Open);
}
