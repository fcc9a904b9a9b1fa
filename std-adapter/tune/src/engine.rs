//! A run: calls begin and end in the order of time, and real breakers decide which of them are made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use atomic_breaker::Config;
use atomic_breaker_server::{AnyPermit, RegistryError};

use crate::call::{Call, Ending};
use crate::clock::VirtualClock;
use crate::guard::{Change, Guard, Guarded, History, Keys, guarded, unguarded};

/// Where the calls of a run come from, in the order of their start.
pub(crate) trait Source {
    /// When the next call begins, in microseconds since the beginning: never before the time of the run. `None` if there
    /// is none, or if none is ready before a caller is [freed](Self::freed).
    fn next_start_us(&mut self) -> Option<u64>;

    /// Takes that call, whose ending is what it meets, or would.
    fn take(&mut self) -> Call;

    /// The call is made: what it meets under the load that it adds.
    #[inline]
    fn made(&mut self, call: &Call) -> Ending {
        call.ending()
    }

    /// A caller is free: the call that it began then has ended, or was rejected.
    #[inline]
    fn freed(&mut self, began_us: u64, at_us: u64) {
        let _ = (began_us, at_us);
    }
}

/// Sees all calls of a run when they begin.
pub(crate) trait Watch {
    fn rejected(&mut self, call: &Call);

    /// It is made, and meets this.
    fn made(&mut self, call: &Call, ending: Ending);
}

impl<A: Watch, B: Watch> Watch for (A, B) {
    fn rejected(&mut self, call: &Call) {
        self.0.rejected(call);
        self.1.rejected(call);
    }

    fn made(&mut self, call: &Call, ending: Ending) {
        self.0.made(call, ending);
        self.1.made(call, ending);
    }
}

/// Plays all calls of the source, and returns the changes of the breakers. Without a configuration there is no breaker.
/// Deterministic: the same seed, the same run.
pub(crate) fn play(
    config: Option<&Config>,
    keys: Keys,
    seed: u64,
    source: impl Source,
    watch: &mut impl Watch,
) -> Result<Vec<Change>, RegistryError> {
    let clock = VirtualClock::new(seed);
    let history = History::new(&clock);
    let run = Run {
        clock: &clock,
        source,
        watch,
    };
    match config {
        Some(config) => guarded(*config, keys, &clock, &history, run)?,
        None => unguarded(&clock, run),
    }
    Ok(history.take())
}

struct Run<'r, S, W> {
    clock: &'r VirtualClock,
    source: S,
    watch: &'r mut W,
}

impl<S: Source, W: Watch> Guarded for Run<'_, S, W> {
    type Done = ();

    fn with(mut self, guard: impl Guard) {
        let mut calls = InFlight::new();
        loop {
            match (self.source.next_start_us(), calls.first_end_us()) {
                // What ends at the moment of a start has ended before it.
                (Some(start), end) if end.is_none_or(|end| start < end) => {
                    self.clock.set_us(start);
                    let call = self.source.take();
                    if let Some(permit) = guard.acquire(call.key) {
                        let ending = self.source.made(&call);
                        self.watch.made(&call, ending);
                        calls.add(start, permit, ending);
                    } else {
                        self.watch.rejected(&call);
                        self.source.freed(start, start);
                    }
                }
                (_, Some(end)) => {
                    self.clock.set_us(end);
                    if let Some((began, permit, ending)) = calls.end_first() {
                        permit.report(ending.outcome());
                        self.source.freed(began, end);
                    }
                }
                (_, None) => return,
            }
        }
    }
}

/// Calls that have begun and not ended. What is ordered are their ends alone; permits lie still.
struct InFlight<P> {
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    calls: Vec<Option<(u64, P, Ending)>>,
    free: Vec<u32>,
}

impl<P> InFlight<P> {
    fn new() -> Self {
        Self {
            ends: BinaryHeap::new(),
            calls: Vec::new(),
            free: Vec::new(),
        }
    }

    fn first_end_us(&self) -> Option<u64> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    fn add(&mut self, start_us: u64, permit: P, ending: Ending) {
        let end_us = start_us.saturating_add(u64::from(ending.duration_us));
        let place = self.free.pop().unwrap_or_else(|| {
            self.calls.push(None);
            (self.calls.len() - 1) as u32
        });
        self.calls[place as usize] = Some((start_us, permit, ending));
        self.ends.push(Reverse((end_us, place)));
    }

    fn end_first(&mut self) -> Option<(u64, P, Ending)> {
        let Reverse((_, place)) = self.ends.pop()?;
        self.free.push(place);
        self.calls[place as usize].take()
    }
}
