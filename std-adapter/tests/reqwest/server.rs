//! A host that answers as the path says, and one that is down.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use reqwest::Client;

/// A server with a connection for each request, which it sends back.
pub(crate) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
}

impl Server {
    /// Answers as the path of the request says: `/503`. Until the test's process ends.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicU32>::default();
        let counter = Arc::clone(&connections);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let request = counter.fetch_add(1, Ordering::Relaxed);
                let connection = connection.unwrap();
                // One that hangs does not hold up the others.
                thread::spawn(move || answer(connection, request));
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> u32 {
        self.connections.swap(0, Ordering::Relaxed)
    }
}

fn answer(mut connection: TcpStream, number: u32) {
    let mut request = [0; 4_096];
    let length = connection.read(&mut request).unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut length = request.len();
    let status = match path {
        "/503" => "503 Service Unavailable",
        "/503/later" => "503 Service Unavailable\r\nretry-after: 30",
        "/404" => "404 Not Found",
        "/hangs" => {
            thread::sleep(Duration::from_secs(1));
            return;
        }
        "/hangs-at-first" if number == 0 => {
            thread::sleep(Duration::from_secs(1));
            return;
        }
        "/no-http" => {
            let _ = connection.write_all(b"220 mail.example ESMTP\r\n");
            return;
        }
        "/closes" => return,
        // Fewer bytes than it says.
        "/breaks-off" => {
            length += 100;
            "200 OK"
        }
        "/body-hangs" => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun";
            let _ = connection.write_all(head.as_bytes());
            thread::sleep(Duration::from_secs(1));
            return;
        }
        "/to" => &format!("302 Found\r\nlocation: {query}"),
        _ => "200 OK",
    };
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = connection.write_all((text + &request).as_bytes());
}

/// Where nobody listens, as long as this lives: the port is that of the other end of a connection.
pub(crate) struct Down {
    pub(crate) url: String,
    _held: (TcpListener, TcpStream),
}

impl Down {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Self {
            url: format!("http://{}/?key=secret", stream.local_addr().unwrap()),
            _held: (listener, stream),
        }
    }
}

pub(crate) fn reqwest() -> Client {
    Client::builder().no_proxy().build().unwrap()
}
