//! Calls whose callers set a time limit of their own.

use std::time::Duration;

use atomic_breaker::Transition;
use http::{HeaderMap, HeaderName, Request};
use tokio::time::Instant;

use crate::{Admit, AnyPermit, Outcome, Rejection};

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Admits gRPC calls as the inner `admit` does, and honours the time limits that their callers set (`grpc-timeout`,
/// tonic's `set_timeout`). A call that fails once its limit has passed says nothing about the host: it is cancelled, as
/// if its caller had left, which is neutral while the call is [young](crate::Permit#dropped). Otherwise one impatient
/// tenant would open the breaker for all.
///
/// The server ends a call at the limit of its caller, too, and so does tonic's `Channel`: such a call cannot outlive its
/// caller, as those of a [`TryLayer`](crate::TryLayer) and of a [`ClientGuard`](crate::ClientGuard) do. So a host that
/// hangs is noticed through the calls that reach the limit of a try below the breaker, while half-open through
/// [`Config::cancel_limit`](crate::Config::cancel_limit), and **otherwise only with
/// [`Config::slow_call`](crate::Config::slow_call)**: set it to less than your callers' limits, and to more than a healthy
/// answer takes. For calls that are dropped, use a `TryLayer`.
///
/// ```
/// # use atomic_breaker_http::{GrpcClassifier, GrpcLimits, Origin, PerHost, Registry, TryLayer};
/// # use std::time::Duration;
/// # fn layer(hosts: &'static Registry<Origin>) {
/// let admit = GrpcLimits::new(PerHost::new(hosts));
/// let layer = TryLayer::new(admit, Duration::from_secs(3)).report(GrpcClassifier::new());
/// # let _ = layer;
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GrpcLimits<A>(A);

impl<A> GrpcLimits<A> {
    /// Admits what `admit` admits.
    pub const fn new(admit: A) -> Self {
        Self(admit)
    }
}

impl<B, A: Admit<Request<B>>> Admit<Request<B>> for GrpcLimits<A> {
    type Permit = LimitedPermit<A::Permit>;

    fn admit(&self, request: &Request<B>) -> Result<Self::Permit, Rejection> {
        let permit = self.0.admit(request)?;
        let limit = own_limit(request.headers());
        // A limit beyond the range of the clock is none.
        let ends = limit.and_then(|limit| Instant::now().checked_add(limit));
        Ok(LimitedPermit { permit, ends })
    }
}

/// The right to one call whose caller may have set a time limit: [`GrpcLimits`].
#[derive(Debug)]
pub struct LimitedPermit<P> {
    permit: P,
    ends: Option<Instant>,
}

impl<P> LimitedPermit<P> {
    /// The permit to report, unless it is a failure after the caller's limit: then it is dropped, and so cancelled.
    fn unless_callers(self, outcome: Outcome) -> Option<P> {
        let has_passed = || self.ends.is_some_and(|ends| Instant::now() >= ends);
        let is_callers = matches!(outcome, Outcome::Failure(_)) && has_passed();
        (!is_callers).then_some(self.permit)
    }
}

impl<P: AnyPermit> AnyPermit for LimitedPermit<P> {
    fn report(self, outcome: Outcome) -> Option<Transition> {
        self.unless_callers(outcome)?.report(outcome)
    }

    fn report_because(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        self.unless_callers(outcome)?.report_because(outcome, why)
    }

    fn report_shared(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        self.unless_callers(outcome)?.report_shared(outcome, why)
    }

    fn is_probe(&self) -> bool {
        self.permit.is_probe()
    }

    fn is_admitted(&self) -> bool {
        self.permit.is_admitted()
    }

    fn renew(&mut self) -> bool {
        self.permit.renew()
    }
}

/// At most eight digits and a unit; anything else is no limit.
fn own_limit(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(GRPC_TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}
