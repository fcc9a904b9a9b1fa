// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP stacks and blocking streams behind a breaker.
#![cfg(feature = "embedded-nal")]

use std::cell::Cell;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};

use atomic_breaker_embassy::{
    Breaker, Failure, GuardedError, GuardedIo, GuardedTcp, Outcome, State,
};
use embassy_time::Duration;
use embedded_io::{ErrorKind, ErrorType};
use embedded_io_async::{Read, Write};
use embedded_nal_async::TcpConnect;

use super::sim::{RULES, Sim, at_once, breaker};

const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1_883);
const LIMIT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq)]
enum Peer {
    Answers,
    /// Its stack accepts connections, and nothing answers.
    Silent,
    Gone,
    Refuses,
    /// A proxy before nothing: it accepts a connection, and ends it.
    Closes,
}

struct Stack {
    peer: Cell<Peer>,
    reached: Cell<u32>,
}

impl Stack {
    const fn new(peer: Peer) -> Self {
        Self {
            peer: Cell::new(peer),
            reached: Cell::new(0),
        }
    }
}

struct Connection<'a>(&'a Stack);

impl TcpConnect for Stack {
    type Error = ErrorKind;
    type Connection<'a> = Connection<'a>;

    async fn connect(&self, _: SocketAddr) -> Result<Connection<'_>, ErrorKind> {
        self.reached.set(self.reached.get() + 1);
        match self.peer.get() {
            Peer::Answers | Peer::Silent | Peer::Closes => Ok(Connection(self)),
            Peer::Gone => pending().await,
            Peer::Refuses => Err(ErrorKind::ConnectionRefused),
        }
    }
}

impl ErrorType for Connection<'_> {
    type Error = ErrorKind;
}

impl Read for Connection<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        match self.0.peer.get() {
            Peer::Answers => Ok(buffer.len()),
            Peer::Closes => Ok(0),
            _ => pending().await,
        }
    }
}

