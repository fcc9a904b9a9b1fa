// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host over TLS that fails in a way of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use atomic_breaker_http::Origin;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::authority;
use super::streams;

/// The way in which it fails all of its connections but a few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// It closes them in the middle of the handshake. The few others end after one answer: clients would send all that
    /// waits for a handshake over the first that is kept.
    Handshake,
    /// It shows a certificate that has expired, on all of them.
    Certificate,
    /// It closes them without notifying that, and without an answer.
    NoNotify,
    /// It cuts off the bodies of its answers, without notifying that.
    Bodies,
    /// The same, after it has notified.
    NotifiedBodies,
    /// They die under most of their requests, over HTTP/2.
    Streams,
    /// They die under most of the bodies of its answers, over HTTP/2.
    StreamedBodies,
    /// The first of them dies under forty requests, over HTTP/2.
    OneDies,
}

impl Fault {
    const fn protocol(self) -> &'static str {
        match self {
            Self::Streams | Self::StreamedBodies | Self::OneDies => "h2",
            _ => "http/1.1",
        }
    }
}

pub(crate) struct Host {
    address: SocketAddr,
    fault: Option<Fault>,
    is_ill: AtomicBool,
    counted: AtomicU32,
}

impl Host {
    /// One that is well speaks the protocol of `like`.
    pub(crate) async fn start(like: Fault, is_ill: bool) -> Arc<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let host = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            fault: is_ill.then_some(like),
            is_ill: AtomicBool::new(is_ill),
            counted: AtomicU32::new(0),
        });
        let [valid, expired] = [false, true]
            .map(|expired| TlsAcceptor::from(authority::server(like.protocol(), expired)));
        let serving = Arc::clone(&host);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let has_expired = serving.fault() == Some(Fault::Certificate);
                let tls = if has_expired { &expired } else { &valid };
                tokio::spawn(Arc::clone(&serving).serve(connection, tls.clone(), like));
            }
        });
        host
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.address)
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::from_uri(&self.url().parse().unwrap()).unwrap()
    }

    /// From now on it answers everything.
    pub(crate) fn recover(&self) {
        self.is_ill.store(false, Relaxed);
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.filter(|_| self.is_ill.load(Relaxed))
    }

    /// The number of a connection, or of a request.
    pub(crate) fn next(&self) -> u32 {
        self.counted.fetch_add(1, Relaxed)
    }

    async fn serve(self: Arc<Self>, connection: TcpStream, tls: TlsAcceptor, like: Fault) {
        if self.fault() == Some(Fault::Handshake) && self.next() % 20 != 1 {
            // In the middle of the client's greeting.
            let mut connection = connection;
            let _ = connection.read(&mut [0; 16]).await;
            return;
        }
        let Ok(stream) = tls.accept(connection).await else {
            return;
        };
        if like.protocol() == "h2" {
            streams::serve(self, stream).await;
        } else {
            self.answer(stream).await;
        }
    }

    /// Answers requests of HTTP/1, one in twenty if it is ill.
    async fn answer(&self, mut stream: TlsStream<TcpStream>) {
        while read_head(&mut stream).await {
            let fault = self.fault().filter(|&fault| {
                let fails = !matches!(fault, Fault::Handshake | Fault::Certificate);
                fails && self.next() % 20 != 1
            });
            let length = match fault {
                None => 5,
                Some(Fault::NoNotify) => return,
                Some(_) => 500,
            };
            let is_last = self.fault() == Some(Fault::Handshake);
            let close = if is_last { "connection: close\r\n" } else { "" };
            let head = format!("HTTP/1.1 200 OK\r\n{close}content-length: {length}\r\n\r\nwhole");
            let is_sent = stream.write_all(head.as_bytes()).await.is_ok();
            let _ = stream.flush().await;
            if fault == Some(Fault::NotifiedBodies) {
                let _ = stream.shutdown().await;
            }
            if fault.is_some() || is_last || !is_sent {
                return;
            }
        }
    }
}

/// Returns whether there is another request.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return false,
        }
    }
    true
}
