// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that is far away: round trips take almost as long as the limit allows.

use std::net::{Ipv4Addr, TcpListener as Listener};
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, Joined};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;

/// A server without records, for machines without a real one.
fn stand_in() -> u16 {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let listener = TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(answer(client));
        }
    });
    port
}

async fn answer(client: TcpStream) -> Option<()> {
    let (from, mut to) = client.into_split();
    let mut from = BufReader::new(from);
    let mut is_subscribed = false;
    loop {
        let words = words(&mut from).await?;
        is_subscribed |= words[0] == "SUBSCRIBE";
        let answer = match &*words[0] {
            "SUBSCRIBE" => format!(
                "*3\r\n$9\r\nsubscribe\r\n${}\r\n{}\r\n:1\r\n",
                words[1].len(),
                words[1]
            ),
            "PING" if is_subscribed => "*2\r\n$4\r\npong\r\n$0\r\n\r\n".to_owned(),
            "SCRIPT" => format!("$40\r\n{}\r\n", "0".repeat(40)),
            // Living instances, the time, and the last change.
            "EVALSHA" => "*3\r\n:1\r\n$4\r\n1000\r\n$0\r\n\r\n".to_owned(),
            "HGET" => "$-1\r\n".to_owned(),
            "HSCAN" => "*2\r\n$1\r\n0\r\n*0\r\n".to_owned(),
            _ => "+OK\r\n".to_owned(),
        };
        to.write_all(answer.as_bytes()).await.ok()?;
    }
}

/// A request: an array of strings, of which only the last may have a line break.
async fn words(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..number(from).await? {
        let mut word = vec![0; number(from).await? + 2];
        from.read_exact(&mut word).await.ok()?;
        words.push(String::from_utf8_lossy(&word).trim_end().to_owned());
    }
    Some(words)
}

/// The number in a line such as `*3` or `$5`.
async fn number(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<usize> {
    let mut line = String::new();
    from.read_line(&mut line).await.ok()?;
    line.get(1..)?.trim_end().parse().ok()
}

async fn joins(port: u16, one_way_ms: u64, config: FleetConfig) {
    let proxy = Proxy::start(port);
    proxy.delay(Duration::from_millis(one_way_ms));
    let joined = Joined::new(proxy.fleet(), config).unwrap();
    let mut watch = joined.watch();
    let connected = watch.wait_for(|status| status.is_connected);
    let connected = timeout(Duration::from_secs(15), connected).await.is_ok();
    assert!(connected, "{one_way_ms} ms: {:?}", joined.status());
}

async fn join(one_way_ms: u64, config: FleetConfig) {
    joins(stand_in(), one_way_ms, config).await;
    if let Some(server) = Server::start() {
        joins(server.port, one_way_ms, config).await;
    }
}

#[tokio::test]
async fn a_server_within_the_default_limit_is_joined() {
    join(75, FleetConfig::new(3)).await;
}

#[tokio::test]
async fn a_server_beyond_the_limits_of_the_client_is_joined() {
    join(270, FleetConfig::new(3).time_limit(Duration::from_secs(5))).await;
}
