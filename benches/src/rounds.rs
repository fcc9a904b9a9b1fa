// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many short rounds, interleaved.
//!
//! Timings on one machine drift by a third from minute to minute. So all cases are measured in one
//! run, each for about a millisecond, interleaved, many times; of the rounds the median is shown,
//! with the quartiles as spread. Threads are started once, pinned, and meet at a spinning barrier
//! before each lap; each measures its own time. If the system tells (Linux), a lap in which a thread had to
//! wait for its core for a hundredth of the lap is run again: two threads of which one waits do not contend. Where
//! most laps stay disturbed, other programs need the cores, and the run goes on without such second tries.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs, hint, process};

use crate::paired::Paired;

/// The work of threads in a lap, all with the same subject.
pub trait Subject: Send + Sync {
    /// Makes `calls` calls.
    fn lap(&self, calls: u64);
}

impl<F: Fn(u64) + Send + Sync> Subject for F {
    fn lap(&self, calls: u64) {
        self(calls);
    }
}

/// Something to measure.
pub struct Case {
    /// The name in tables.
    pub name: String,
    make: Box<dyn Fn() -> Arc<dyn Subject> + Send + Sync>,
    most_calls: u64,
    threads: usize,
}

impl Case {
    /// A case that starts each lap with what `make` makes.
    pub fn new<S: Subject + 'static>(
        name: impl Into<String>,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            make: Box::new(move || Arc::new(make())),
            most_calls: u64::MAX,
            threads: 1,
        }
    }

    /// Runs on this many threads at once, each on its own core; the others wait meanwhile.
    #[must_use]
    pub fn by(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Limits a thread to `calls` calls in a lap.
    #[must_use]
    pub fn at_most(mut self, calls: u64) -> Self {
        self.most_calls = calls;
        self
    }

    /// Wraps each lap in a function that must run it.
    #[must_use]
    pub fn around(mut self, around: fn(&dyn Subject, u64)) -> Self {
        let make = self.make;
        self.make = Box::new(move || {
            let subject = make();
            Arc::new(move |calls| around(&*subject, calls))
        });
        self
    }

    /// One subject, for uses that are not timed.
    pub fn subject(&self) -> Arc<dyn Subject> {
        (self.make)()
    }

    /// As many calls as one thread makes in about the time of a lap. Threads that contend take many
    /// times as long; they make fewer calls, so that nothing else cuts in.
    fn calls_per_lap(&self) -> u64 {
        let mut calls = 64;
        loop {
            let subject = self.subject();
            let begin = Instant::now();
            subject.lap(calls);
            if begin.elapsed() >= LAP / 4 || calls * 2 > self.most_calls {
                let factor = if self.threads == 1 { 4 } else { 1 };
                return (calls * factor).min(self.most_calls);
            }
            calls *= 2;
        }
    }
}

const LAP: Duration = Duration::from_millis(1);

/// Nanoseconds per call, as each thread sees it.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Half of the rounds were faster.
    pub median: f64,
    /// A quarter of the rounds was faster.
    pub low: f64,
    /// A quarter of the rounds was slower.
    pub high: f64,
}

impl Figure {
    /// The median and quartiles of measured values.
    ///
    /// # Panics
    /// Without values.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            median: values[values.len() / 2],
            low: values[values.len() / 4],
            high: values[values.len() * 3 / 4],
        }
    }

    /// Calls per microsecond of `threads` threads together.
    #[expect(clippy::cast_precision_loss, reason = "a few threads")]
    pub fn throughput(self, threads: usize) -> f64 {
        threads as f64 * 1_000.0 / self.median
    }
}

impl fmt::Display for Figure {
    /// Two figures after the point below 10, one below 100, none above; the quartiles in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.median {
            ..10.0 => 2,
            ..100.0 => 1,
            _ => 0,
        };
        let Self { median, low, high } = self;
        write!(f, "{median:.digits$} ({low:.digits$}–{high:.digits$})")
    }
}

/// The number of threads that can have a core of their own.
pub fn cores() -> usize {
    core_affinity::get_core_ids().map_or(1, |cores| cores.len())
}

/// Measures all cases, interleaved, `rounds` times.
///
/// # Panics
/// When a case wants more threads than the machine has cores.
pub fn measure(cases: &[Case], rounds: usize) -> Vec<Figure> {
    let times = measure_paired(cases, rounds).times;
    times.into_iter().map(Figure::of).collect()
}

