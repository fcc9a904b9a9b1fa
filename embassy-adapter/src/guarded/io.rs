// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: serial ports, sockets, radio modems.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_io::{Error, ErrorKind, ErrorType};
use embedded_io_async::{Read, Write};

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A stream behind a breaker. It is itself [`Read`] and [`Write`], blocking or async like the stream.
///
/// # What shows that the peer works
///
/// - **A read that returns data.** One that ends the stream, with `Ok(0)`, shows nothing.
/// - **Not a write or flush that succeeds**: the data went into a buffer, and that also happens when the peer
///   is gone. It neither clears a count of failures nor closes a half-open breaker; it is neutral. If there
///   are only writes, or if a success means that the peer has received the data, use
///   [`trusting_writes`](Guarded::trusting_writes), or the breaker never closes once it has opened.
/// - Nothing shows that a peer merely does not answer: a read that waits is not an error. Give the guard of an async
///   stream a [`time_limit`](Guarded::time_limit) that is longer than the longest silence of a working peer.
///
/// By default every error is a failure of weight 1, except that errors caused by the caller are ignored
/// (`InvalidInput`, `InvalidData`, `Unsupported`, `OutOfMemory`, `Interrupted`);
/// [`with_classifier`](Guarded::with_classifier) changes that.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedIo};
/// use embassy_time::Duration;
/// use embedded_io_async::{Read, Write};
///
/// static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// fn guarded(port: impl Read + Write) -> impl Read + Write {
///     // It answers each command within a second.
///     GuardedIo::new(port, &MODEM).time_limit(Duration::from_secs(1))
/// }
/// ```
pub type GuardedIo<D, B, R = NoRepair> = Guarded<D, B, ErrorKind, R>;

impl ClassifyKind for ErrorKind {
    fn classify(self) -> Outcome {
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

impl<D: ErrorType> KindOf<D> for ErrorKind {
    type Error = D::Error;
}

impl<E: Error> Error for GuardedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected(_) => ErrorKind::Other,
            Self::TimedOut => ErrorKind::TimedOut,
            Self::Device(error) => error.kind(),
        }
    }
}

impl<D, B: AnyBreaker, R> GuardedIo<D, B, R> {
    /// Treats a successful write or flush as a sign that the peer works, and so the connections of a `GuardedTcp`.
    #[must_use]
    pub const fn trusting_writes(mut self) -> Self {
        self.written = Outcome::Success;
        self
    }
}

impl<D, B, R> GuardedIo<D, B, R> {
    /// The outcome of a read that succeeds, by the number of its bytes.
    fn has_come(&self, buffer: &[u8]) -> impl Fn(&usize) -> Outcome + use<D, B, R> {
        let (classify, ends_early) = (self.classify, self.awaits_answer && !buffer.is_empty());
        move |bytes| match bytes {
            0 if ends_early => classify(ErrorKind::ConnectionAborted),
            0 => Outcome::Ignored,
            _ => Outcome::Success,
        }
    }

    /// Notes what a read has brought. An end that is read again is no further failure.
    fn note<E>(&mut self, buffer: &[u8], result: &Result<usize, E>) {
        self.awaits_answer &= result.is_err() || buffer.is_empty();
    }
}

impl<D: ErrorType, B, R> ErrorType for GuardedIo<D, B, R> {
    type Error = GuardedError<D::Error>;
}

impl<D: Read, B: AnyBreaker<Clock: HasTimer>, R: AsyncRepair<D, D::Error>> Read
    for GuardedIo<D, B, R>
{
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let has_come = self.has_come(buffer);
        let read = async |device: &mut D| device.read(buffer).await;
        let result = self.call_async(Error::kind, has_come, read).await;
        self.note(buffer, &result);
        result
    }
}

impl<D: Write, B: AnyBreaker<Clock: HasTimer>, R: AsyncRepair<D, D::Error>> Write
    for GuardedIo<D, B, R>
{
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        let written = self.written;
        let write = async |device: &mut D| device.write(buffer).await;
        self.call_async(Error::kind, |_| written, write).await
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        let written = self.written;
        let flush = async |device: &mut D| device.flush().await;
        self.call_async(Error::kind, |()| written, flush).await
    }
}

impl<D: embedded_io::Read, B: AnyBreaker, R: Repair<D, D::Error>> embedded_io::Read
    for GuardedIo<D, B, R>
{
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let has_come = self.has_come(buffer);
        let result = self.call(Error::kind, has_come, |device| device.read(buffer));
        self.note(buffer, &result);
        result
    }
}

impl<D: embedded_io::Write, B: AnyBreaker, R: Repair<D, D::Error>> embedded_io::Write
    for GuardedIo<D, B, R>
{
    fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        let written = self.written;
        self.call(Error::kind, |_| written, |device| device.write(buffer))
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        let written = self.written;
        self.call(Error::kind, |()| written, D::flush)
    }
}
