// SPDX-License-Identifier: MIT OR Apache-2.0
//! This program once more, as a child process: code for both sides.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The parent's side. The process is killed when this is dropped.
pub struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        match child.stdout.take() {
            Some(output) => Ok(Self {
                child,
                output: BufReader::new(output),
            }),
            None => Err(io::Error::other("the server has no output")),
        }
    }

    /// Sends it a line.
    pub fn tell(&mut self, line: &str) -> io::Result<()> {
        let input = self.child.stdin.as_mut();
        writeln!(
            input.ok_or_else(|| io::Error::other("the server has no input"))?,
            "{line}"
        )
    }

    /// Waits for its next line.
    pub fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(io::Error::other("the server has ended")),
            _ => Ok(line.trim_end().into()),
        }
    }

    /// Kills it, and returns the lines that it has written.
    pub fn kill(mut self) -> Vec<String> {
        let _ = self.child.kill();
        (&mut self.output).lines().map_while(Result::ok).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The child's side: passes on the parent's lines, and ends the process when the parent ends for any reason: it holds
/// the other end of the standard input.
pub fn serve_parent(mut told: impl FnMut(&str)) -> ! {
    for line in io::stdin().lines().map_while(Result::ok) {
        told(&line);
    }
    std::process::exit(0)
}

/// Listens on the port, after a short wait if necessary: while it was free, a caller on this machine may by chance have
/// been given it for its own end of a connection.
pub fn listen(port: u16) -> io::Result<TcpListener> {
    let mut tries = 50;
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            result => return result,
        }
        thread::sleep(Duration::from_millis(10));
    }
}
