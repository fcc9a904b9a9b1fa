// SPDX-License-Identifier: MIT OR Apache-2.0
//! A way to a server that loses its connections without a word, as a firewall that forgets them does: old ones stay open and
//! carry nothing, new ones work.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    /// Counts how often all connections were lost.
    lost: watch::Sender<u32>,
    /// The port to which new connections lead.
    to: Arc<AtomicU16>,
    pub(crate) port: u16,
}

impl Proxy {
    pub(crate) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (lost, watch) = watch::channel(0);
        let to = Arc::new(AtomicU16::new(to));
        let leads = Arc::clone(&to);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) =
                    TcpStream::connect((Ipv4Addr::LOCALHOST, leads.load(SeqCst))).await
                else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(hand_on(from_client, to_server, watch.clone()));
                tokio::spawn(hand_on(from_server, to_client, watch.clone()));
            }
        });
        Self { lost, to, port }
    }

    /// From now on new connections lead to another server, as a name does after a failover; those that are open stay.
    pub(crate) fn lead_to(&self, port: u16) {
        self.to.store(port, SeqCst);
    }

    pub(crate) fn lose_connections(&self) {
        self.lost.send_modify(|count| *count += 1);
    }
}

async fn hand_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut lost: watch::Receiver<u32>) {
    let mut bytes = [0; 4_096];
    lost.mark_unchanged();
    loop {
        tokio::select! {
            // Open, and silent, until the test ends.
            _ = lost.changed() => return std::future::pending().await,
            count = from.read(&mut bytes) => match count {
                Ok(count @ 1..) if to.write_all(&bytes[..count]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
