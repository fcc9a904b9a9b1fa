// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors of operations that no breaker guards yet.

use core::marker::{PhantomData, PhantomPinned};

use crate::error::CallError;

/// An error that is no rejection: what an operation returns that no breaker guards yet. Every error is one, except
/// [`CallError`], the `GuardedError` of atomic-breaker-embassy, and types that contain either. In a `Box`, and so in a
/// `Box<dyn Error>`, neither can be seen.
///
/// A retry demands it, because the natural way to limit the time of each try,
/// `breaker.retry(policy, || breaker.call_timeout(limit, send))`, has the breaker inside itself: while it is half-open, the
/// outer call holds the probe slot, the inner one is rejected, and this counts as a failed probe, so the breaker never
/// closes again. [`Retry::try_limit`](crate::wait::Retry::try_limit) is what was meant. An operation that *another* breaker
/// guards goes through the variant with a classifier, which says what the rejection of that other one means.
///
/// The pings of a [`Prober`](crate::wait::Prober) demand it as well: the breaker that they are to close rejects what goes
/// through it.
///
/// Generic code passes the bound on: `fn send<E: Unguarded>(..)`, `radio: impl Write<Error: Unguarded>`.
///
/// Implemented for everything that is [`Unpin`]: errors are, and a `CallError` is not.
#[diagnostic::on_unimplemented(
    message = "the operation is guarded already: its error `{Self}` may be a rejection",
    label = "a breaker would be inside this one",
    note = "within a retry, call the operation itself, with `Retry::try_limit` in place of `call_timeout`",
    note = "a ping of a prober goes to the resource itself",
    note = "a bus in a guard (`GuardedI2c`, `GuardedSpi`, `GuardedIo`) is guarded already: give the driver the bus itself",
    note = "if another breaker guards the operation, take the variant with a classifier, `retry_with`, \
            and say what a rejection by that breaker means",
    note = "in generic code, add the bound: `E: Unguarded`, `impl Write<Error: Unguarded>`"
)]
pub trait Unguarded {}

#[diagnostic::do_not_recommend]
impl<E: Unpin> Unguarded for E {}

/// Never `Unpin`, whatever `E` is. The parameter makes the bound below one that the compiler accepts.
#[derive(Debug)]
pub struct Never<E>(PhantomData<E>, PhantomPinned);

/// Never: the only type here that is not `Unpin`, so that [`Unguarded`] can tell it from other errors. Nothing pins an
/// error, and the futures of this crate are not `Unpin` anyway.
impl<E, R> Unpin for CallError<E, R> where Never<E>: Unpin {}
