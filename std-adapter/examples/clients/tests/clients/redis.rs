// SPDX-License-Identifier: MIT OR Apache-2.0
//! redis-rs, against Redis.

use std::fmt::Debug;
use std::time::Duration;

use atomic_breaker_server::{Failure, Outcome, ServiceError, Timed};
use clients::redis::{Cache, classify};
use clients::rules;
use redis::{Client, RedisError, Value, cmd};
use tokio::time::sleep;

use crate::outage::{is_closed, survive, survive_failover, survive_loss};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

type Answer<T> = Result<T, ServiceError<Timed<RedisError>>>;

fn cache(port: u16) -> Cache {
    let client = Client::open(format!("redis://localhost:{port}/")).unwrap();
    Cache::new(client, rules()).unwrap()
}

async fn run(cache: &Cache, words: &str) -> Answer<Value> {
    let mut words = words.split(' ');
    let mut command = cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    cache.call(&command).await
}

fn judged<T: Debug>(answer: Answer<T>) -> (Outcome, String) {
    let Err(ServiceError::Failed(Timed::Failed(error))) = answer else {
        panic!("{answer:?}");
    };
    (
        classify(&error),
        error.code().unwrap_or_default().to_owned(),
    )
}

#[tokio::test]
async fn is_closed_through_errors_of_callers_and_knows_those_of_the_server() {
    let Some(host) = Server::start(Kind::Redis) else {
        return;
    };
    let cache = cache(host.port);
    run(&cache, "SET name ann").await.unwrap();
    let callers = [
        ("LPUSH name bob", "WRONGTYPE"),
        (
            "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0",
            "NOSCRIPT",
        ),
        ("GET", "ERR"),
        ("CLUSTER INFO", "ERR"),
    ];
    for (words, code) in callers {
        for _ in 0..25 {
            let (outcome, is) = judged(run(&cache, words).await);
            assert_eq!((outcome, &*is), (Outcome::Success, code));
        }
    }
    let snapshot = cache.server().breaker().snapshot();
    assert!(is_closed(cache.server()) && snapshot.failures() == 0);

    let failure = Outcome::from(Failure::new());
    run(&cache, "CONFIG SET maxmemory 1").await.unwrap();
    let (outcome, code) = judged(run(&cache, "SET name bob").await);
    assert_eq!((outcome, &*code), (Outcome::Success, "OOM"));
    run(&cache, "CONFIG SET maxmemory 0").await.unwrap();

    run(&cache, "CONFIG SET min-replicas-to-write 1")
        .await
        .unwrap();
    let (outcome, code) = judged(run(&cache, "SET name bob").await);
    assert_eq!((outcome, &*code), (Outcome::Success, "NOREPLICAS"));
    run(&cache, "CONFIG SET min-replicas-to-write 0")
        .await
        .unwrap();

    // Of a primary that is not there.
    run(&cache, "REPLICAOF 127.0.0.1 1").await.unwrap();
    let (outcome, code) = judged(run(&cache, "SET name bob").await);
    assert_eq!((outcome, &*code), (failure, "READONLY"));
    run(&cache, "CONFIG SET replica-serve-stale-data no")
        .await
        .unwrap();
    let (outcome, code) = judged(run(&cache, "GET name").await);
    assert_eq!((outcome, &*code), (failure, "MASTERDOWN"));
}

/// Memory that is full, too few replicas, a disk on which it cannot save.
#[tokio::test]
async fn refused_writes_open_a_breaker_of_their_own_and_reads_are_served() {
    let Some(mut host) = Server::start(Kind::Redis) else {
        return;
    };
    let causes = [
        ("OOM", "CONFIG SET maxmemory 1"),
        ("NOREPLICAS", "CONFIG SET min-replicas-to-write 1"),
        ("MISCONF", "BGSAVE"),
    ];
    for (code, cause) in causes {
        host.kill();
        host.restart_with(&["--dir", "/proc", "--save", "3600 1000"]);
        let cache = cache(host.port);
        let set = async || {
            let mut command = cmd("SET");
            cache.write::<Value>(command.arg("name").arg("bob")).await
        };
        set().await.unwrap();
        run(&cache, cause).await.unwrap();
        sleep(Duration::from_millis(200)).await;
        for _ in 0..5 {
            assert!(is_closed(cache.writes()), "{code}");
            let Err(ServiceError::Failed(Timed::Failed(error))) = set().await else {
                panic!("{code}: it is served");
            };
            assert_eq!(error.code(), Some(code));
            run(&cache, "GET name").await.expect("reads are served");
        }
        assert!(
            matches!(set().await, Err(ServiceError::Rejected(_))),
            "{code}"
        );
        let snapshot = cache.server().breaker().snapshot();
        assert!(is_closed(cache.server()) && snapshot.failures() == 0);
        run(&cache, "GET name").await.expect("reads are served");
    }
}

