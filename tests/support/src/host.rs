// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host over loopback, and one that is down.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// A server with a thread for each connection, until the test's process ends.
pub struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
}

impl Server {
    /// `serve` gets a connection, and the number of connections since the count was last read.
    pub fn serving(serve: fn(TcpStream, u32)) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicU32>::default();
        let counter = Arc::clone(&connections);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let number = counter.fetch_add(1, Ordering::Relaxed);
                let connection = connection.unwrap();
                // A connection that hangs does not hold up the others.
                thread::spawn(move || serve(connection, number));
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The count since the last reading.
    pub fn connections(&self) -> u32 {
        self.connections.swap(0, Ordering::Relaxed)
    }
}

/// An address without a listener, as long as this value lives: the port is that of the other end of a connection.
pub struct Down {
    pub url: String,
    _held: (TcpListener, TcpStream),
}

impl Down {
    #[expect(clippy::new_without_default, reason = "it connects")]
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Self {
            url: format!("http://{}/?key=secret", stream.local_addr().unwrap()),
            _held: (listener, stream),
        }
    }
}
