//! The server: this program once more, as a child process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::scenario::{Mode, SLOW};

/// The argument that makes this program the server.
pub(crate) const ARGUMENT: &str = "serve";

/// What a caller sends, and gets back.
pub(crate) const MESSAGE: [u8; 4] = *b"ping";

/// Answers every connection's message with the same message, as the mode says. Ends with its parent.
pub(crate) fn serve(mode: Mode, port: u16) -> io::Result<()> {
    let listener = listen(port)?;
    println!("{}", listener.local_addr()?.port());
    // The parent holds the other end; when it ends, however it ends, this read does too.
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let mut kept = Vec::new();
    let mut warmth = Warmth::new();
    for connection in listener.incoming() {
        match (mode, connection) {
            (_, Err(_)) => {}
            (Mode::Hanging, Ok(connection)) => kept.push(connection),
            // Closed without an answer.
            (Mode::Cold, Ok(_)) if !warmth.bears_one_more(Instant::now()) => {}
            (mode, Ok(connection)) => {
                thread::spawn(move || answer(connection, mode));
            }
        }
    }
    Ok(())
}

/// Listens at the port, and waits a little for it: while nobody listened there, a caller on this
/// machine may by chance have been given it for its own end of a connection.
fn listen(port: u16) -> io::Result<TcpListener> {
    let mut tries = 50;
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            result => return result,
        }
        thread::sleep(Duration::from_millis(10));
    }
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

/// How much a server can bear that has just come up, as its caches fill with each answer.
struct Warmth {
    answered: u32,
    /// When this tenth of a second began, and what was asked for in it.
    tenth: (Instant, u32),
    /// Broken down until then.
    down_until: Option<Instant>,
}

impl Warmth {
    const TENTH: Duration = Duration::from_millis(100);
    const DOWN: Duration = Duration::from_millis(300);

    fn new() -> Self {
        Self {
            answered: 0,
            tenth: (Instant::now(), 0),
            down_until: None,
        }
    }

    /// Calls that it can answer within a tenth of a second.
    const fn bearable(&self) -> u32 {
        8 + self.answered / 4
    }

    fn bears_one_more(&mut self, now: Instant) -> bool {
        match self.down_until {
            Some(until) if now < until => return false,
            Some(_) => *self = Self::new(),
            None => {}
        }
        if now - self.tenth.0 >= Self::TENTH {
            self.tenth = (now, 0);
        }
        self.tenth.1 += 1;
        if self.tenth.1 > self.bearable() {
            self.down_until = Some(now + Self::DOWN);
            println!("{BROKE_DOWN}");
            return false;
        }
        self.answered += 1;
        true
    }
}

/// The line that a server writes when it breaks down.
const BROKE_DOWN: &str = "broke down";

/// The child process, killed when dropped.
pub(crate) struct Server {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the server and waits until it listens; with port 0 at a free one.
    pub(crate) fn start(mode: Mode, port: u16) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([ARGUMENT, mode.name(), &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let mut output = child.stdout.take().map(BufReader::new);
        if let Some(output) = &mut output {
            output.read_line(&mut line)?;
        }
        let port = line.trim().parse().map_err(|_| {
            let _ = child.kill();
            io::Error::other("the server did not start")
        })?;
        Ok(Self {
            child,
            output,
            address: (Ipv4Addr::LOCALHOST, port).into(),
        })
    }

    /// Ends it; how often it broke down under its load.
    pub(crate) fn kill(mut self) -> usize {
        let _ = self.child.kill();
        let lines = self.output.take().into_iter().flat_map(BufRead::lines);
        lines
            .map_while(Result::ok)
            .filter(|line| line == BROKE_DOWN)
            .count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
