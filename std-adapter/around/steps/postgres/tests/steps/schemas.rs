// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of other programs and versions; users who must not create any.

use atomic_breaker_steps_postgres::PostgresStore;
use futures_util::future::join_all;

use crate::server::Server;
use test_support::stores::{LEASE, claim, put};

async fn error_of(server: &Server) -> String {
    let error = PostgresStore::connect(&server.address()).await.unwrap_err();
    error.to_string()
}

#[tokio::test]
async fn tables_of_another_version_are_named_and_left_as_they_are() {
    let Some(server) = Server::start().await else {
        return;
    };
    drop(server.store().await);
    let client = server.client().await;
    for version in [0_i64, 2, 999] {
        let update = "UPDATE atomic_breaker.version SET version = $1";
        client.execute(update, &[&version]).await.unwrap();
        let words = error_of(&server).await;
        let says = format!("version {version}, and this program needs 1");
        assert!(words.contains(&says) && words.contains("update"), "{words}");
        let found = "SELECT version FROM atomic_breaker.version";
        let found: i64 = client.query_one(found, &[]).await.unwrap().get(0);
        assert_eq!(found, version);
    }
}

#[tokio::test]
async fn tables_made_by_another_program_are_named() {
    let Some(server) = Server::start().await else {
        return;
    };
    let client = server.client().await;
    for table in ["job (id bigint)", "version (version bigint)"] {
        let batch = format!(
            "DROP SCHEMA IF EXISTS atomic_breaker CASCADE; CREATE SCHEMA atomic_breaker;
             CREATE TABLE atomic_breaker.{table}"
        );
        client.batch_execute(&batch).await.unwrap();
        let words = error_of(&server).await;
        assert!(words.contains("not made by this crate"), "{words}");
    }
}

#[tokio::test]
async fn ten_stores_opened_at_once_create_the_tables_once() {
    let Some(server) = Server::start().await else {
        return;
    };
    let stores = join_all((0..10).map(|_| server.store())).await;
    put(&stores[0], "k").await;
    assert_eq!(claim(&stores[9], 9, LEASE).await.len(), 1);
}

#[tokio::test]
async fn a_user_without_the_right_to_create_tables_can_use_them() {
    let Some(server) = Server::start().await else {
        return;
    };
    let client = server.client().await;
    client
        .batch_execute("CREATE ROLE worker LOGIN")
        .await
        .unwrap();
    let mut config = server.config();
    config.user("worker");
    let error = PostgresStore::builder(config.clone())
        .connect()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
    drop(server.store().await);
    let grant = "GRANT USAGE ON SCHEMA atomic_breaker TO worker;
                 GRANT ALL ON ALL TABLES IN SCHEMA atomic_breaker TO worker";
    client.batch_execute(grant).await.unwrap();
    let store = PostgresStore::builder(config).connect().await.unwrap();
    put(&store, "k").await;
    assert_eq!(claim(&store, 9, LEASE).await.len(), 1);
}

#[tokio::test]
async fn a_database_that_cannot_hold_any_text_is_named() {
    let Some(server) = Server::start().await else {
        return;
    };
    let client = server.client().await;
    let create = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0";
    client.batch_execute(create).await.unwrap();
    let mut config = server.config();
    config.dbname("latin");
    let error = PostgresStore::builder(config).connect().await.unwrap_err();
    assert!(error.to_string().contains("LATIN1"), "{error}");
}

#[tokio::test]
async fn a_name_that_would_break_out_of_its_place_is_rejected() {
    for name in ["", "a\"b", "a b", "a;b", "A", "ä", "1a", &"x".repeat(64)] {
        let config = "host=127.0.0.1 user=test".parse().unwrap();
        let error = PostgresStore::builder(config)
            .schema(name)
            .connect()
            .await
            .unwrap_err();
        assert!(error.to_string().contains("1 to 63"), "{name}: {error}");
    }
}

#[tokio::test]
async fn invalid_settings_are_named() {
    use std::time::Duration;
    let builder = || PostgresStore::builder("host=127.0.0.1 user=test".parse().unwrap());
    let error = builder().connections(0).connect().await.unwrap_err();
    assert!(error.to_string().contains("1 to 1,000"), "{error}");
    let error = builder()
        .time_limit(Duration::ZERO)
        .connect()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("100 ms"), "{error}");
    let error = PostgresStore::connect("host").await.unwrap_err();
    assert!(error.to_string().contains("connection string"), "{error}");
}
