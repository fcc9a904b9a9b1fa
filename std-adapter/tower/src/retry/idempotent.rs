//! Which requests may be sent twice.

use std::time::Duration;

/// Whether a request may be sent again after it failed: it may have had its effect nevertheless, with only the
/// response lost.
///
/// `ByMethod` of `atomic-breaker-http` knows HTTP requests; for others use a closure. Asked before the first try. A
/// request that the breaker rejected was never sent, and may be sent in any case.
///
/// ```
/// use atomic_breaker_tower::{RetryBudget, RetryConfig, RetryPolicy};
///
/// static BUDGET: RetryBudget = RetryBudget::new();
///
/// #[derive(Clone)]
/// enum Command { Read(u32), Append(String) }
///
/// let policy = RetryPolicy::new(RetryConfig::new(), &BUDGET, |command: &Command| {
///     matches!(command, Command::Read(_))
/// });
/// # let _ = (policy, Command::Append(String::new()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say whether a `{Q}` may be sent twice",
    note = "`RetryPolicy::new` takes a closure that can: `|request: &{Q}| ..`"
)]
pub trait Idempotent<Q: ?Sized> {
    /// Whether this request may be sent again.
    fn is_idempotent(&self, request: &Q) -> bool;

    /// How long the caller gives this request, if that may be less than
    /// [`RetryConfig::within`](super::RetryConfig::within): no pause begins that would not end by then.
    fn within(&self, request: &Q) -> Option<Duration> {
        let _ = request;
        None
    }
}

impl<Q: ?Sized, F: Fn(&Q) -> bool> Idempotent<Q> for F {
    fn is_idempotent(&self, request: &Q) -> bool {
        self(request)
    }
}
