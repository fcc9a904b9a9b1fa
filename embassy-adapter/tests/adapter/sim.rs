// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks, and a clock that stands still until a test advances it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use atomic_breaker_embassy::word::NativeWord;
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, StateWatch};
use core::time::Duration;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Instant, MockDriver};

/// There is one mock clock for the whole process.
static TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// Held until the thread of the test ends: what an open breaker says depends on the clock.
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Tasks on the mock clock, which no other test uses until this one has ended.
pub(crate) struct Sim<'a> {
    tasks: Vec<Task<'a>>,
}

struct Task<'a> {
    future: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    flag: Arc<Flag>,
    wakes: Rc<Cell<u32>>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<'a> Sim<'a> {
    pub(crate) fn new() -> Self {
        let lock = || TIME.lock().unwrap_or_else(PoisonError::into_inner);
        HELD.with_borrow_mut(|held| {
            held.get_or_insert_with(lock);
        });
        MockDriver::get().reset();
        Self { tasks: Vec::new() }
    }

    /// Starts a task; returns how often it has been woken since.
    pub(crate) fn spawn(&mut self, future: impl Future<Output = ()> + 'a) -> Rc<Cell<u32>> {
        let wakes = Rc::new(Cell::new(0));
        self.tasks.push(Task {
            future: Some(Box::pin(future)),
            flag: Arc::new(Flag(AtomicBool::new(true))),
            wakes: wakes.clone(),
        });
        self.poll_woken();
        wakes.set(0);
        wakes
    }

    /// Polls the tasks that were woken, until none is left.
    fn poll_woken(&mut self) {
        while self.tasks.iter_mut().any(Task::turn) {}
    }

    /// Lets time pass, millisecond by millisecond.
    pub(crate) fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            MockDriver::get().advance(embassy_time::Duration::from_millis(1));
            self.poll_woken();
        }
        self.poll_woken();
    }

    /// Lets time pass until the task has ended; returns how many milliseconds that took.
    pub(crate) fn run(&mut self, future: impl Future<Output = ()> + 'a) -> u64 {
        let begin = Instant::now();
        self.spawn(future);
        let mine = self.tasks.len() - 1;
        while self.tasks[mine].future.is_some() {
            self.pass(1);
            assert!(begin.elapsed().as_secs() < 3_600, "it never ends");
        }
        begin.elapsed().as_millis()
    }

    /// Drops the last task.
    pub(crate) fn drop_last(&mut self) {
        self.tasks.pop();
    }
}

impl Task<'_> {
    fn turn(&mut self) -> bool {
        if !self.flag.0.swap(false, Ordering::SeqCst) {
            return false;
        }
        self.wakes.set(self.wakes.get() + 1);
        let waker = Waker::from(self.flag.clone());
        let mut context = Context::from_waker(&waker);
        let future = self.future.as_mut();
        if future.is_some_and(|future| future.as_mut().poll(&mut context).is_ready()) {
            self.future = None;
        }
        true
    }
}

/// Three failures trip for a second.
pub(crate) const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(1));

/// A closed breaker.
pub(crate) fn breaker(rules: Config) -> Breaker {
    Breaker::new(rules, EmbassyClock)
}

/// A watch that wakes up to `S` sleepers, with one receiver.
pub(crate) type Watch<const S: usize> = StateWatch<CriticalSectionRawMutex, 1, S>;

pub(crate) type Watched<'a, const S: usize> = Breaker<EmbassyClock, NativeWord, (), &'a Watch<S>>;

/// A closed breaker that wakes its sleepers.
pub(crate) fn watched<const S: usize>(rules: Config, watch: &Watch<S>) -> Watched<'_, S> {
    Breaker::builder(rules, EmbassyClock)
        .observer(watch)
        .build()
}

/// The time, in milliseconds.
pub(crate) fn now() -> u64 {
    Instant::now().as_millis()
}

/// The times at which something happened.
#[derive(Default)]
pub(crate) struct Times(RefCell<Vec<u64>>);

impl Times {
    /// Adds the present time.
    pub(crate) fn mark(&self) {
        self.0.borrow_mut().push(now());
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.0.borrow().clone()
    }

    /// The most events within that many milliseconds.
    pub(crate) fn most_within(&self, ms: u64) -> usize {
        let all = self.all();
        let from = |begin: &u64| {
            all.iter()
                .filter(|at| (*begin..begin + ms).contains(at))
                .count()
        };
        all.iter().map(from).max().unwrap_or(0)
    }
}

/// Runs a future that does not wait, and yields at most once: for a rejection.
#[cfg(any(
    feature = "embedded-storage",
    all(feature = "embedded-hal", feature = "embedded-io")
))]
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    use std::{pin::pin, task::Poll};
    let mut future = pin!(future);
    for _ in 0..2 {
        let context = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return value;
        }
    }
    unreachable!("fakes answer at once")
}

/// Runs two futures in one task, in turn.
pub(crate) async fn both(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    use std::{pin::pin, task::Poll};
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (false, false);
    std::future::poll_fn(|context| {
        first = first || one.as_mut().poll(context).is_ready();
        second = second || other.as_mut().poll(context).is_ready();
        if first && second {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Lets others run once.
pub(crate) async fn let_others_run() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut has_yielded, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
