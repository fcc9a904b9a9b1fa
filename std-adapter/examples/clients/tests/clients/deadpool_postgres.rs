// SPDX-License-Identifier: MIT OR Apache-2.0
//! tokio-postgres with deadpool-postgres, against PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atomic_breaker_server::{Failure, Outcome, Resource, ServiceError, Timed};
use clients::deadpool_postgres::{Database, DatabaseError, classify};
use clients::{LIMIT, rules};
use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::outage::{figure, is_closed, survive, survive_failover, survive_loss};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

type Answer<T> = Result<T, ServiceError<Timed<DatabaseError>>>;

async fn run(database: &Database, sql: &str) -> Answer<()> {
    database
        .run(async |client| client.batch_execute(sql).await)
        .await
}

/// The outcome, and the code that the server gave.
fn judged<T: std::fmt::Debug>(answer: Answer<T>) -> (Outcome, Option<SqlState>) {
    let Err(ServiceError::Failed(Timed::Failed(error))) = answer else {
        panic!("{answer:?}");
    };
    let code = match &error {
        DatabaseError::Query(error) | DatabaseError::Pool(PoolError::Backend(error)) => {
            error.code().cloned()
        }
        _ => None,
    };
    (classify(&error), code)
}

#[tokio::test]
async fn is_closed_through_errors_of_callers_and_knows_those_of_the_server() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(host.of_postgres(host.port), 2, rules());
    let setup = "CREATE TABLE names (name text PRIMARY KEY); INSERT INTO names VALUES ('ann')";
    run(&database, setup).await.unwrap();

    for _ in 0..100 {
        let (outcome, code) = judged(run(&database, "INSERT INTO names VALUES ('ann')").await);
        assert_eq!(
            (outcome, code),
            (Outcome::Success, Some(SqlState::UNIQUE_VIOLATION))
        );
    }
    let (outcome, code) = judged(run(&database, "SELEC 1").await);
    assert_eq!(
        (outcome, code),
        (Outcome::Success, Some(SqlState::SYNTAX_ERROR))
    );
    let wrong_type =
        database.run(async |client| client.query_one("SELECT 1 WHERE $1", &[&"x"]).await);
    assert_eq!(judged(wrong_type.await), (Outcome::Success, None));
    assert!(is_closed(database.server()) && database.server().breaker().snapshot().failures() == 0);

    // Two transactions that each read what the other one writes.
    let conflict = database.run(async |client| {
        let begin = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM names";
        client.batch_execute(begin).await?;
        let other = format!("{begin}; INSERT INTO names VALUES ('bob'); COMMIT");
        run(&database, &other).await.expect("the first one wins");
        let late = "INSERT INTO names VALUES ('eve'); COMMIT";
        let late = client.batch_execute(late).await;
        client.batch_execute("ROLLBACK").await?;
        late
    });
    let (outcome, code) = judged(conflict.await);
    assert_eq!(
        (outcome, code),
        (Outcome::Success, Some(SqlState::T_R_SERIALIZATION_FAILURE))
    );

    // The words are those of the query.
    let words = run(&database, "SELEC 1").await.unwrap_err().to_string();
    assert!(!words.contains("object"), "{words}");

    let failure = Outcome::from(Failure::new());
    let (outcome, code) =
        judged(run(&database, "SELECT pg_terminate_backend(pg_backend_pid())").await);
    assert_eq!((outcome, code), (failure, Some(SqlState::ADMIN_SHUTDOWN)));
    let slow = "SET statement_timeout = 50; SELECT pg_sleep(1)";
    let (outcome, code) = judged(run(&database, slow).await);
    assert_eq!((outcome, code), (failure, Some(SqlState::QUERY_CANCELED)));
    let standby = "SET default_transaction_read_only = on; INSERT INTO names VALUES ('zoe')";
    run(&database, "SET default_transaction_read_only = on")
        .await
        .unwrap();
    let (outcome, code) = judged(run(&database, standby).await);
    assert_eq!(
        (outcome, code),
        (failure, Some(SqlState::READ_ONLY_SQL_TRANSACTION))
    );
}

/// Each connection is one to a standby until it is replaced.
#[tokio::test]
async fn a_write_on_a_standby_costs_its_connection_and_no_read() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(host.of_postgres(host.port), 4, rules());
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
    survive_failover("deadpool-postgres", 4, database.server(), read, write).await;
}

/// A service that looks up what is mostly not there.
#[tokio::test]
async fn a_row_that_is_not_there_closes_a_half_open_breaker() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(host.of_postgres(host.port), 2, rules());
    let breaker = database.server().breaker();
    breaker.trip();
    breaker.probe_now();
    let none = database.run(async |client| client.query_one("SELECT 1 WHERE false", &[]).await);
    assert!(matches!(none.await, Err(ServiceError::Failed(_))));
    assert!(is_closed(database.server()));
}

#[tokio::test]
async fn too_many_connections_are_a_failure() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let mut taken = Vec::new();
    while let Ok(connection) = host
        .of_postgres(host.port)
        .connect(tokio_postgres::NoTls)
        .await
    {
        taken.push((connection.0, tokio::spawn(connection.1)));
    }
    let database = Database::new(host.of_postgres(host.port), 2, rules());
    let (outcome, code) = judged(run(&database, "SELECT 1").await);
    assert_eq!(
        (outcome, code),
        (Failure::new().into(), Some(SqlState::TOO_MANY_CONNECTIONS))
    );
}

#[tokio::test]
async fn opens_while_the_server_hangs_or_is_dead_and_is_served_after_it() {
    let Some(mut host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(host.of_postgres(host.port), 4, rules());
    survive(
        "deadpool-postgres",
        &mut host,
        database.server(),
        async || run(&database, "SELECT 1").await,
    )
    .await;
}

#[tokio::test]
async fn a_probe_does_not_try_lost_connections() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let proxy = Proxy::start(host.port).await;
    let database = Database::new(host.of_postgres(proxy.port), 8, rules());
    let call = async || run(&database, "SELECT pg_sleep(0.2)").await;
    survive_loss("deadpool-postgres", &proxy, database.server(), call).await;
}

/// The server goes on with it for seconds.
#[tokio::test]
async fn nobody_waits_for_a_call_that_was_cut_off() {
    let Some(host) = Server::start(Kind::Postgres) else {
        return;
    };
    let database = Database::new(host.of_postgres(host.port), 1, rules());
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
    let database = Arc::new(Database::new(host.of_postgres(host.port), 2, rules()));
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
            Err(ServiceError::Failed(Timed::Failed(DatabaseError::Pool(
                PoolError::Timeout(_)
            ))))
        ));
    }
    let took = began.elapsed();
    assert!(
        !is_closed(database.server()) && waits >= 18,
        "{waits} waits"
    );
    assert!(took < LIMIT + Duration::from_secs(1), "{took:?}");
    let holds = |database: &Resource| database.last_failure().get().unwrap().text.clone();
    figure(&format!(
        "deadpool-postgres, 20 callers of 2 connections that hang: open and answered in {took:.1?}: {}",
        holds(database.server())
    ));
}
