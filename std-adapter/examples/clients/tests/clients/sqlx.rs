// SPDX-License-Identifier: MIT OR Apache-2.0
//! sqlx, against PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atomic_breaker_server::{Failure, Outcome, ServiceError, Timed};
use clients::sqlx::{Database, classify};
use clients::{LIMIT, rules};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{Connection, Error, Executor, PgConnection};

use crate::outage::{figure, is_closed, survive, survive_failover, survive_loss};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

type Answer<T> = Result<T, ServiceError<Timed<Error>>>;

fn address(port: u16) -> PgConnectOptions {
    let address = PgConnectOptions::new_without_pgpass()
        .host("localhost")
        .port(port);
    let address = address.username("test").database("postgres");
    address.ssl_mode(PgSslMode::Disable)
}

async fn run(database: &Database, sql: &str) -> Answer<()> {
    database
        .run(async |connection| connection.execute(sql).await.map(drop))
        .await
}

/// The outcome, and the code that the server gave.
fn judged<T: std::fmt::Debug>(answer: Answer<T>) -> (Outcome, String) {
    let Err(ServiceError::Failed(Timed::Failed(error))) = answer else {
        panic!("{answer:?}");
    };
    let code = error.as_database_error().and_then(|error| error.code());
    (classify(&error), code.unwrap_or_default().into_owned())
}

#[tokio::test]
async fn is_closed_through_errors_of_callers_and_knows_those_of_the_server() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(address(host.port), 2, rules());
    let setup = "CREATE TABLE names (name text PRIMARY KEY); INSERT INTO names VALUES ('ann')";
    run(&database, setup).await.unwrap();

    for _ in 0..100 {
        let (outcome, code) = judged(run(&database, "INSERT INTO names VALUES ('ann')").await);
        assert_eq!((outcome, &*code), (Outcome::Success, "23505"));
    }
    let (outcome, code) = judged(run(&database, "SELEC 1").await);
    assert_eq!((outcome, &*code), (Outcome::Success, "42601"));
    let none = database.run(async |connection| {
        sqlx::query("SELECT 1 WHERE false")
            .fetch_one(connection)
            .await
            .map(drop)
    });
    assert_eq!(judged(none.await), (Outcome::Success, String::new()));
    assert!(is_closed(database.server()) && database.server().breaker().snapshot().failures() == 0);

    let failure = Outcome::from(Failure::new());
    let (outcome, code) =
        judged(run(&database, "SELECT pg_terminate_backend(pg_backend_pid())").await);
    assert_eq!((outcome, &*code), (failure, "57P01"));
    let slow = "SET statement_timeout = 50; SELECT pg_sleep(1)";
    let (outcome, code) = judged(run(&database, slow).await);
    assert_eq!((outcome, &*code), (failure, "57014"));
}

/// Each connection is one to a standby until it is replaced.
#[tokio::test]
async fn a_write_on_a_standby_costs_its_connection_and_no_read() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(address(host.port), 4, rules());
    run(&database, "CREATE TABLE names (name text)")
        .await
        .unwrap();
    let standby = "SET default_transaction_read_only = on; SELECT pg_sleep(0.2)";
    let four = tokio::join!(
        run(&database, standby),
        run(&database, standby),
        run(&database, standby),
        run(&database, standby)
    );
    assert!(four.0.and(four.1).and(four.2).and(four.3).is_ok());
    let read = async || run(&database, "SELECT * FROM names").await;
    let write = async || run(&database, "INSERT INTO names VALUES ('ann')").await;
    survive_failover("sqlx", 4, database.server(), read, write).await;
}

#[tokio::test]
async fn too_many_connections_are_a_failure_and_are_shown_as_a_timeout() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let mut taken = Vec::new();
    while let Ok(connection) = PgConnection::connect_with(&address(host.port)).await {
        taken.push(connection);
    }
    let database = Database::new(address(host.port), 2, rules());
    let answer = run(&database, "SELECT 1").await;
    assert!(
        matches!(
            answer,
            Err(ServiceError::Failed(Timed::Failed(Error::PoolTimedOut)))
        ),
        "{answer:?}"
    );
    assert_eq!(judged(answer).0, Failure::new().into());
}

#[tokio::test]
async fn opens_while_the_server_hangs_or_is_dead_and_is_served_after_it() {
    let Some(mut host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(address(host.port), 4, rules());
    survive("sqlx", &mut host, database.server(), async || {
        run(&database, "SELECT 1").await
    })
    .await;
}

#[tokio::test]
async fn a_probe_does_not_try_lost_connections() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let proxy = Proxy::start(host.port).await;
    let database = Database::new(address(proxy.port), 8, rules());
    let call = async || run(&database, "SELECT pg_sleep(0.2)").await;
    survive_loss("sqlx", &proxy, database.server(), call).await;
}

/// The server goes on with it for seconds.
#[tokio::test]
async fn nobody_waits_for_a_call_that_was_cut_off() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(address(host.port), 1, rules());
    run(&database, "SET statement_timeout = 0").await.unwrap();
    let cut_off = run(&database, "SELECT pg_sleep(4)").await;
    assert!(matches!(
        cut_off,
        Err(ServiceError::Failed(Timed::TimedOut))
    ));
    run(&database, "SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_whose_connections_hang_opens_it() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Arc::new(Database::new(address(host.port), 2, rules()));
    run(&database, "SELECT 1").await.unwrap();
    host.hang();
    let began = Instant::now();
    let callers = (0..20).map(|_| {
        let database = Arc::clone(&database);
        tokio::spawn(async move { run(&database, "SELECT 1").await })
    });
    let callers: Vec<_> = callers.collect();
    let mut waits = 0;
    for caller in callers {
        let answer = caller.await.unwrap();
        waits += usize::from(matches!(
            answer,
            Err(ServiceError::Failed(Timed::Failed(Error::PoolTimedOut)))
        ));
    }
    let took = began.elapsed();
    assert!(
        !is_closed(database.server()) && waits >= 18,
        "{waits} waits"
    );
    assert!(took < LIMIT + Duration::from_secs(1), "{took:?}");
    figure(&format!(
        "sqlx, 20 callers of 2 connections that hang: open and answered in {took:.1?}"
    ));
}
