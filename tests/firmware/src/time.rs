// SPDX-License-Identifier: MIT OR Apache-2.0
//! embassy's time: a counter of milliseconds, and the tasks that wait for it.

use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

struct Time {
    ms: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static TIME: Time = Time {
    ms: Mutex::new(Cell::new(0)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for Time {
    fn now(&self) -> u64 {
        critical_section::with(|section| self.ms.borrow(section).get())
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|section| {
            // The next tick looks at the queue anyway.
            let _ = self.queue.borrow_ref_mut(section).schedule_wake(at, waker);
        });
    }
}

/// Another millisecond, from the timer's interrupt.
pub(crate) fn tick() {
    critical_section::with(|section| {
        let ms = TIME.ms.borrow(section);
        ms.set(ms.get() + 1);
        // Wakes the tasks that waited for it.
        TIME.queue.borrow_ref_mut(section).next_expiration(ms.get());
    });
}

/// Runs a future in a time that begins with it and jumps to whatever it waits for next: a day takes seconds. For programs
/// that do not start the board's timer.
pub fn in_virtual_time<V>(future: impl Future<Output = V>) -> V {
    critical_section::with(|section| TIME.ms.borrow(section).set(0));
    let mut future = pin!(future);
    let mut is_stuck = false;
    loop {
        let polled = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(value) = polled {
            return value;
        }
        critical_section::with(|section| {
            let mut queue = TIME.queue.borrow_ref_mut(section);
            let ms = TIME.ms.borrow(section);
            let next = queue.next_expiration(ms.get());
            if next != u64::MAX {
                ms.set(next);
            }
            // What blocked may have taken it past the end of all that others waited for.
            let was_stuck = core::mem::replace(&mut is_stuck, next == u64::MAX);
            assert!(!(was_stuck && is_stuck), "it waits for nothing");
        });
    }
}

/// Lets virtual time pass as a call that blocks does: nothing else runs meanwhile.
pub fn block_for_ms(passed: u64) {
    critical_section::with(|section| {
        let ms = TIME.ms.borrow(section);
        ms.set(ms.get() + passed);
    });
}
