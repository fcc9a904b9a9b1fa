// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tool against a server on loopback that is down for a while.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_std::{CallError, State, blocking, breaker};
use blocking_example::{API, RULES, agent, fetch, once, patient};

const DOWN: Duration = Duration::from_secs(2);

/// A server that answers each request with 503 between the thousandth one and the end of its outage.
#[derive(Default)]
struct Server {
    answered: AtomicU32,
    refused: AtomicU32,
}

impl Server {
    /// Returns its address.
    fn start(self: &Arc<Self>, outage: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::clone(self);
        thread::spawn(move || {
            let mut down_until = None;
            for connection in listener.incoming() {
                server.serve(connection.unwrap(), &mut down_until, outage);
            }
        });
        format!("http://{address}")
    }

    /// One connection after the other, as the tool has one.
    fn serve(&self, stream: TcpStream, down_until: &mut Option<Instant>, outage: Duration) {
        let mut requests = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let mut line = String::new();
            while requests.read_line(&mut line).unwrap_or(0) > 2 {
                if line.ends_with("\r\n\r\n") {
                    break;
                }
            }
            if line.is_empty() {
                return;
            }
            if self.answered.load(Relaxed) == 1_000 && down_until.is_none() {
                *down_until = Some(Instant::now() + outage);
            }
            let is_down = down_until.is_some_and(|until| Instant::now() < until);
            let (status, count) = if is_down {
                ("503 Service Unavailable", &self.refused)
            } else if line.starts_with("GET /7 ") {
                ("404 Not Found", &self.answered)
            } else {
                ("200 OK", &self.answered)
            };
            count.fetch_add(1, Relaxed);
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok");
            if stream.write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    }
}

#[test]
fn ten_thousand_records_are_fetched_through_an_outage_with_a_dozen_calls_to_the_server_that_is_down()
 {
    let server = Arc::new(Server::default());
    let base = server.start(DOWN);
    let (api, agent) = (breaker(RULES), agent());
    let mut done = 0;
    let urls = (0..10_000).map(|number| format!("{base}/{number}"));
    let records = fetch(&api, &agent, urls, || done += 1).unwrap();
    assert_eq!((records.len(), done), (9_999, 10_000));
    assert_eq!(server.answered.load(Relaxed), 10_000);
    let refused = server.refused.load(Relaxed);
    assert!(
        (1..=12).contains(&refused),
        "{refused} calls while it was down"
    );
    assert_eq!(api.state(), State::Closed);
}

#[test]
fn a_server_that_is_not_there_opens_the_breaker_and_is_then_left_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let agent = agent();
    for _ in 0..5 {
        assert!(matches!(once(&agent, &url), Err(CallError::Failed(_))));
    }
    let rejected = once(&agent, &url).unwrap_err();
    assert!(matches!(rejected, CallError::Rejected(_)), "{rejected}");
    assert!(blocking::ready(&API, Duration::from_millis(10)).is_err());
}

#[test]
fn a_404_is_an_answer_and_is_not_tried_again() {
    let server = Arc::new(Server::default());
    let base = server.start(DOWN);
    let api = breaker(RULES);
    let response = patient(&api, &agent(), &format!("{base}/7")).unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(server.answered.load(Relaxed), 1);
}
