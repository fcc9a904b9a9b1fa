// SPDX-License-Identifier: MIT OR Apache-2.0
//! The handling of a response whose caller has left.

use std::future::ready;

use atomic_breaker::{AnyError, Classify, Outcome};
use atomic_breaker_server::{AnyPermit, AtOnce, Report};

/// A [reporter](Report) of tries that go on when their callers leave, as those of a [`TryLayer`](crate::TryLayer) do: reads what
/// the verdict on a try still needs.
///
/// Reporters that report as soon as there is a result have nothing to read. So for one of your own this is enough:
/// `impl<T, E> ReadOn<T, E> for MyReport where MyReport: Report<T, E> {}`. Those of `atomic-breaker-http` that report at
/// the end of a body read it to its verdict.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what becomes of a response whose caller has left",
    note = "implement `ReadOn<T, E>` for it, without any items if it reports as soon as there is a result; \
            a body must be `Send` to be read on in a task"
)]
pub trait ReadOn<T, E>: Report<T, E> {
    /// Goes on until the permit is reported, or it is too late: when the limit of the try has passed. Unless implemented,
    /// the output is dropped, and a permit in it is cancelled.
    fn read_on<P: AnyPermit + Send + 'static>(
        output: Self::Output<P>,
        late: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        drop((output, late));
        ready(())
    }
}

impl<T, E> ReadOn<T, E> for AnyError where Self: Report<T, E> {}

impl<T, E, C: Classify<T, E>> ReadOn<T, E> for AtOnce<C> {}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> ReadOn<T, E> for F {}
