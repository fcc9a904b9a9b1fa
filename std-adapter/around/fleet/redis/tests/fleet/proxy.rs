// SPDX-License-Identifier: MIT OR Apache-2.0
//! A proxy between a client and its server: it switches to another server, delays data, or stalls silently.

use std::net::{Ipv4Addr, TcpListener as Listener};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use atomic_breaker_fleet_redis::RedisFleet;

pub(crate) struct Proxy {
    runtime: Option<Runtime>,
    way: watch::Sender<Way>,
    port: u16,
}

#[derive(Clone, Copy)]
struct Way {
    to: u16,
    is_stalled: bool,
    delay: Duration,
}

impl Proxy {
    /// Forwards to the server on this port, on its own thread.
    pub(crate) fn start(to: u16) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let way = watch::Sender::new(Way {
            to,
            is_stalled: false,
            delay: Duration::ZERO,
        });
        runtime.spawn(serve(listener, way.subscribe()));
        Self {
            runtime: Some(runtime),
            way,
            port,
        }
    }

    pub(crate) fn fleet(&self) -> RedisFleet {
        RedisFleet::new(&format!("redis://127.0.0.1:{}/", self.port), "test").unwrap()
    }

    /// Ends open connections; new ones go to this port.
    pub(crate) fn turn_to(&self, port: u16) {
        self.way.send_modify(|way| way.to = port);
    }

    /// Keeps every connection, accepts new ones, and forwards nothing.
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.way.send_modify(|way| way.is_stalled = is_stalled);
    }

    /// Forwards everything this much later, in both directions.
    pub(crate) fn delay(&self, delay: Duration) {
        self.way.send_modify(|way| way.delay = delay);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: Listener, way: watch::Receiver<Way>) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(connect(client, way.clone()));
    }
}

async fn connect(client: TcpStream, mut way: watch::Receiver<Way>) {
    let to = way.borrow_and_update().to;
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let there = hand_on(from_client, to_server, way.clone());
    let back = hand_on(from_server, to_client, way.clone());
    tokio::select! {
        () = there => {}
        () = back => {}
        _ = way.wait_for(|way| way.to != to) => {}
    }
}

async fn hand_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut bytes = [0; 4_096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let Ok(delay) = way
            .wait_for(|way| !way.is_stalled)
            .await
            .map(|way| way.delay)
        else {
            return;
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
