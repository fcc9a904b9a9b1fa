//! Where the calls of a run come from, such as callers that wait for their call before they make the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::call::{Completion, PlannedCall};

/// Where the calls of a run come from, in the order of their start.
pub trait CallSource {
    /// When the next call begins, in microseconds since the beginning: never before the time of the run. `None` if there
    /// is none, or if none is ready before a caller is [freed](Self::freed).
    fn next_start_us(&mut self) -> Option<u64>;

    /// Takes the call that was announced.
    fn take(&mut self) -> PlannedCall;

    /// How the call ends, which is about to be made, under the load that it adds.
    #[inline]
    fn completion(&mut self, call: &PlannedCall) -> Completion {
        call.completion
    }

    /// A caller is free at `at_us`: the call that it began at `began_us` has ended, or was rejected.
    #[inline]
    fn freed(&mut self, began_us: u64, at_us: u64) {
        let _ = (began_us, at_us);
    }
}

/// What [`Callers`] call.
pub trait Callee {
    /// The call that begins at this moment, in microseconds since the beginning; `None` if the run is over. Moments never go
    /// back.
    fn call_at(&mut self, at_us: u64) -> Option<PlannedCall>;

    /// How the call ends, which is about to be made, under the load that it adds.
    fn completion(&mut self, call: &PlannedCall) -> Completion {
        call.completion
    }
}

/// A number of callers. Each makes a call at every beat, unless it still waits for the one before: then as soon as that
/// has ended.
#[derive(Debug)]
pub struct Callers<R> {
    /// When callers that are free make their next calls.
    ready: BinaryHeap<Reverse<u64>>,
    every_us: u64,
    resource: R,
    next: Option<PlannedCall>,
}

impl<R: Callee> Callers<R> {
    /// Callers of a resource, a call every `every_us` microseconds each, at least 1. Their first calls are spread evenly over
    /// the first beat.
    pub fn new(number: u32, every_us: u64, resource: R) -> Self {
        let first =
            |caller| (u128::from(every_us) * u128::from(caller) / u128::from(number)) as u64;
        Self {
            ready: (0..number).map(|caller| Reverse(first(caller))).collect(),
            every_us: every_us.max(1),
            resource,
            next: None,
        }
    }
}

impl<R: Callee> CallSource for Callers<R> {
    fn next_start_us(&mut self) -> Option<u64> {
        let Reverse(at) = *self.ready.peek()?;
        if self.next.is_none_or(|call| call.start_us != at) {
            self.next = self.resource.call_at(at);
        }
        self.next.map(|call| call.start_us)
    }

    fn take(&mut self) -> PlannedCall {
        self.ready.pop();
        self.next.take().expect("a call was announced")
    }

    fn completion(&mut self, call: &PlannedCall) -> Completion {
        self.resource.completion(call)
    }

    fn freed(&mut self, began_us: u64, at_us: u64) {
        let next = at_us.max(began_us.saturating_add(self.every_us));
        self.ready.push(Reverse(next));
    }
}
