//! The threads that call, and what they write down.

use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::guard;
use super::scenario::{END, Mode, TIMELINE, mode_at};
use super::server::{MESSAGE, Server};

const THREADS: u32 = 8;
/// Each thread calls this often, unless the call before takes longer.
const PACE: Duration = Duration::from_millis(20);
const CONNECT: Duration = Duration::from_millis(250);
const READ: Duration = Duration::from_millis(250);

/// How a call ended for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Failed,
    /// By the breaker; the server was not called.
    Refused,
}

impl From<io::Result<()>> for Outcome {
    fn from(result: io::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Answered,
            Err(_) => Self::Failed,
        }
    }
}

/// A call as the caller saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Since the begin of the run.
    pub(crate) began: Duration,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// A run of the whole scenario.
pub(crate) struct Run {
    pub(crate) begin: Instant,
    pub(crate) calls: Vec<Call>,
}

/// One call to the server: connect, ask, wait for the answer.
pub(crate) fn call(address: SocketAddr) -> io::Result<()> {
    let mut connection = TcpStream::connect_timeout(&address, CONNECT)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(READ))?;
    connection.write_all(&MESSAGE)?;
    let mut answer = [0; MESSAGE.len()];
    connection.read_exact(&mut answer)
}

/// Plays the scenario while all threads call.
pub(crate) fn run(name: &str, call: fn(SocketAddr) -> Outcome) -> io::Result<Run> {
    let server = Server::start(Mode::Healthy, 0)?;
    let address = server.address;
    let calls = Mutex::new(Vec::new());
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    let played = thread::scope(|scope| {
        for number in 0..THREADS {
            let (calls, is_over) = (&calls, &is_over);
            scope.spawn(move || {
                // Threads that start in step would call in step.
                thread::sleep(PACE * number / THREADS);
                while !is_over.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    let outcome = call(address);
                    let took = start.elapsed();
                    if let Ok(mut calls) = calls.lock() {
                        calls.push(Call {
                            began: start - begin,
                            took,
                            outcome,
                        });
                    }
                    thread::sleep(PACE.saturating_sub(took));
                }
            });
        }
        let played = play(name, server, begin, &calls);
        is_over.store(true, Ordering::Relaxed);
        played
    });
    played?;
    let mut calls = calls.into_inner().unwrap_or_default();
    calls.retain(|call| call.began < END);
    calls.sort_by_key(|call| call.began);
    Ok(Run { begin, calls })
}

/// Lets happen to the server what the timeline says, and shows how the calls go.
fn play(name: &str, server: Server, begin: Instant, calls: &Mutex<Vec<Call>>) -> io::Result<()> {
    let port = server.address.port();
    let mut server = Some(server);
    let mut next = TIMELINE.iter().skip(1).peekable();
    let mut shown = 0;
    let mut progress = Progress::new();
    while begin.elapsed() < END {
        if let Some((_, mode)) = next.next_if(|(from, _)| *from <= begin.elapsed()) {
            // Ends the child; nobody listens until the next one does.
            drop(server.take());
            if *mode != Mode::Killed {
                server = Some(Server::start(*mode, port)?);
            }
        }
        if progress.is_due() {
            let calls = calls.lock().map(|calls| calls.clone()).unwrap_or_default();
            let state = if name == "with" {
                guard::state()
            } else {
                "none"
            };
            progress.show(
                name,
                begin.elapsed(),
                &calls[shown.min(calls.len())..],
                state,
            );
            shown = calls.len();
        }
        thread::sleep(Duration::from_millis(5));
    }
    progress.end();
    Ok(())
}

/// A line that is drawn anew on a terminal, one line after the other elsewhere.
struct Progress {
    is_terminal: bool,
    last: Instant,
}

impl Progress {
    fn new() -> Self {
        Self {
            is_terminal: io::stdout().is_terminal(),
            last: Instant::now(),
        }
    }

    fn is_due(&mut self) -> bool {
        let interval = if self.is_terminal { 100 } else { 500 };
        let is_due = self.last.elapsed() >= Duration::from_millis(interval);
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }

    fn show(&self, name: &str, time: Duration, calls: &[Call], state: &str) {
        let count = |outcome| calls.iter().filter(|call| call.outcome == outcome).count();
        let line = format!(
            "{name:>7} a breaker  {:4.1} s  server {:<8} breaker {state:<10} \
             answered {:3}  failed {:3}  refused {:3}",
            time.as_secs_f64(),
            mode_at(time),
            count(Outcome::Answered),
            count(Outcome::Failed),
            count(Outcome::Refused),
        );
        if self.is_terminal {
            print!("\r{line}");
            let _ = io::stdout().flush();
        } else {
            println!("{line}");
        }
    }

    fn end(&self) {
        if self.is_terminal {
            println!();
        }
    }
}
