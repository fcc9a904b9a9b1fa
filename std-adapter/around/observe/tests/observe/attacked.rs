// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come and go, many and hostile keys, observers that panic or call back.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Barrier, OnceLock, Weak};
use std::thread;

use atomic_breaker_observe::{Log, Metrics, OfKeys};
use atomic_breaker_server::{
    AnyPermit, Breaker, Guard, KeyedObserver, ManualClock, Outcome, Registry, State, StdClock,
    Transition, word::NativeWord,
};

use crate::support::{Logged, Page, RULES, SECOND, counted, logged};

#[test]
fn nothing_is_lost_when_threads_come_and_go() {
    let breaker = counted("threads");
    for _ in 0..50 {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        breaker.call(|| Ok::<_, &str>(())).unwrap();
                    }
                });
            }
        });
    }
    assert_eq!(Page::now().calls("threads", "success"), Some(40_000));
}

#[test]
fn nothing_is_lost_when_there_are_more_threads_than_lanes() {
    const THREADS: usize = 300;
    let breaker = counted("crowd");
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // All threads have counted once before one ends.
                breaker.call(|| Ok::<_, &str>(())).unwrap();
                together.wait();
                for _ in 0..99 {
                    breaker.call(|| Ok::<_, &str>(())).unwrap();
                }
            });
        }
    });
    assert_eq!(Page::now().calls("crowd", "success"), Some(30_000));
}

/// Calls while its thread is torn down.
struct Last(&'static Breaker<StdClock, NativeWord, (), Metrics>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.call(|| Ok::<_, &str>(())).unwrap();
    }
}

thread_local! {
    static LAST: OnceLock<Last> = const { OnceLock::new() };
}

#[test]
fn calls_while_a_thread_is_torn_down_are_counted() {
    static BREAKER: Breaker<StdClock, NativeWord, (), Metrics> = Breaker::builder(RULES, StdClock)
        .observer(Metrics::in_static("torn-down"))
        .build();
    for early in [false, true] {
        let end = thread::spawn(move || {
            // The thread-local that is touched first is dropped last.
            if early {
                BREAKER.call(|| Ok::<_, &str>(())).unwrap();
            }
            LAST.with(|last| last.get_or_init(|| Last(&BREAKER)).0);
            if !early {
                BREAKER.call(|| Ok::<_, &str>(())).unwrap();
            }
        });
        end.join().unwrap();
    }
    assert_eq!(Page::now().calls("torn-down", "success"), Some(4));
}

#[test]
fn a_hundred_thousand_hostile_keys_get_no_more_labels_than_allowed() {
    let clock = ManualClock::new();
    let metrics = Metrics::new("hostile");
    let hosts = Registry::<String>::builder(RULES)
        .capacity(1_000)
        .clock(&clock)
        .observer(metrics)
        .build()
        .unwrap();
    for key in 0..100_000 {
        let key = format!("\u{1b}[2J\"}} 1\n{key}{{");
        for _ in 0..2 {
            let _ = hosts.of(key.clone()).call(|| Err::<(), _>("no answer"));
        }
        clock.advance(SECOND);
    }
    Page::now();
    let page = Page::now();
    let opened: Vec<_> = page
        .0
        .lines()
        .filter(|line| {
            line.starts_with("circuit_breaker_key_opened{circuit_breaker_name=\"hostile\"")
        })
        .collect();
    // One more for `other`.
    assert_eq!(opened.len(), 101);
    let sum: u64 = opened
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    let all = page
        .transitions("hostile", "open", "failure_limit")
        .unwrap();
    assert!(all > 1_000 && sum == all, "{sum} of {all}");
    assert!(page.0.lines().all(|line| {
        line.is_empty() || line.starts_with('#') || line.starts_with("circuit_breaker_")
    }));
}

/// Panics at each transition.
#[derive(Clone, Copy)]
struct Panics;

impl<K> KeyedObserver<K> for Panics {
    fn transition(&self, _: &K, transition: &Transition) {
        panic!("{transition}");
    }
}

#[test]
fn a_probe_gives_its_slot_back_when_the_observer_panics_as_it_is_admitted() {
    let clock = ManualClock::new();
    let hosts = Registry::builder(RULES)
        .clock(&clock)
        .observer((Metrics::new("panics"), Panics))
        .build()
        .unwrap();
    let quietly = |what: &dyn Fn()| {
        panic::catch_unwind(AssertUnwindSafe(what)).unwrap_err();
    };
    quietly(&|| {
        let _ = hosts.command(&1, |host| host.trip());
    });
    clock.advance(SECOND * 10);
    quietly(&|| {
        let _ = hosts.of(1).acquire();
    });
    assert_eq!(hosts.state(&1), State::HalfOpen);
    let probe = hosts.of(1).acquire().unwrap();
    assert!(probe.is_probe());
    assert!(hosts.of(1).acquire().is_err(), "the slot is taken");
    let page = Page::now();
    assert_eq!(page.transitions("panics", "open", "manual"), Some(1));
}

/// Calls its own registry.
#[derive(Default)]
struct CallsBack(OnceLock<Weak<Registry<u32, StdClock, (), Observers>>>);

type Observers = ((Log, Metrics<OfKeys>), Arc<CallsBack>);

impl CallsBack {
    fn call(&self) {
        let Some(hosts) = self.0.get().and_then(Weak::upgrade) else {
            return;
        };
        // Calls another key, so that it ends.
        hosts.command(&1_000, |host| host.state()).unwrap();
        let _ = hosts
            .of(2_000)
            .acquire()
            .map(|permit| permit.report(Outcome::Ignored));
        let _ = (hosts.entries().count(), hosts.stats());
    }
}

impl KeyedObserver<u32> for CallsBack {
    fn transition(&self, key: &u32, _: &Transition) {
        if *key < 1_000 {
            self.call();
        }
    }

    fn outcome(&self, key: &u32, _: Outcome) {
        if *key < 1_000 {
            self.call();
        }
    }
}

#[test]
fn an_observer_may_call_its_registry() {
    let observer = Arc::new(CallsBack::default());
    let events = logged(|| {
        let log = Log::new("re-entered");
        let metrics = Metrics::new("re-entered");
        let hosts = Registry::builder(RULES)
            .observer(((log, metrics.clone()), Arc::clone(&observer)))
            .build()
            .unwrap();
        let hosts = Arc::new(hosts);
        metrics.watch(&hosts);
        observer.0.set(Arc::downgrade(&hosts)).unwrap();
        for _ in 0..4 {
            let _ = hosts.of(1).call(|| Err::<(), _>("no answer"));
        }
        let page = Page::now();
        assert_eq!(page.calls("re-entered", "failure"), Some(2));
        assert_eq!(page.calls("re-entered", "ignored"), Some(3));
        assert_eq!(page.breakers("re-entered", "open"), Some(1));
    });
    // The opening and the first of two rejections are logged; the other one when the log is dropped.
    let left_out: Vec<_> = events.iter().map(Logged::left_out).collect();
    assert_eq!(left_out, [0, 0, 1]);
}
