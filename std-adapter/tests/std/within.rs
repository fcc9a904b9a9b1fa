// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guards of devices beside retries of other threads.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use atomic_breaker_std::{Breaker, Config, Retry, TokioClock};

type Clocked = Breaker<TokioClock>;

fn due() -> Clocked {
    let rules = Config::new()
        .consecutive_failures(1)
        .open_for(Duration::from_secs(60));
    let breaker = Breaker::new(rules, TokioClock);
    breaker.trip();
    breaker.probe_now();
    breaker
}

/// A probe by a retry whose poll begins and ends with the others' steps.
fn probe(breaker: &Clocked, begun: impl Fn() + Copy + Send, ended: impl Fn() + Copy + Send) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answer = runtime.block_on(breaker.retry(Retry::new(), || async move {
        begun();
        ended();
        Ok::<_, std::io::Error>(())
    }));
    assert!(answer.is_ok());
}

#[test]
fn probes_of_two_threads_that_overlap_leave_no_guard_open() {
    let (first, second) = (due(), due());
    let [both, over] = [(); 2].map(|()| Barrier::new(2));
    let begins_second = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let begun = || {
                begins_second.wait();
                both.wait();
            };
            probe(&first, begun, || ());
            over.wait();
        });
        scope.spawn(|| {
            begins_second.wait();
            let begun = || {
                both.wait();
                over.wait();
            };
            probe(&second, begun, || ());
        });
    });
    first.trip();
    let mut device = atomic_breaker::Device::new((), &first);
    let answer = device.call(|()| Ok::<_, ()>(()));
    assert!(answer.is_err(), "it is open");
}

/// The probe of another thread is still polled when an operator closes the breaker: from then on each call counts.
#[test]
fn a_call_beside_the_probe_of_another_thread_counts_once_the_breaker_is_closed() {
    let breaker = due();
    let [begun, ended] = [(); 2].map(|()| Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let begun = || _ = begun.wait();
            let ended = || _ = ended.wait();
            probe(&breaker, begun, ended);
        });
        begun.wait();
        breaker.reset();
        let mut device = atomic_breaker::Device::new((), &breaker);
        let answer = device.call(|()| Err::<(), _>(()));
        ended.wait();
        assert!(answer.is_err());
        assert_eq!(breaker.snapshot().trips(), 1, "one failure trips");
    });
}
