// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP.

use core::net::SocketAddr;

use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Device, Outcome};
use embedded_io::{Error, ErrorKind};
use embedded_nal_async::TcpConnect;

use super::exchange::Answers;
use super::{Guarded, GuardedError, GuardedIo};

/// A TCP stack behind a breaker, for one peer. It is itself a [`TcpConnect`], whose connections are
/// [`GuardedIo`] with the same breaker and settings: what is said there of streams holds for them.
///
/// A connection that is established shows as little as a write: the system below a server that hangs still accepts
/// connections, so if they counted as successes, such a server would never trip a breaker. Only an answer shows that
/// the peer works; if there is none, use [`trusting_writes`](Guarded::trusting_writes), which trusts connections, too.
///
/// A proxy without a server behind it accepts a connection and closes it. So one that ends before anything was read from it
/// is one failure, to a [classifier](Guarded::with_classifier) a `ConnectionAborted`, unless writes are trusted. Ends after
/// that show nothing.
///
/// It cannot repair before a probe, as a connection is made through a shared reference to the stack.
///
/// Give the guard a [`time_limit`](Guarded::time_limit): a peer that is gone answers neither a connect nor a read.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedTcp};
/// use embassy_time::Duration;
/// use embedded_nal_async::TcpConnect;
///
/// static BROKER: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
///
/// fn guarded(stack: impl TcpConnect) -> impl TcpConnect {
///     GuardedTcp::new(stack, &BROKER).time_limit(Duration::from_secs(10))
/// }
/// ```
pub type GuardedTcp<D, B> = Guarded<D, B, ErrorKind>;

impl<D, B> TcpConnect for GuardedTcp<D, B>
where
    D: TcpConnect,
    B: AnyBreaker<Clock: HasTimer> + Clone,
{
    type Error = GuardedError<D::Error>;
    type Connection<'a>
        = GuardedIo<D::Connection<'a>, B>
    where
        Self: 'a;

    async fn connect<'a>(
        &'a self,
        remote: SocketAddr,
    ) -> Result<Self::Connection<'a>, Self::Error> {
        let mut stack = self.of(self.device.as_driver(), false);
        let connect = async |stack: &mut &'a D| stack.connect(remote).await;
        let unproved = stack.unproved;
        let connection = stack.call_async(Error::kind, |_| unproved, connect).await?;
        Ok(self.of(connection, matches!(unproved, Outcome::Ignored)))
    }
}

impl<D, B: AnyBreaker + Clone> GuardedTcp<D, B> {
    /// A guard of a part of the stack, with the same breaker and settings.
    fn of<P>(&self, part: P, awaits_answer: bool) -> GuardedIo<P, B> {
        let breaker = self.device.breaker().clone();
        Guarded {
            device: Device::limited(part, breaker, self.device.limit()),
            classify: self.classify,
            unproved: self.unproved,
            evidence: Answers::of_new(awaits_answer),
        }
    }
}
