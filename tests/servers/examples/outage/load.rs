// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads that call, and their records.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_server::Transition;

use super::guard::Guarding;
use super::scenario::Mode;
use super::scene::Scene;
use super::server::{MESSAGE, Server};
use test_support::progress::Progress;

pub(crate) const THREADS: u32 = 8;
/// Each thread calls this often, unless the previous call takes longer.
pub(crate) const PACE: Duration = Duration::from_millis(20);
const CONNECT: Duration = Duration::from_millis(250);
const READ: Duration = Duration::from_millis(250);

/// The end of a call for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Failed,
    /// By the breaker; the server was not called.
    Rejected,
}

/// A call as the caller saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Since the start of the run.
    pub(crate) began: Duration,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// A run of a whole scene.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) scene: &'static Scene<Mode>,
    pub(crate) calls: Vec<Call>,
    /// The number of times that the server broke down under its load.
    pub(crate) breakdowns: usize,
    /// The transitions of the breaker, if there was one, and their times since the start of the run.
    pub(crate) history: Option<Vec<(Duration, Transition)>>,
}

/// One call to the server: connect, send, wait for the response.
pub(crate) fn call(address: SocketAddr) -> io::Result<()> {
    let mut connection = TcpStream::connect_timeout(&address, CONNECT)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(READ))?;
    connection.write_all(&MESSAGE)?;
    let mut answer = [0; MESSAGE.len()];
    connection.read_exact(&mut answer)
}

fn unguarded(address: SocketAddr) -> Outcome {
    match call(address) {
        Ok(()) => Outcome::Answered,
        Err(_) => Outcome::Failed,
    }
}

/// Runs one thread of callers.
fn keep_calling(
    begin: Instant,
    is_over: &AtomicBool,
    calls: &Mutex<Vec<Call>>,
    call: impl Fn() -> Outcome,
) {
    while !is_over.load(Ordering::Relaxed) {
        let start = Instant::now();
        let outcome = call();
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
}

/// Plays a scene while all threads call.
pub(crate) fn run(
    name: &'static str,
    scene: &'static Scene<Mode>,
    guard: Option<&dyn Guarding>,
) -> io::Result<Run> {
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
                keep_calling(begin, is_over, calls, || match guard {
                    Some(guard) => guard.call(address),
                    None => unguarded(address),
                });
            });
        }
        let mut shown = Shown {
            name,
            scene,
            guard,
            calls: 0,
            progress: Progress::new(),
        };
        let played = play(scene, server, begin, |time| shown.show(time, &calls));
        is_over.store(true, Ordering::Relaxed);
        shown.progress.end()?;
        played
    });
    let mut calls = calls.into_inner().unwrap_or_default();
    calls.retain(|call| call.began < scene.end);
    calls.sort_by_key(|call| call.began);
    let since_begin = |(at, told): (Instant, Transition)| (at.duration_since(begin), told);
    Ok(Run {
        name,
        scene,
        calls,
        breakdowns: played?,
        history: guard.map(|guard| guard.history().into_iter().map(since_begin).collect()),
    })
}

/// Applies the events of the scene to the server, and returns how often it broke down.
fn play(
    scene: &Scene<Mode>,
    server: Server,
    begin: Instant,
    mut show: impl FnMut(Duration) -> io::Result<()>,
) -> io::Result<usize> {
    let port = server.address.port();
    let mut server = Some(server);
    let mut breakdowns = 0;
    let mut next = scene.timeline.iter().skip(1).peekable();
    while begin.elapsed() < scene.end {
        if let Some((_, mode)) = next.next_if(|(from, _)| *from <= begin.elapsed()) {
            // The port is free until the next server listens.
            breakdowns += server.take().map_or(0, Server::kill);
            if *mode != Mode::Killed {
                server = Some(Server::start(*mode, port)?);
            }
        }
        show(begin.elapsed())?;
        thread::sleep(Duration::from_millis(5));
    }
    Ok(breakdowns + server.take().map_or(0, Server::kill))
}

/// The progress that is shown while a scene is played.
struct Shown<'g> {
    name: &'static str,
    scene: &'static Scene<Mode>,
    guard: Option<&'g dyn Guarding>,
    calls: usize,
    progress: Progress,
}

impl Shown<'_> {
    fn show(&mut self, time: Duration, calls: &Mutex<Vec<Call>>) -> io::Result<()> {
        if !self.progress.is_due() {
            return Ok(());
        }
        let calls = calls.lock().map(|calls| calls.clone()).unwrap_or_default();
        let new = &calls[self.calls.min(calls.len())..];
        let count = |outcome| new.iter().filter(|call| call.outcome == outcome).count();
        self.progress.show(&format!(
            "{:<18} {:4.1} s  server {:<8} breaker {:<10} answered {:3}  failed {:3}  rejected {:3}",
            self.name,
            time.as_secs_f64(),
            self.scene.mode_at(time),
            self.guard.map_or("none", |guard| guard.state().name()),
            count(Outcome::Answered),
            count(Outcome::Failed),
            count(Outcome::Rejected),
        ))?;
        self.calls = calls.len();
        Ok(())
    }
}
