// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server that dies: it returns every byte that a connection sends.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use test_support::child::{Process, listen, serve_parent};

/// The argument that makes this program the server.
pub(crate) const ARGUMENT: &str = "upstream";

/// Prints its port. Ends with its parent.
pub(crate) fn serve(port: u16) -> io::Result<()> {
    let listener = listen(port)?;
    println!("{}", listener.local_addr()?.port());
    thread::spawn(|| serve_parent(|_| {}));
    for mut connection in listener.incoming().flatten() {
        let mut byte = [0];
        let limit = Some(Duration::from_millis(100));
        let _ = connection
            .set_read_timeout(limit)
            .and_then(|()| connection.read_exact(&mut byte))
            .and_then(|()| connection.write_all(&byte));
    }
    Ok(())
}

/// The child process, killed when dropped.
pub(crate) struct Upstream {
    _process: Process,
    pub(crate) port: u16,
}

impl Upstream {
    /// Starts it and waits until it listens; with port 0 at a free one.
    pub(crate) fn start(port: u16) -> io::Result<Self> {
        let mut process = Process::start(&[ARGUMENT, &port.to_string()])?;
        let port = process.line()?.parse().map_err(io::Error::other)?;
        Ok(Self {
            _process: process,
            port,
        })
    }
}
