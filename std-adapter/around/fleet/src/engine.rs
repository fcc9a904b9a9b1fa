// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requirements of an engine.

use super::{Answer, Ask, FleetError, InstanceId, Message, Name, Reading};

/// The meeting point of a fleet's instances: a shared engine such as Redis. The feature `contract` has the reference
/// that defines what each request does, and the test that an engine must pass. An engine handles one request at a time,
/// publishes what it changes, and keeps time with its own clock only.
///
/// None of this runs inside a call guarded by a breaker. Code that awaits an answer sets a time limit and drops the
/// future once that has passed; the request may then have been done or not. So an engine needs no limits of its own, and
/// its client's should be turned off. [`Joined`](super::Joined) allows [`FleetConfig::time_limit`](super::FleetConfig::time_limit)
/// for a request, and eight times that to [connect](Self::connect) and to [subscribe](Self::subscribe).
pub trait Fleet: Send + Sync + 'static {
    /// The subscription to what is published.
    type Messages: Messages;

    /// Handles a request of one instance about one breaker.
    ///
    /// # Errors
    /// [`FleetError`] when there is no answer; the request may have been done or not.
    fn ask(
        &self,
        from: InstanceId,
        name: &Name,
        ask: Ask,
    ) -> impl Future<Output = Result<Answer, FleetError>> + Send;

    /// Reads everything that is known, or says that there is [more](Reading::more) to come. It is also a sign of life:
    /// an instance that reads once every `every_ms` counts as living, for three times that long.
    ///
    /// # Errors
    /// [`FleetError`] when there is no answer.
    fn read(
        &self,
        from: InstanceId,
        every_ms: u32,
    ) -> impl Future<Output = Result<Reading, FleetError>> + Send;

    /// Connects, if the next request would have to: what takes several round trips is given the time for them. Called
    /// before each reading; does nothing unless implemented.
    ///
    /// # Errors
    /// [`FleetError`] when no connection can be made.
    fn connect(&self) -> impl Future<Output = Result<(), FleetError>> + Send {
        async { Ok(()) }
    }

    /// Subscribes. Everything published after this has returned is received, unless the connection is lost.
    ///
    /// # Errors
    /// [`FleetError`] when no connection can be made.
    fn subscribe(&self) -> impl Future<Output = Result<Self::Messages, FleetError>> + Send;
}

/// A subscription to what an engine publishes.
pub trait Messages: Send + 'static {
    /// Waits for the next message. The future may be dropped while it waits, and this called again.
    ///
    /// # Errors
    /// [`FleetError`] when the subscription has ended or missed a message: subscribe again, then read.
    fn next(&mut self) -> impl Future<Output = Result<Message, FleetError>> + Send;
}
