// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service whose behaviour is set, and what the tests share.

use std::future::{pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker_server::{StateWatch, word::NativeWord};
use atomic_breaker_tower::{Breaker, Config, TokioClock};
use tower::Service;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

pub(crate) type OnTokio = Breaker<TokioClock>;
pub(crate) type Watched = Breaker<TokioClock, NativeWord, (), StateWatch>;

pub(crate) fn breaker() -> Arc<OnTokio> {
    Arc::new(Breaker::new(RULES, TokioClock))
}

pub(crate) fn watched() -> Arc<Watched> {
    let breaker = Breaker::builder(RULES, TokioClock).observer(StateWatch::new());
    Arc::new(breaker.build())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    Answers,
    AnswersAfter(Duration),
    Fails,
    Hangs,
    Panics,
    PanicsInCall,
    NeverReady,
    FailsWhenAskedWhetherReady,
    PanicsWhenAskedWhetherReady,
    PanicsWhenCloned,
}

/// Clones share their mood and what they counted.
#[derive(Debug)]
pub(crate) struct Fake(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    mood: Mutex<Mood>,
    asked: AtomicUsize,
    calls: AtomicUsize,
    /// The callers that wait until it is ready.
    waiting: Mutex<Vec<Waker>>,
}

impl Fake {
    pub(crate) fn new(mood: Mood) -> Self {
        Self(Arc::new(Shared {
            mood: Mutex::new(mood),
            asked: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            waiting: Mutex::default(),
        }))
    }

    /// The same one, for the test to look at.
    pub(crate) fn twin(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().unwrap() = mood;
        for waker in std::mem::take(&mut *self.0.waiting.lock().unwrap()) {
            waker.wake();
        }
    }

    fn mood(&self) -> Mood {
        *self.0.mood.lock().unwrap()
    }

    /// The number of times that it was asked whether it is ready.
    pub(crate) fn asked(&self) -> usize {
        self.0.asked.load(Relaxed)
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(Relaxed)
    }
}

impl Clone for Fake {
    fn clone(&self) -> Self {
        assert!(self.mood() != Mood::PanicsWhenCloned, "cloned");
        self.twin()
    }
}

fn no_answer() -> io::Error {
    io::Error::other("no answer")
}

impl Service<u32> for Fake {
    type Response = u32;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<u32>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.asked.fetch_add(1, Relaxed);
        match self.mood() {
            Mood::NeverReady => {
                let waker = context.waker().clone();
                self.0.waiting.lock().unwrap().push(waker);
                Poll::Pending
            }
            Mood::FailsWhenAskedWhetherReady => Poll::Ready(Err(no_answer())),
            Mood::PanicsWhenAskedWhetherReady => panic!("asked"),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: u32) -> Self::Future {
        self.0.calls.fetch_add(1, Relaxed);
        match self.mood() {
            Mood::Fails => Box::pin(ready(Err(no_answer()))),
            Mood::Hangs => Box::pin(pending()),
            Mood::Panics => Box::pin(async { panic!("polled") }),
            Mood::PanicsInCall => panic!("called"),
            Mood::AnswersAfter(time) => Box::pin(async move {
                tokio::time::sleep(time).await;
                Ok(request)
            }),
            _ => Box::pin(ready(Ok(request))),
        }
    }
}
