// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that answers as the path says, and sends the request back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use reqwest::Client;

pub(crate) use test_support::host::{Down, Server};

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// With a connection for each request.
pub(crate) fn start() -> Server {
    Server::serving(answer)
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
            thread::sleep(FOR_EVER);
            return;
        }
        "/hangs-at-first" if number == 0 => {
            thread::sleep(FOR_EVER);
            return;
        }
        "/answers-after-400-ms" => {
            thread::sleep(Duration::from_millis(400));
            "200 OK"
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
        // Of unknown length.
        "/chunks-break-off" => {
            let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n";
            let _ = connection.write_all(begun.as_bytes());
            return;
        }
        "/body-hangs" => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun";
            let _ = connection.write_all(head.as_bytes());
            thread::sleep(FOR_EVER);
            return;
        }
        "/to" => &format!("302 Found\r\nlocation: {query}"),
        _ => "200 OK",
    };
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = connection.write_all((text + &request).as_bytes());
}

pub(crate) fn reqwest() -> Client {
    Client::builder().no_proxy().build().unwrap()
}
