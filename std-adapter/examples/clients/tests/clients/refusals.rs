// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that are well: their pool is too small for so many callers, or their disk is full, and they answer reads. Without
//! a database, so that these run everywhere.

use std::fmt::Debug;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use ::redis::{Client, cmd};
use ::sqlx::Executor;
use ::sqlx::postgres::{PgConnectOptions, PgSslMode};
use atomic_breaker_server::{Resource, ServiceError};
use clients::{LIMIT, deadpool_postgres, redis, rules, sqlx};
use tokio::time::sleep;

use crate::fake::Fake;
use crate::outage::is_closed;

/// More than the four calls in a row which may fail between two that succeed.
const CALLERS: usize = 30;

fn of_deadpool(fake: &Fake) -> deadpool_postgres::Database {
    let address = format!("host=127.0.0.1 port={} user=test", fake.port);
    deadpool_postgres::Database::new(address.parse().unwrap(), 2, rules())
}

fn of_sqlx(fake: &Fake) -> sqlx::Database {
    let address = PgConnectOptions::new_without_pgpass().host("127.0.0.1");
    let address = address.port(fake.port).username("test");
    sqlx::Database::new(address.ssl_mode(PgSslMode::Disable), 2, rules())
}

/// All callers at once, each again and again, of two places and calls of 200 ms: ten calls a second can be served.
async fn is_served_by_two<T, E>(
    client: &str,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    let (began, time) = (Instant::now(), Duration::from_secs(3));
    let caller = async || {
        let mut served = 0;
        while began.elapsed() < time {
            match call().await {
                Ok(_) => served += 1,
                Err(ServiceError::Failed(_)) => {}
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
        served
    };
    let served: u32 = all(caller).await.into_iter().sum();
    let trips = server.breaker().snapshot().trips();
    assert!(
        trips == 0 && is_closed(server),
        "{client}: {trips} trips, {served} served"
    );
    // Of thirty.
    assert!(served >= 25, "{client}: {served} served");
}

/// As many callers at once, in one task.
async fn all<T>(caller: impl AsyncFn() -> T) -> Vec<T> {
    let mut callers: Vec<_> = (0..CALLERS).map(|_| Box::pin(caller())).collect();
    let mut done: Vec<Option<T>> = callers.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (caller, done) in callers.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(answer) = caller.as_mut().poll(context)
            {
                *done = Some(answer);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// All callers at once, of two connections that never answer.
async fn opens_when_two_hang<T, E>(
    client: &str,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    let began = Instant::now();
    let answers = all(call).await;
    assert!(answers.iter().all(Result::is_err), "{client}");
    assert!(!is_closed(server), "{client}");
    assert!(began.elapsed() < LIMIT + Duration::from_secs(1), "{client}");
}

#[tokio::test]
async fn a_pool_too_small_for_its_callers_stays_closed_and_serves_what_it_can() {
    let fake = Fake::postgres().await;
    let (deadpool, sqlx) = (&of_deadpool(&fake), &of_sqlx(&fake));
    let ours = async || {
        deadpool
            .run(async |it| it.batch_execute("SELECT 200").await)
            .await
    };
    let theirs = async || sqlx.run(async |it| it.execute("SELECT 200").await).await;
    tokio::join!(
        is_served_by_two("deadpool-postgres", deadpool.server(), ours),
        is_served_by_two("sqlx", sqlx.server(), theirs)
    );
}

#[tokio::test]
async fn a_pool_whose_calls_all_hang_opens_it_without_a_database() {
    let fake = Fake::postgres().await;
    let (deadpool, sqlx) = (&of_deadpool(&fake), &of_sqlx(&fake));
    let ours = async |sql| deadpool.run(async |it| it.batch_execute(sql).await).await;
    let theirs = async |sql| sqlx.run(async |it| it.execute(sql).await).await;
    // Answers from before the wait do not count.
    assert!(ours("SELECT 0").await.is_ok() && theirs("SELECT 0").await.is_ok());
    tokio::join!(
        opens_when_two_hang("deadpool-postgres", deadpool.server(), async || ours(
            "SELECT 60000"
        )
        .await),
        opens_when_two_hang("sqlx", sqlx.server(), async || theirs("SELECT 60000").await)
    );
}

/// One call of `one_of` writes. No read is ever turned away, writes are once five have failed, and are served again soon
/// after the disk has room.
async fn reads_are_served_while_writes_are_refused<T, U, E: Debug>(
    client: &str,
    fake: &Fake,
    [server, writes]: [&Resource; 2],
    read: impl AsyncFn() -> Result<T, ServiceError<E>>,
    write: impl AsyncFn() -> Result<U, ServiceError<E>>,
) {
    for one_of in [1, 2, 10] {
        assert!(read().await.is_ok() && write().await.is_ok(), "{client}");
        fake.is_full.store(true, SeqCst);
        let mut failed = 0;
        for call in 0..100 {
            if call % one_of != 0 {
                assert!(read().await.is_ok(), "{client}: a read, of {one_of}");
            } else if let Err(ServiceError::Failed(_)) = write().await {
                failed += 1;
            }
        }
        assert!(is_closed(server), "{client}, of {one_of}");
        assert_eq!(server.breaker().snapshot().trips(), 0, "{client}");
        assert!(!is_closed(writes), "{client}, of {one_of}");
        assert_eq!(failed, 5, "{client}, of {one_of}");
        assert!(read().await.is_ok(), "{client}");
        fake.is_full.store(false, SeqCst);
        let began = Instant::now();
        while write().await.is_err() {
            // An open time, with its jitter.
            assert!(began.elapsed() < Duration::from_millis(2_200), "{client}");
            assert!(read().await.is_ok(), "{client}");
            sleep(Duration::from_millis(10)).await;
        }
        assert!(is_closed(writes), "{client}");
    }
}

#[tokio::test]
async fn a_full_disk_of_postgres_rejects_writes_and_no_read() {
    let fake = Fake::postgres().await;
    let (deadpool, sqlx) = (&of_deadpool(&fake), &of_sqlx(&fake));
    let read = async || {
        deadpool
            .run(async |it| it.batch_execute("SELECT 0").await)
            .await
    };
    let write = async || {
        deadpool
            .write(async |it| it.batch_execute("INSERT").await)
            .await
    };
    reads_are_served_while_writes_are_refused(
        "deadpool-postgres",
        &fake,
        [deadpool.server(), deadpool.writes()],
        read,
        write,
    )
    .await;
    reads_are_served_while_writes_are_refused(
        "sqlx",
        &fake,
        [sqlx.server(), sqlx.writes()],
        async || sqlx.run(async |it| it.execute("SELECT 0").await).await,
        async || sqlx.write(async |it| it.execute("INSERT").await).await,
    )
    .await;
}

#[tokio::test]
async fn full_memory_of_redis_rejects_writes_and_no_read() {
    let fake = Fake::redis().await;
    let client = Client::open(format!("redis://127.0.0.1:{}/", fake.port)).unwrap();
    let cache = redis::Cache::new(client, rules()).unwrap();
    reads_are_served_while_writes_are_refused(
        "redis",
        &fake,
        [cache.server(), cache.writes()],
        async || cache.call::<String>(cmd("GET").arg("name")).await,
        async || {
            let command = &mut cmd("SET");
            let command = command.arg("name").arg("bob");
            cache.write::<String>(command).await
        },
    )
    .await;
}
