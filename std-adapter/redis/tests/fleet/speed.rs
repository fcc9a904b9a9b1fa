//! A thousand at once. Figures are printed; the limits are those of a busy machine.

use std::time::{Duration, Instant};

use atomic_breaker_std::fleet::{Fleet, Messages};
use futures_util::future::join_all;

use crate::contract::open;
use crate::server::Server;

#[tokio::test]
async fn a_trip_reaches_a_thousand_subscribers() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let subscribers = join_all((0..1_000).map(|_| fleet.subscribe())).await;
    let mut waits = Vec::new();
    let listening: Vec<_> = subscribers
        .into_iter()
        .map(|subscriber| {
            let mut messages = subscriber.unwrap();
            tokio::spawn(async move {
                messages.next().await.unwrap();
                Instant::now()
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    open(&fleet).await;
    for listens in listening {
        waits.push(listens.await.unwrap() - began);
    }
    let last = waits.iter().max().unwrap();
    println!("from the trip to the last of 1,000 subscribers: {last:?}");
    assert!(*last < Duration::from_secs(1), "{last:?}");
}