#[tokio::test]
async fn a_write_on_a_replica_costs_its_connection_and_no_read() {
    let (Some(replica), Some(primary)) = (Server::start(Kind::Redis), Server::start(Kind::Redis))
    else {
        return;
    };
    let proxy = Proxy::start(replica.port).await;
    let cache = cache(proxy.port);
    run(&cache, "SET name ann").await.unwrap();
    run(&cache, "REPLICAOF 127.0.0.1 1").await.unwrap();
    proxy.lead_to(primary.port);
    let read = async || run(&cache, "GET name").await;
    let write = async || run(&cache, "SET name bob").await;
    survive_failover("redis", 1, cache.server(), read, write).await;
}

/// The name still leads there.
#[tokio::test]
async fn a_replica_that_stays_one_is_left_once_a_second_at_most() {
    let Some(host) = Server::start(Kind::Redis) else {
        return;
    };
    let cache = cache(host.port);
    run(&cache, "SET name ann").await.unwrap();
    run(&cache, "REPLICAOF 127.0.0.1 1").await.unwrap();
    let began = std::time::Instant::now();
    for _ in 0..100 {
        for _ in 0..9 {
            run(&cache, "GET name").await.expect("reads are served");
        }
        run(&cache, "SET name bob").await.unwrap_err();
    }
    let seconds = began.elapsed().as_secs();
    let Ok(Value::BulkString(text)) = run(&cache, "INFO stats").await else {
        panic!("no text");
    };
    let text = String::from_utf8_lossy(&text);
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("total_connections_received:"));
    let count: u64 = count.unwrap().trim().parse().unwrap();
    // The first one, that of the test that it is up, and one a second.
    assert!(count <= 3 + seconds + 1, "{count} in {seconds} s");
    assert!(is_closed(cache.server()));
}

#[tokio::test]
async fn a_server_that_is_loading_or_whose_cluster_is_down_is_a_failure() {
    let Some(mut host) = Server::start(Kind::Redis) else {
        return;
    };
    let before = cache(host.port);
    for key in 0..2_000 {
        run(&before, &format!("SET {key} {key}")).await.unwrap();
    }
    run(&before, "SAVE").await.unwrap();
    host.kill();
    // A millisecond for each key, and it answers meanwhile.
    let slowly = ["--key-load-delay", "1000"];
    let answers = ["--loading-process-events-interval-bytes", "1024"];
    host.restart_with(&[slowly, answers].concat());
    let (outcome, code) = judged(run(&cache(host.port), "GET 1").await);
    assert_eq!((outcome, &*code), (Failure::new().into(), "LOADING"));

    host.kill();
    host.restart_with(&["--cluster-enabled", "yes", "--dbfilename", "none"]);
    let (outcome, code) = judged(run(&cache(host.port), "GET 1").await);
    assert_eq!((outcome, &*code), (Failure::new().into(), "CLUSTERDOWN"));
}

/// By the words of a node: a cluster whose keys move would take several.
#[test]
fn a_key_of_another_node_is_no_failure() {
    for words in ["-MOVED 1 127.0.0.1:7001\r\n", "-ASK 1 127.0.0.1:7001\r\n"] {
        let value = redis::parse_redis_value(words.as_bytes()).unwrap();
        let error = value.extract_error().unwrap_err();
        assert_eq!(classify(&error), Outcome::Success, "{error}");
    }
}

#[tokio::test]
async fn opens_while_the_server_hangs_or_is_dead_and_is_served_after_it() {
    let Some(mut host) = Server::start(Kind::Redis) else {
        return;
    };
    let cache = cache(host.port);
    survive("redis", &mut host, cache.server(), async || {
        run(&cache, "PING").await
    })
    .await;
}

#[tokio::test]
async fn a_probe_does_not_try_lost_connections() {
    let Some(host) = Server::start(Kind::Redis) else {
        return;
    };
    let proxy = Proxy::start(host.port).await;
    let cache = cache(proxy.port);
    survive_loss("redis", &proxy, cache.server(), async || {
        run(&cache, "PING").await
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_lost_under_many_commands_is_one_failure() {
    let Some(mut host) = Server::start(Kind::Redis) else {
        return;
    };
    let cache = cache(host.port);
    run(&cache, "CLIENT PAUSE 10000").await.unwrap();
    let get = || run(&cache, "GET name");
    let lose = async {
        sleep(Duration::from_millis(100)).await;
        host.kill();
    };
    let answers = tokio::join!(get(), get(), get(), get(), get(), get(), get(), lose);
    let (outcome, _) = judged(answers.6);
    assert_eq!(outcome, Failure::new().into());
    let failures = cache.server().breaker().snapshot().failures();
    assert!(is_closed(cache.server()) && failures == 1, "{failures}");
}
