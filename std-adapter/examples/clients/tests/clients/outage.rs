// SPDX-License-Identifier: MIT OR Apache-2.0
//! The duties of every client in an outage.

use std::time::{Duration, Instant};

use atomic_breaker_server::{Resource, ServiceError, State};
use clients::LIMIT;

use crate::proxy::Proxy;
use crate::server::Server;

/// As many failures as open it.
const FAILURES: u32 = 5;

/// The time within which calls are served once the server is back: a probe that began before may still hang, then the
/// breaker is open once more, with its jitter. Beside it a second for a machine that is busy.
const SERVED: Duration = Duration::from_millis(1_000 + 1_200 + 1_000);

pub(crate) fn is_closed(server: &Resource) -> bool {
    server.breaker().state() == State::Closed
}

/// Until it opens, calls take no longer than their limit; then it says why.
async fn opens<T, E>(
    what: &str,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    let (began, mut calls) = (Instant::now(), 0);
    while is_closed(server) {
        let each = Instant::now();
        assert!(
            matches!(call().await, Err(ServiceError::Failed(_))),
            "{what}"
        );
        assert!(each.elapsed() < LIMIT + Duration::from_secs(1), "{what}");
        calls += 1;
        assert!(calls <= FAILURES, "{what}: {calls} calls");
    }
    let took = began.elapsed();
    let last = server.last_failure().get().expect("its words are kept");
    figure(&format!(
        "{what}: opens after {calls} calls in {took:.1?}: {}",
        last.text
    ));
    assert!(
        matches!(call().await, Err(ServiceError::Rejected(_))),
        "{what}"
    );
}

async fn is_served<T, E>(
    what: &str,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    let began = Instant::now();
    while call().await.is_err() {
        assert!(began.elapsed() < SERVED, "{what}: not served");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let took = began.elapsed();
    assert!(took < SERVED && is_closed(server), "{what}: {took:?}");
    figure(&format!("{what}: served again after {took:.1?}"));
}

/// Hangs, is well again; dies, is started again. `call` is one that succeeds on a server that is well.
pub(crate) async fn survive<T, E>(
    client: &str,
    host: &mut Server,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    assert!(call().await.is_ok(), "{client}");

    host.hang();
    opens(&format!("{client}, hangs"), server, &call).await;
    host.go_on();
    is_served(&format!("{client}, hung"), server, &call).await;

    host.kill();
    opens(&format!("{client}, dead"), server, &call).await;
    // For a whole open time, so that a probe fails, too.
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    assert!(call().await.is_err(), "{client}");
    host.restart();
    is_served(&format!("{client}, restarted"), server, &call).await;
}

/// All connections of the client are lost without a word. The first probe is served: it does not try them one by one.
pub(crate) async fn survive_loss<T, E>(
    client: &str,
    proxy: &Proxy,
    server: &Resource,
    call: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    // More connections than failures open the breaker.
    let call = || Box::pin(call());
    let calls = async {
        tokio::join!(
            call(),
            call(),
            call(),
            call(),
            call(),
            call(),
            call(),
            call()
        )
    };
    let _ = calls.await;
    assert!(is_closed(server), "{client}");
    proxy.lose_connections();
    opens(&format!("{client}, loses connections"), server, call).await;
    let wait = server.breaker().acquire().unwrap_err().retry_in().unwrap();
    tokio::time::sleep(wait + Duration::from_millis(20)).await;
    let began = Instant::now();
    assert!(call().await.is_ok(), "{client}: the first probe");
    figure(&format!(
        "{client}, has lost connections: first probe served in {:.1?}",
        began.elapsed()
    ));
}

/// All connections lead to a standby, and new ones to the primary; one call of ten writes. A write that fails costs its
/// connection, and no read is turned away. `connections` is how many of them there are.
pub(crate) async fn survive_failover<T, E>(
    client: &str,
    connections: u32,
    server: &Resource,
    read: impl AsyncFn() -> Result<T, ServiceError<E>>,
    write: impl AsyncFn() -> Result<T, ServiceError<E>>,
) {
    let (mut failed, mut last) = (0, 0);
    for call in 1..=20 * connections {
        for _ in 0..9 {
            assert!(read().await.is_ok(), "{client}: a read");
        }
        match write().await {
            Ok(_) => {}
            Err(ServiceError::Failed(_)) => (failed, last) = (failed + 1, call),
            Err(_) => panic!("{client}: a write is turned away"),
        }
    }
    let rows = server.breaker().snapshot();
    assert!(is_closed(server) && rows.trips() == 0, "{client}");
    assert!((1..=connections).contains(&failed), "{client}: {failed}");
    figure(&format!(
        "{client}, {connections} connections to a standby, a write in ten calls: {failed} writes fail, the last one is the {last}th"
    ));
}

pub(crate) fn figure(line: &str) {
    println!("figure: {line}");
}
