//! A host that answers as the path says, for hyper-util's client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// A server that keeps its connections, until the test's process ends; each request comes in one piece.
pub(crate) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicU32>::default();
        let counter = Arc::clone(&connections);
        thread::spawn(move || {
            for connection in listener.incoming() {
                counter.fetch_add(1, Ordering::Relaxed);
                let connection = connection.unwrap();
                thread::spawn(move || serve(connection));
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Since the last time.
    pub(crate) fn connections(&self) -> u32 {
        self.connections.swap(0, Ordering::Relaxed)
    }
}

fn serve(mut connection: TcpStream) {
    let mut request = [0; 4_096];
    while let Ok(length @ 1..) = connection.read(&mut request) {
        let request = String::from_utf8_lossy(&request[..length]);
        let path = request.split(' ').nth(1).unwrap_or_default();
        let answer = match path {
            "/closes" => return,
            "/hangs" => {
                thread::sleep(Duration::from_secs(1));
                return;
            }
            "/no-http" => "220 mail.example ESMTP\r\n",
            "/breaks-off" => "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun",
            "/chunks-break-off" => {
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n"
            }
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        };
        let _ = connection.write_all(answer.as_bytes());
        if path.contains("break") || path == "/no-http" {
            return;
        }
    }
}
