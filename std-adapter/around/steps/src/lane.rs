// SPDX-License-Identifier: MIT OR Apache-2.0
//! The resource of a step, and its breaker.

use std::fmt;

use atomic_breaker_server::{Admit, AnyPermit, Outcome, Rejection, Scope, State};

use super::caught::caught_now;

/// The resource of a step: a name that jobs are kept with, and how many of its steps run at the same time. With a
/// [breaker](Self::guarded), jobs that it would reject are not even looked for.
///
/// ```
/// use atomic_breaker_steps::{Breaker, Config, Lane, breaker};
///
/// static BILLING: Breaker = breaker(Config::new());
///
/// let billing = Lane::new("billing").at_once(8).guarded(&BILLING);
/// # let _ = billing;
/// ```
#[must_use]
pub struct Lane {
    pub(super) name: &'static str,
    pub(super) at_once: u32,
    gate: Option<Box<AskBreaker>>,
    /// The calls within a step also ask the breaker, and report to it.
    asks_within: bool,
}

impl Lane {
    /// A resource without a breaker that runs 16 steps at the same time. The name has 1 to 64 bytes.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            at_once: 16,
            gate: None,
            asks_within: false,
        }
    }

    /// Sets the number of steps of this lane that run here at the same time: 1 to 10,000.
    pub const fn at_once(mut self, steps: u32) -> Self {
        self.at_once = steps;
        self
    }

    /// Asks this breaker for each step, and reports to it how the step ended: a failure of the step is one of the
    /// resource; an [end](super::StepError::end) and the rejection of another breaker count as neither success nor
    /// failure, and so does a 429 that `step_result` or a replay saw, with which a probe succeeds. A connection that is
    /// lost with several replays on it is one failure. Takes the same handles as layers do: `&'static Breaker`,
    /// `Arc<Breaker>`, one of a `Resource`, or a `ByKey` of a registry.
    ///
    /// An `InFlightLimit` counts each step as a call, so let no more of them run [at the same time](Self::at_once) than
    /// its limit.
    ///
    /// If calls within the step go through this breaker, too, a failure counts twice: then use
    /// [`guarded_within`](Self::guarded_within).
    pub fn guarded<G>(mut self, breaker: G) -> Self
    where
        G: Admit<()> + Send + Sync + 'static,
        G::Permit: Send + 'static,
    {
        self.gate = Some(Box::new(move || Ok(Box::new(breaker.admit(&())?))));
        self.asks_within = false;
        self
    }

    /// Asks this breaker before each step, and leaves the rest to the calls within the step, which go through it: they
    /// are admitted, counted and used as probes; the step itself is not. So while it is open no job is looked for.
    ///
    /// ```
    /// use atomic_breaker_steps::{Breaker, Config, Lane, Workflow, breaker};
    ///
    /// static BILLING: Breaker = breaker(Config::new());
    ///
    /// let lane = Lane::new("billing").guarded_within(&BILLING);
    /// let orders = Workflow::new("order").step("invoice", "billing", async |order: u64| {
    ///     BILLING.call_async(async || Ok::<_, std::io::Error>(())).await?;
    ///     Ok(order)
    /// });
    /// # let _ = (lane, orders);
    /// ```
    pub fn guarded_within<G>(self, breaker: G) -> Self
    where
        G: Admit<()> + Send + Sync + 'static,
        G::Permit: Send + 'static,
    {
        Self {
            asks_within: true,
            ..self.guarded(breaker)
        }
    }

    pub(super) const fn is_guarded(&self) -> bool {
        self.gate.is_some()
    }

    /// Asks the breaker for the right to one step.
    pub(super) fn admit(&self) -> Result<HeldPermit, Full> {
        let ask = |gate: &AskBreaker| match caught_now(gate) {
            Ok(asked) => asked.map_err(Full::Rejected),
            Err(words) => Err(Full::Panicked(words)),
        };
        Ok(HeldPermit {
            permit: self.gate.as_deref().map(ask).transpose()?,
            until_begun: self.asks_within,
        })
    }

    /// The number of these steps that would be admitted now, and the reason why not more. Their permits are given back
    /// at once: a probe, or a place in a limit, that is held while a store is asked is missing for those who call.
    /// While traffic returns any may pass. Where one passes that is no probe, the others would, too; a limit of calls
    /// in flight must not see calls that are never made, as it trips when there are too many.
    pub(super) fn would_admit(&self, most: usize) -> (usize, Option<Full>) {
        // All at once, as each probe has a slot of its own.
        let mut held = Vec::new();
        for many in 0..most {
            match self.admit() {
                Ok(permit) if permit.is_probe() => held.push(permit),
                Ok(_) => break,
                Err(Full::Rejected(rejected)) if rejected.state() == State::Returning => {}
                Err(full) => return (many, Some(full)),
            }
        }
        (most, None)
    }
}

/// The reason why no step may start.
pub(super) enum Full {
    /// All places are taken.
    Room,
    Rejected(Rejection),
    /// The breaker panicked, or an observer of it: with this message.
    Panicked(String),
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("name", &self.name)
            .field("at_once", &self.at_once)
            .finish_non_exhaustive()
    }
}

type AskBreaker = dyn Fn() -> Result<Box<dyn ErasedPermit>, Rejection> + Send + Sync;

/// The permit of a step; none if its lane has no breaker. Given back without a report if it is dropped, however long it
/// was held. If the breaker panics, the step goes on: its result is saved all the same.
pub(super) struct HeldPermit {
    permit: Option<Box<dyn ErasedPermit>>,
    /// Held only until the step begins, as the calls within the step need it.
    until_begun: bool,
}

impl HeldPermit {
    /// Ends the permit as that of a direct call, by what the step says of its resource.
    pub(super) fn report(&mut self, outcome: Outcome, scope: Scope, why: &str) {
        if let Some(permit) = self.permit.take() {
            let _ = caught_now(|| permit.end(outcome, scope, why));
        }
    }

    pub(super) fn give_back(&mut self) {
        self.report(Outcome::Ignored, Scope::Call, "");
    }

    /// Marks the start of the step.
    pub(super) fn begin(&mut self) {
        if self.until_begun {
            self.give_back();
        }
    }

    /// A probe that is still under way keeps its slot. For any other call the measured time goes on.
    pub(super) fn renew_probe(&mut self) {
        if let Some(permit) = &mut self.permit {
            // A report that no longer counts changes nothing.
            let _ = caught_now(|| permit.is_probe() && permit.renew());
        }
    }

    pub(super) fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(|permit| permit.is_probe())
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        self.give_back();
    }
}

trait ErasedPermit: Send {
    fn end(self: Box<Self>, outcome: Outcome, scope: Scope, why: &str);
    fn renew(&mut self) -> bool;
    fn is_probe(&self) -> bool;
}

impl<P: AnyPermit + Send> ErasedPermit for P {
    fn end(self: Box<Self>, outcome: Outcome, scope: Scope, why: &str) {
        (*self).report_scoped(outcome, scope, || why.to_owned());
    }

    fn renew(&mut self) -> bool {
        AnyPermit::renew(self)
    }

    fn is_probe(&self) -> bool {
        AnyPermit::is_probe(self)
    }
}
