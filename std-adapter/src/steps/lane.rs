//! The resource of a step, and its breaker.

use std::fmt;

use atomic_breaker::{Failure, Outcome};

use crate::resource::{Admit, AnyPermit, Rejection};

/// The resource of a step: a name that jobs are kept with, and how many of its steps run at the same time. With a
/// [breaker](Self::guarded), what it rejects is not even looked for.
///
/// ```
/// use atomic_breaker_std::steps::Lane;
/// use atomic_breaker_std::{Breaker, Config, breaker};
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
    gate: Option<Box<dyn Gate>>,
}

impl Lane {
    /// A resource without a breaker, 16 steps at the same time. 1 to 64 bytes.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            at_once: 16,
            gate: None,
        }
    }

    /// How many steps of this lane run here at the same time: 1 to 10,000.
    pub const fn at_once(mut self, steps: u32) -> Self {
        self.at_once = steps;
        self
    }

    /// Asks this breaker for each step, and reports to it how the step ended: a failure of the step is one of the
    /// resource, an [end](super::StepError::end) and the rejection of another breaker are neither. A handle as layers take it:
    /// `&'static Breaker`, `Arc<Breaker>`, one of a `Resource`, or a `ByKey` of a registry.
    ///
    /// Calls within the step that go through a breaker of their own are counted there; give this lane none then, or
    /// another one.
    pub fn guarded<G>(mut self, breaker: G) -> Self
    where
        G: Admit<()> + Send + Sync + 'static,
        G::Permit: Send + 'static,
    {
        self.gate = Some(Box::new(breaker));
        self
    }

    #[cfg(all(feature = "keep", target_has_atomic = "64"))]
    pub(super) const fn is_guarded(&self) -> bool {
        self.gate.is_some()
    }

    /// The right to one step.
    pub(super) fn admit(&self) -> Result<Admitted, Rejection> {
        match &self.gate {
            Some(gate) => gate.admit().map(|permit| Admitted(Some(permit))),
            None => Ok(Admitted(None)),
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("name", &self.name)
            .field("at_once", &self.at_once)
            .field("is_guarded", &self.gate.is_some())
            .finish()
    }
}

/// The right to one step. Given back without a word if it is dropped, however long it was held.
pub(super) struct Admitted(Option<Box<dyn HeldPermit>>);

impl Admitted {
    pub(super) fn report(mut self, outcome: Outcome, why: &str) {
        if let Some(permit) = self.0.take() {
            permit.end(outcome, why);
        }
    }

    /// A probe that is still under way keeps its slot. A call that is none goes on being measured.
    pub(super) fn renew_probe(&mut self) {
        if let Some(permit) = &mut self.0 {
            permit.renew_probe();
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(permit) = self.0.take() {
            permit.end(Outcome::Ignored, "");
        }
    }
}

trait HeldPermit: Send {
    fn end(self: Box<Self>, outcome: Outcome, why: &str);
    fn renew_probe(&mut self);
}

impl<P: AnyPermit + Send> HeldPermit for P {
    fn end(self: Box<Self>, outcome: Outcome, why: &str) {
        (*self).report_because(outcome, || why.to_owned());
    }

    fn renew_probe(&mut self) {
        if self.is_probe() {
            // What does not count any more changes nothing when it is reported.
            let _ = self.renew();
        }
    }
}

trait Gate: Send + Sync {
    fn admit(&self) -> Result<Box<dyn HeldPermit>, Rejection>;
}

impl<G> Gate for G
where
    G: Admit<()> + Send + Sync,
    G::Permit: Send + 'static,
{
    fn admit(&self) -> Result<Box<dyn HeldPermit>, Rejection> {
        Ok(Box::new(Admit::admit(self, &())?))
    }
}

/// What a failed step says about its resource.
pub(super) fn failed(retry_after: Option<std::time::Duration>) -> Outcome {
    match retry_after {
        Some(time) => Failure::retry_after(time).into(),
        None => Failure::new().into(),
    }
}
