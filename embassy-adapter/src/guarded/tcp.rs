//! TCP.

use core::net::SocketAddr;

use atomic_breaker::AnyBreaker;
use atomic_breaker::Outcome;
use atomic_breaker::wait::HasTimer;
use embedded_io::{Error, ErrorKind};
use embedded_nal_async::TcpConnect;

use super::{Guarded, GuardedError, GuardedIo, NoRepair};

/// A TCP stack behind a breaker, for one peer. It is itself a [`TcpConnect`], whose connections are
/// [`GuardedIo`] with the same breaker and settings: what is said there of streams holds for them.
///
/// A connection that is established shows that the peer works. Give the guard a [`time_limit`](Guarded::time_limit): a
/// peer that is gone answers neither a connect nor a read.
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
        let mut stack = Guarded {
            device: &self.device,
            breaker: self.breaker.clone(),
            classify: self.classify,
            limit: self.limit,
            written: self.written,
            repair: NoRepair,
        };
        let connect = async |stack: &mut &'a D| stack.connect(remote).await;
        let connection = stack
            .call_async(Error::kind, |_| Outcome::Success, connect)
            .await?;
        Ok(Guarded {
            device: connection,
            breaker: stack.breaker,
            classify: stack.classify,
            limit: stack.limit,
            written: stack.written,
            repair: NoRepair,
        })
    }
}
