//! Which requests may be sent twice.

/// Whether a request may be sent again after it failed: it may have had its effect nevertheless, with only
/// the answer lost.
///
/// [`ByMethod`](super::ByMethod) knows HTTP requests; for others a closure says so. Asked only after a try that
/// failed: a request that the breaker rejected was never sent.
///
/// ```
/// use atomic_breaker_std::retry::{RetryBudget, RetryConfig, RetryPolicy};
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
}

impl<Q: ?Sized, F: Fn(&Q) -> bool> Idempotent<Q> for F {
    fn is_idempotent(&self, request: &Q) -> bool {
        self(request)
    }
}
