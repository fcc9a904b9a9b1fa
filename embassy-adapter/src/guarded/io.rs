//! Streams: serial ports, sockets, radio modems.

use atomic_breaker::{Failure, Outcome};
use embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};

use super::{Guarded, GuardedError, Weigh};
use crate::BreakerExt;

/// A stream behind a breaker. Itself a [`Read`] and [`Write`] as the stream is.
///
/// Every failure weighs 1, but what says that the caller was wrong says nothing of the stream
/// (`InvalidInput`, `InvalidData`, `Unsupported`, `OutOfMemory`, `Interrupted`);
/// [`weighing`](Guarded::weighing) says otherwise. A stream that hangs is no error of the stream: put
/// [`call_timeout`](crate::BreakerExt::call_timeout) around the exchange, with a breaker of its own.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedIo};
/// use embedded_io_async::{Read, Write};
///
/// static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// fn guarded(port: impl Read + Write) -> impl Read + Write {
///     GuardedIo::new(port, &MODEM)
/// }
/// ```
pub type GuardedIo<D, B> = Guarded<D, B, ErrorKind>;

impl Weigh for ErrorKind {
    fn weigh(self) -> Outcome {
        match self {
            Self::InvalidInput
            | Self::InvalidData
            | Self::Unsupported
            | Self::OutOfMemory
            | Self::Interrupted => Outcome::Ignored,
            _ => Failure::new().into(),
        }
    }
}

impl<E: Error> Error for GuardedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected(_) => ErrorKind::Other,
            Self::Device(error) => error.kind(),
        }
    }
}

impl<D: ErrorType, B> ErrorType for GuardedIo<D, B> {
    type Error = GuardedError<D::Error>;
}

impl<D: Read, B: BreakerExt> Read for GuardedIo<D, B> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        self.call_async(Error::kind, async |device| device.read(buffer).await)
            .await
    }
}

impl<D: Write, B: BreakerExt> Write for GuardedIo<D, B> {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        self.call_async(Error::kind, async |device| device.write(buffer).await)
            .await
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.call_async(Error::kind, async |device| device.flush().await)
            .await
    }
}
