// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tries of one instance at one resource, seen from where its requests leave it, and the promises of its breaker
//! and budget: that a resource which fails is tripped in time, that no more probes are under way than allowed, and that
//! retries stay within the budget.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Arc, Mutex};

use atomic_breaker_http::{Hosts, Origin, Probe, ResendCount, State};
use atomic_breaker_server::{RetryEvent, Snapshot};
use http::{Request, Response};
use tokio::time::Instant;

use crate::client::Guard;
use crate::clock::InstanceClock;
use crate::net::Unreachable;
use crate::plan::{Plan, SECOND, TRY_LIMIT};
use crate::trace::{holds, note};

/// The tries of one instance to one resource.
pub(crate) struct Tries {
    name: String,
    origin: Origin,
    hosts: &'static Hosts<InstanceClock>,
    plan: &'static Plan,
    /// Others may end its open time.
    is_shared: bool,
    bucket: Arc<Mutex<Bucket>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Tries that failed in a row in this epoch; `None` before the first failure.
    epoch: Option<u16>,
    failed: u32,
    /// Probes under way, by the epoch in which they began.
    probes: BTreeMap<u16, u32>,
    /// Until then the clock of the instance may have made leases look over.
    jumped: bool,
    /// The time since which slots of this epoch are taken that no probe is in, and the epoch.
    deserted: Option<(Instant, u16)>,
    /// The last epoch that was seen open, and when a probe may begin.
    opened: Option<(u16, Instant)>,
    counts: Counts,
}

/// Counts of tries by their end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) begun: u64,
    pub(crate) retries: u64,
    pub(crate) ended: u64,
    pub(crate) dropped: u64,
    pub(crate) probes: u64,
}

/// A budget by its description. Resources whose places are the same share one.
#[derive(Default)]
pub(crate) struct Bucket {
    spent: f64,
    retries: u64,
    at: Option<Instant>,
}

impl Bucket {
    fn refill(&mut self, tokens: f64) {
        self.spent = (self.spent - tokens).max(0.0);
    }

    fn take(&mut self, per_second: u32) -> f64 {
        let now = Instant::now();
        let passed = self
            .at
            .replace(now)
            .map_or(0.0, |at| (now - at).as_secs_f64());
        self.refill(passed * f64::from(per_second));
        self.spent += 1.0;
        self.retries += 1;
        self.spent
    }
}

/// A try under way.
pub(crate) struct Try<'a> {
    tries: &'a Tries,
    began: Instant,
    epoch: Option<u16>,
    is_probe: bool,
    has_ended: bool,
}

impl Tries {
    pub(crate) fn new(
        name: String,
        origin: Origin,
        guard: Guard,
        plan: &'static Plan,
        before: &[Arc<Self>],
    ) -> Self {
        let place = |origin| ptr::from_ref(guard.budget_of(origin));
        let same = before
            .iter()
            .find(|it| ptr::eq(place(&it.origin), place(&origin)));
        Self {
            bucket: same.map_or_else(Arc::default, |it| Arc::clone(&it.bucket)),
            name,
            origin,
            hosts: guard.hosts(),
            plan,
            is_shared: false,
            seen: Mutex::default(),
        }
    }

    /// Sets whether the breaker is that of a fleet.
    pub(crate) fn shared(self, is_shared: bool) -> Self {
        Self { is_shared, ..self }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.seen.lock().unwrap().counts
    }

    /// The clock has stepped forward: from now on earlier probes may have lost their slots, and open times may be over.
    pub(crate) fn jump(&self) {
        let seen = &mut *self.seen.lock().unwrap();
        seen.jumped = !seen.probes.is_empty();
        seen.opened = None;
    }

    /// Checks the state of the breaker: a caller that leaves gives its slot back, and not only when the lease is over.
    pub(crate) fn check(&self) {
        let Some(entry) = self.hosts.entry(&self.origin) else {
            return;
        };
        let shown = entry.snapshot;
        let seen = &mut *self.seen.lock().unwrap();
        match (shown.state(), shown.retry_in()) {
            (State::HalfOpen, _) => self.check_slots(seen, &shown),
            (State::Open, Some(time)) if seen.opened.is_none_or(|(of, _)| of != shown.epoch()) => {
                seen.opened = Some((shown.epoch(), Instant::now() + time));
            }
            _ => {}
        }
    }

    fn check_slots(&self, seen: &mut Seen, shown: &Snapshot) {
        let (epoch, taken) = (shown.epoch(), shown.probes_in_flight());
        let probes = seen.probes.get(&epoch).copied().unwrap_or(0);
        if u32::from(taken) <= probes {
            seen.deserted = None;
            return;
        }
        // A moment passes between an admission and its request.
        let before = seen.deserted.filter(|(_, of)| *of == epoch);
        let (since, _) = *seen
            .deserted
            .insert(before.unwrap_or((Instant::now(), epoch)));
        holds!(
            "a slot is given back",
            since.elapsed() < SECOND,
            "{}: {taken} are taken, {probes} probes are under way, for {:?}",
            self.name,
            since.elapsed()
        );
    }

    /// An operator has changed the state: failures count anew.
    pub(crate) fn count_anew(&self) {
        let seen = &mut *self.seen.lock().unwrap();
        seen.failed = 0;
        seen.opened = None;
    }