impl Write for Connection<'_> {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, ErrorKind> {
        Ok(buffer.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[test]
fn a_peer_that_refuses_or_is_gone_is_left_alone_and_comes_back() {
    for peer in [Peer::Refuses, Peer::Gone] {
        let (breaker, stack) = (breaker(RULES), Stack::new(peer));
        let guarded = GuardedTcp::new(&stack, &breaker).time_limit(LIMIT);
        let mut sim = Sim::new();
        sim.run(async {
            for _ in 0..3 {
                let error = guarded.connect(PEER).await.err().unwrap();
                let refused = GuardedError::Device(ErrorKind::ConnectionRefused);
                let is_gone = peer == Peer::Gone;
                assert_eq!(
                    error,
                    if is_gone {
                        GuardedError::TimedOut
                    } else {
                        refused
                    }
                );
            }
            let rejected = guarded.connect(PEER).await.err().unwrap();
            assert!(rejected.rejected().is_some());
        });
        assert_eq!(stack.reached.get(), 3, "then left alone");
        stack.peer.set(Peer::Answers);
        sim.pass(1_000);
        sim.run(async {
            let mut connection = guarded.connect(PEER).await.unwrap();
            assert_eq!(breaker.state(), State::HalfOpen, "no answer yet");
            assert_eq!(connection.read(&mut [0; 4]).await, Ok(4));
        });
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn a_connection_is_trusted_where_writes_are() {
    let (breaker, stack) = (breaker(RULES), Stack::new(Peer::Silent));
    let guarded = GuardedTcp::new(&stack, &breaker).trusting_writes();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async { assert!(guarded.connect(PEER).await.is_ok()) });
    assert_eq!(breaker.state(), State::Closed);
}

/// Asks as a client does: writes a request, and reads the answer.
async fn ask(stack: &impl TcpConnect) -> Result<(), ()> {
    let mut connection = stack.connect(PEER).await.map_err(drop)?;
    connection.write_all(b"ping").await.map_err(drop)?;
    connection.flush().await.map_err(drop)?;
    connection.read_exact(&mut [0; 4]).await.map_err(drop)
}

#[test]
fn connections_have_the_breaker_and_the_time_limit_of_their_stack() {
    // The system of a server that hangs accepts connections all the same, which must not count as successes.
    let (breaker, stack) = (breaker(RULES), Stack::new(Peer::Silent));
    let guarded = GuardedTcp::new(&stack, &breaker).time_limit(LIMIT);
    let took = Sim::new().run(async {
        for _ in 0..3 {
            assert!(ask(&guarded).await.is_err());
        }
        assert!(ask(&guarded).await.is_err());
    });
    assert_eq!((took, stack.reached.get()), (1_500, 3));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_connection_that_ends_before_any_answer_is_a_failure() {
    let _time = Sim::new();
    let (breaker, stack) = (breaker(RULES), Stack::new(Peer::Closes));
    let guarded = GuardedTcp::new(&stack, &breaker);
    for _ in 0..3 {
        assert!(at_once(ask(&guarded)).is_err());
    }
    assert_eq!(breaker.state(), State::Open);

    // Whoever trusts writes expects no answer, and a classifier may see it otherwise.
    breaker.reset();
    let trusting = GuardedTcp::new(&stack, &breaker).trusting_writes();
    let lenient = GuardedTcp::new(&stack, &breaker).with_classifier(|kind| match kind {
        ErrorKind::ConnectionAborted => Outcome::Ignored,
        _ => Failure::new().into(),
    });
    for _ in 0..5 {
        assert!(at_once(ask(&trusting)).is_err());
        assert!(at_once(ask(&lenient)).is_err());
    }
    assert_eq!(
        (breaker.state(), breaker.snapshot().failures()),
        (State::Closed, 0)
    );
}

/// A reader that does not look at the length reads on after the end: the connection has failed once.
#[test]
fn a_connection_that_ends_early_is_one_failure_however_often_it_is_read() {
    let _time = Sim::new();
    let (breaker, stack) = (breaker(RULES), Stack::new(Peer::Closes));
    let guarded = GuardedTcp::new(&stack, &breaker);
    at_once(async {
        let mut connection = guarded.connect(PEER).await.unwrap();
        for _ in 0..5 {
            assert_eq!(connection.read(&mut [0; 4]).await, Ok(0));
        }
    });
    assert_eq!(breaker.snapshot().failures(), 1);
}

#[test]
fn a_connection_that_ends_after_an_answer_shows_nothing() {
    let _time = Sim::new();
    let (breaker, stack) = (breaker(RULES), Stack::new(Peer::Answers));
    let guarded = GuardedTcp::new(&stack, &breaker);
    at_once(async {
        let mut connection = guarded.connect(PEER).await.unwrap();
        assert_eq!(connection.read(&mut [0; 4]).await, Ok(4));
        stack.peer.set(Peer::Closes);
        for _ in 0..5 {
            assert_eq!(connection.read(&mut [0; 4]).await, Ok(0));
        }
        // Nor does a read for which there is no room.
        let mut connection = guarded.connect(PEER).await.unwrap();
        assert_eq!(connection.read(&mut []).await, Ok(0));
    });
    assert_eq!(breaker.snapshot().failures(), 0);
}

type Call = fn(&mut GuardedIo<Serial, &Breaker>) -> bool;

/// A blocking stream.
struct Serial(Result<usize, ErrorKind>);

impl ErrorType for Serial {
    type Error = ErrorKind;
}

impl embedded_io::Read for Serial {
    fn read(&mut self, _: &mut [u8]) -> Result<usize, ErrorKind> {
        self.0
    }
}

impl embedded_io::Write for Serial {
    fn write(&mut self, _: &[u8]) -> Result<usize, ErrorKind> {
        self.0
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.0.map(|_| ())
    }
}

#[test]
fn errors_of_every_operation_of_a_blocking_stream_count_and_writes_are_rejected() {
    use embedded_io::{Read, Write};
    let mut sim = Sim::new();
    let broken = Err(ErrorKind::BrokenPipe);
    let calls: [Call; 3] = [
        |io| Read::read(io, &mut [0]).is_ok(),
        |io| Write::write(io, &[0]).is_ok(),
        |io| Write::flush(io).is_ok(),
    ];
    for call in calls {
        let breaker = breaker(RULES);
        let mut io = GuardedIo::new(Serial(broken), &breaker);
        assert!(!(0..3).any(|_| call(&mut io)));
        assert_eq!(breaker.state(), State::Open);
        *io.device() = Serial(Ok(1));
        assert!(Write::write(&mut io, &[0]).is_err(), "rejected");
        sim.pass(1_000);
        // Only an answer shows that the peer works.
        assert!(call(&mut io));
        assert!(Write::write(&mut io, &[0]).is_ok());
        assert_eq!(breaker.state(), State::HalfOpen);
        assert!(Read::read(&mut io, &mut [0]).is_ok());
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn the_end_of_a_blocking_stream_shows_nothing() {
    use embedded_io::{Read, Write};
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut io = GuardedIo::new(Serial(Ok(0)), &breaker);
    breaker.trip();
    sim.pass(1_000);
    assert_eq!(Read::read(&mut io, &mut [0]), Ok(0));
    assert_eq!(
        (breaker.snapshot().entered(), breaker.snapshot().trips()),
        (State::Open, 1)
    );
    let mut io = io.trusting_writes();
    assert_eq!(Write::write(&mut io, &[0]), Ok(0));
    assert_eq!(breaker.state(), State::Closed);
}
