// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TCP server: this program once more, as a child process.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::scenario::{Mode, SLOW};
use super::warmth::{Strength, Warmth};
use test_support::child::{Process, listen, serve_parent};

/// The argument that makes this program the server.
pub(crate) const ARGUMENT: &str = "serve";

/// The message that a caller sends and gets back.
pub(crate) const MESSAGE: [u8; 4] = *b"ping";

/// Returns every connection's message, as the mode says. Ends with its parent.
pub(crate) fn serve(mode: Mode, port: u16) -> io::Result<()> {
    let listener = listen(port)?;
    println!("{}", listener.local_addr()?.port());
    thread::spawn(|| serve_parent(|_| {}));
    let mut kept = Vec::new();
    let mut warmth = Warmth::new(STRENGTH);
    for connection in listener.incoming() {
        match (mode, connection) {
            (_, Err(_)) => {}
            (Mode::Hanging, Ok(connection)) => kept.push(connection),
            // Closed without a response.
            (Mode::Cold, Ok(_)) if !bears_one_more(&mut warmth) => {}
            (mode, Ok(connection)) => {
                thread::spawn(move || answer(connection, mode));
            }
        }
    }
    Ok(())
}

fn answer(mut connection: TcpStream, mode: Mode) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut message = MESSAGE;
    connection.read_exact(&mut message)?;
    if mode == Mode::Slow {
        thread::sleep(SLOW);
    }
    connection.write_all(&message)
}

/// The load that a server can bear when it has just started.
const STRENGTH: Strength = Strength {
    period: Duration::from_millis(100),
    at_first: 8,
    answers_for_one_more: 4,
    down: Duration::from_millis(300),
};

/// The line that a server writes when it breaks down.
const BROKE_DOWN: &str = "broke down";

fn bears_one_more(warmth: &mut Warmth) -> bool {
    let before = warmth.breakdowns;
    let bears = warmth.bears_one_more(Instant::now());
    if warmth.breakdowns > before {
        println!("{BROKE_DOWN}");
    }
    bears
}

/// The child process, killed when dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the server and waits until it listens; with port 0 at a free one.
    pub(crate) fn start(mode: Mode, port: u16) -> io::Result<Self> {
        let mut process = Process::start(&[ARGUMENT, mode.name(), &port.to_string()])?;
        let port = process.line()?.parse().map_err(io::Error::other)?;
        Ok(Self {
            process,
            address: (Ipv4Addr::LOCALHOST, port).into(),
        })
    }

    /// Ends it; returns how often it broke down under its load.
    pub(crate) fn kill(self) -> usize {
        let lines = self.process.kill();
        lines.iter().filter(|line| *line == BROKE_DOWN).count()
    }
}