    /// At a moment at which nothing is under way: what was begun has ended, and the budget counts the same retries.
    pub(crate) fn check_settled(&self, guard: Guard) {
        let counts = self.counts();
        let ended = counts.ended + counts.dropped;
        holds!(
            "counters add up",
            counts.begun == ended,
            "{}: {counts:?}",
            self.name
        );
        let (sent, retries) = (
            guard.budget_of(&self.origin).counts().of(RetryEvent::Sent),
            self.bucket.lock().unwrap().retries,
        );
        holds!(
            "counters add up",
            retries == sent,
            "{}: {sent} retries are counted, of {retries}",
            self.name
        );
    }

    fn look(&self) -> Option<(State, u16)> {
        let entry = self.hosts.entry(&self.origin)?;
        Some((entry.snapshot.state(), entry.snapshot.epoch()))
    }

    pub(crate) fn begin(&self, request: &Request<()>) -> Try<'_> {
        let look = self.look();
        let epoch = look.map(|(_, epoch)| epoch);
        let is_probe = request.extensions().get::<Probe>().is_some();
        let is_retry = request.extensions().get::<ResendCount>().is_some();
        note!(
            "{} try {look:?} probe {is_probe} retry {is_retry}",
            self.name
        );
        let seen = &mut *self.seen.lock().unwrap();
        seen.counts.begun += 1;
        if is_probe {
            self.check_probe(seen, epoch.unwrap_or(0));
        } else if seen.epoch == epoch && look.is_none_or(|(state, _)| state == State::Closed) {
            let (failed, after) = (seen.failed, self.plan.trips_after());
            holds!(
                "trips in time",
                failed < after,
                "{}: {failed} tries have failed in a row, and another one is admitted; it trips after {after}",
                self.name
            );
        }
        if is_retry {
            seen.counts.retries += 1;
            let budget = self.plan.budget;
            let spent = self.bucket.lock().unwrap().take(budget.per_second);
            // A token is taken before the pause of its retry: those of earlier pauses are no more than the budget holds.
            let most = 2.0 * f64::from(budget.max) + 1.5;
            holds!(
                "retries within the budget",
                spent <= most,
                "{}: {spent:.1} tokens of {budget:?} are spent",
                self.name
            );
        }
        Try {
            tries: self,
            began: Instant::now(),
            epoch,
            is_probe,
            has_ended: false,
        }
    }

    fn check_probe(&self, seen: &mut Seen, epoch: u16) {
        seen.counts.probes += 1;
        let probes = seen.probes.entry(epoch).or_default();
        *probes += 1;
        let (probes, most) = (*probes, self.plan.rules.probes.into());
        holds!(
            "probes in flight",
            probes <= most || seen.jumped,
            "{}: {probes} probes are under way in epoch {epoch}, of {most}",
            self.name
        );
        // The first probe begins the epoch after the open one.
        let opened = seen.opened.filter(|_| !self.is_shared);
        if let Some((_, due)) = opened.filter(|(of, _)| of.wrapping_add(1) == epoch) {
            let early = due.saturating_duration_since(Instant::now());
            holds!(
                "no probe is early",
                early.is_zero(),
                "{}: {early:?} before it was due, in epoch {epoch}",
                self.name
            );
        }
    }
}

impl Try<'_> {
    pub(crate) const fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// The response is here; the breaker is told next.
    pub(crate) fn end(mut self, response: &Result<Response<String>, Unreachable>) {
        self.has_ended = true;
        let tries = self.tries;
        let status = response.as_ref().map(|response| response.status().as_u16());
        note!("{} ended {status:?}", tries.name);
        match status {
            Ok(429) => {}
            // Like what a shop cannot do without its dependency: that is not its failure.
            Ok(424 | 200..300) => {
                let seen = &mut *tries.seen.lock().unwrap();
                tries
                    .bucket
                    .lock()
                    .unwrap()
                    .refill(f64::from(tries.plan.budget.percent) / 100.0);
                // A slow one as well: those have a share of their own.
                seen.failed = 0;
            }
            _ => self.failed(&mut tries.seen.lock().unwrap()),
        }
    }

    /// Counts a failure, unless its epoch has ended.
    fn failed(&self, seen: &mut Seen) {
        let now = self.tries.look();
        let epoch = now.map(|(_, epoch)| epoch);
        if epoch != seen.epoch {
            // The first failure of a key gives it a slot, and no epoch before it.
            if seen.epoch.is_some() {
                seen.failed = 0;
            }
            seen.epoch = epoch;
        }
        let is_closed = now.is_none_or(|(state, _)| state == State::Closed);
        if is_closed && self.epoch == epoch {
            seen.failed += 1;
        }
    }
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        let seen = &mut *self.tries.seen.lock().unwrap();
        if self.is_probe {
            let epoch = self.epoch.unwrap_or(0);
            let probes = seen.probes.entry(epoch).or_default();
            *probes -= 1;
            if *probes == 0 {
                seen.probes.remove(&epoch);
            }
            seen.jumped &= !seen.probes.is_empty();
        }
        if self.has_ended {
            seen.counts.ended += 1;
            return;
        }
        seen.counts.dropped += 1;
        if self.began.elapsed() >= TRY_LIMIT {
            self.failed(seen);
        }
    }
}
