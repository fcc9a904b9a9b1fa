// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that answers as the path says, for hyper-util's client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

pub(crate) use test_support::host::{Down, Server};

/// Keeps its connections open; each request arrives in one piece.
pub(crate) fn start() -> Server {
    Server::serving(|connection, _| serve(connection))
}

fn serve(mut connection: TcpStream) {
    let mut request = [0; 4_096];
    while let Ok(length @ 1..) = connection.read(&mut request) {
        let request = String::from_utf8_lossy(&request[..length]);
        let path = request.split(' ').nth(1).unwrap_or_default();
        let answer = match path {
            "/closes" => return,
            "/hangs" => {
                thread::sleep(Duration::from_secs(3_600));
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
