//! Callers that wait for their call before they make the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::call::{Call, Ending};
use crate::cold::ColdServers;
use crate::engine::Source;

/// What callers would meet, at times that never go back.
pub(crate) trait Resource {
    /// What a call that begins now meets, or `None` if it is over.
    fn meets(&mut self, at_us: u64) -> Option<Call>;

    /// What it meets under the load that it adds.
    fn made(&mut self, call: &Call) -> Ending {
        call.ending()
    }
}

/// A number of callers. Each makes a call at every beat, unless it still waits for the one before: then as soon as that
/// has ended.
pub(crate) struct Callers<R> {
    /// When callers that are free make their next calls.
    ready: BinaryHeap<Reverse<u64>>,
    every_us: u64,
    resource: R,
    next: Option<Call>,
}

impl<R: Resource> Callers<R> {
    /// Their first calls are spread evenly over the first beat, which takes at least a microsecond.
    pub(crate) fn new(number: u32, every_us: u64, resource: R) -> Self {
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

impl<R: Resource> Source for Callers<R> {
    fn next_start_us(&mut self) -> Option<u64> {
        let Reverse(at) = *self.ready.peek()?;
        if self.next.is_none_or(|call| call.start_us != at) {
            self.next = self.resource.meets(at).map(|call| call.at(at));
        }
        self.next.map(|call| call.start_us)
    }

    fn take(&mut self) -> Call {
        self.ready.pop();
        self.next.take().expect("a call was announced")
    }

    fn made(&mut self, call: &Call) -> Ending {
        self.resource.made(call)
    }

    fn freed(&mut self, began_us: u64, at_us: u64) {
        self.ready
            .push(Reverse(at_us.max(began_us.saturating_add(self.every_us))));
    }
}

/// What the call of a log met that began closest to the moment.
pub(crate) struct Closest<I> {
    calls: I,
    cold: ColdServers,
    before: Option<Call>,
    after: Option<Call>,
}

impl<I: Iterator<Item = Call>> Closest<I> {
    pub(crate) fn new(mut calls: I, cold: ColdServers) -> Self {
        let before = calls.next();
        let after = calls.next();
        Self {
            calls,
            cold,
            before,
            after,
        }
    }
}

impl<I: Iterator<Item = Call>> Resource for Closest<I> {
    fn made(&mut self, call: &Call) -> Ending {
        self.cold.made(call)
    }

    fn meets(&mut self, at_us: u64) -> Option<Call> {
        while let Some(call) = self.after.filter(|call| call.start_us <= at_us) {
            self.before = Some(call);
            self.after = self.calls.next();
        }
        let before = self.before?;
        match self.after {
            Some(after) if after.start_us - at_us < at_us.saturating_sub(before.start_us) => {
                Some(after)
            }
            Some(_) => Some(before),
            None => (at_us <= before.start_us).then_some(before),
        }
    }
}
