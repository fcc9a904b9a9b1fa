//! embassy's time: a counter of milliseconds, and the tasks that wait for it.

use core::cell::{Cell, RefCell};
use core::task::Waker;

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
