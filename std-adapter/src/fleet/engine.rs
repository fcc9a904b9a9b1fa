//! What an engine must do.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{Answer, Ask, InstanceId, Message, Name, Reading};

/// Where the instances of a fleet meet: an engine that they share, such as Redis. [`Ledger`](super::Ledger) says
/// what each request does, to the letter; an engine does one at a time and publishes what they change. It keeps
/// time by its own clock only.
///
/// None of this is called in a call that a breaker guards. Whoever awaits an answer sets a time limit and drops
/// the future when it has passed, whereupon the request may have been done or not.
pub trait Fleet: Send + Sync + 'static {
    /// What is published.
    type Messages: Messages;

    /// Does a request of an instance about one breaker.
    ///
    /// # Errors
    /// [`EngineError`] when there is no answer; the request may have been done or not.
    fn ask(
        &self,
        from: InstanceId,
        name: &Name,
        ask: Ask,
    ) -> impl Future<Output = Result<Answer, EngineError>> + Send;

    /// Everything that is known, or that there is [more](Reading::more) to come, and a sign of life: an instance that reads
    /// once in `every_ms` counts as living, for three times that long.
    ///
    /// # Errors
    /// [`EngineError`] when there is no answer.
    fn read(
        &self,
        from: InstanceId,
        every_ms: u32,
    ) -> impl Future<Output = Result<Reading, EngineError>> + Send;

    /// Listens. What is published after this has returned is received, unless the connection is lost.
    ///
    /// # Errors
    /// [`EngineError`] when there is no connection to be had.
    fn subscribe(&self) -> impl Future<Output = Result<Self::Messages, EngineError>> + Send;
}

/// A subscription.
pub trait Messages: Send + 'static {
    /// The next message. May be dropped while it waits, and called again.
    ///
    /// # Errors
    /// [`EngineError`] when the subscription has ended, or missed a message: subscribe again, and read.
    fn next(&mut self) -> impl Future<Output = Result<Message, EngineError>> + Send;
}

/// Why an engine did not answer, in words. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(Arc<str>);

impl EngineError {
    /// In the words of its client.
    pub fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string().into())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for EngineError {}