/// The same, for differences and quotients of what was measured in the same round.
///
/// # Panics
/// When a case wants more threads than the machine has cores.
pub fn measure_paired(cases: &[Case], rounds: usize) -> Paired {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let most = cases.iter().map(|case| case.threads).max().unwrap_or(1);
    assert!(
        most <= cores.len(),
        "{most} threads need as many cores, there are {}",
        cores.len()
    );
    let run = Run {
        cases,
        calls: cases.iter().map(Case::calls_per_lap).collect(),
        barrier: SpinBarrier::new(most),
        subject: Mutex::new(None),
        is_disturbed: AtomicBool::new(false),
        laps: AtomicUsize::new(0),
        disturbed: AtomicUsize::new(0),
        times: Mutex::new(vec![vec![0.0; rounds]; cases.len()]),
    };
    thread::scope(|scope| {
        for (thread, core) in cores.into_iter().take(most).enumerate() {
            let run = &run;
            scope.spawn(move || {
                core_affinity::set_for_current(core);
                let _guard = AbortOnPanic;
                for round in 0..rounds {
                    for case in run.order(round) {
                        run.lap(thread, case, round);
                    }
                }
            });
        }
    });
    Paired {
        laps: cases.len() * rounds,
        disturbed: run.disturbed.into_inner(),
        times: run.times.into_inner().expect("no thread panicked"),
    }
}

/// The data that the threads of a run share.
struct Run<'a> {
    cases: &'a [Case],
    calls: Vec<u64>,
    barrier: SpinBarrier,
    subject: Mutex<Option<Arc<dyn Subject>>>,
    is_disturbed: AtomicBool,
    /// Laps that have ended.
    laps: AtomicUsize,
    /// Laps that were disturbed at each try.
    disturbed: AtomicUsize,
    /// One value per case and round: the mean of the threads.
    times: Mutex<Vec<Vec<f64>>>,
}

impl Run<'_> {
    /// The number of times that a disturbed lap is run.
    const TRIES: u32 = 10;
    /// After so many laps it is known whether most of them are disturbed however often they are run.
    const KNOWN_AFTER: usize = 50;

    /// The number of times that the next disturbed lap is run. The same for all threads of a lap.
    fn tries(&self) -> u32 {
        let [laps, disturbed] = [&self.laps, &self.disturbed].map(|it| it.load(Ordering::Relaxed));
        let is_busy = laps >= Self::KNOWN_AFTER && disturbed > laps / 2;
        if is_busy { 1 } else { Self::TRIES }
    }

    /// The order of a round: it differs each time, so that no case always runs after the same neighbour.
    fn order(&self, round: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.cases.len()).collect();
        fastrand::Rng::with_seed(round as u64).shuffle(&mut order);
        order
    }

    /// One lap of a case, as one of all threads sees it.
    fn lap(&self, thread: usize, case: usize, round: usize) {
        let threads = self.cases[case].threads;
        for tries in 1.. {
            if thread == 0 {
                *lock(&self.subject) = Some(self.cases[case].subject());
                self.is_disturbed.store(false, Ordering::Relaxed);
            }
            self.barrier.wait();
            let mine = lock(&self.subject).clone().expect("just made");
            let waited = waited_for_core();
            self.barrier.wait();
            let begin = Instant::now();
            if thread < threads {
                mine.lap(self.calls[case]);
            }
            let took = begin.elapsed();
            if thread < threads && waited_for_core().saturating_sub(waited) > took / 100 {
                self.is_disturbed.store(true, Ordering::Relaxed);
            }
            self.barrier.wait();
            let is_disturbed = self.is_disturbed.load(Ordering::Relaxed);
            let is_last = !is_disturbed || tries >= self.tries();
            self.barrier.wait();
            if is_last {
                if thread == 0 {
                    self.laps.fetch_add(1, Ordering::Relaxed);
                    self.disturbed
                        .fetch_add(is_disturbed.into(), Ordering::Relaxed);
                }
                if thread < threads {
                    let per_call = per_call(took, self.calls[case], threads);
                    lock(&self.times)[case][round] += per_call;
                }
                return;
            }
        }
    }
}

/// The total time that this thread was ready to run but did not; zero if the system does not tell.
fn waited_for_core() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = told.split(' ').nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
fn per_call(took: Duration, calls: u64, threads: usize) -> f64 {
    took.as_nanos() as f64 / calls as f64 / threads as f64
}

/// Ends the program when its thread panics, as the others would spin forever.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            process::abort();
        }
    }
}

/// Lets all threads go within some nanoseconds; a barrier that sleeps wakes them microseconds
/// apart.
#[derive(Debug)]
pub struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
}

impl SpinBarrier {
    /// A barrier for this many threads.
    pub const fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
        }
    }

    /// Waits until all have come.
    pub fn wait(&self) {
        let mine = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (mine / self.threads + 1) * self.threads;
        while self.arrived.load(Ordering::Acquire) < all {
            hint::spin_loop();
        }
    }
}
