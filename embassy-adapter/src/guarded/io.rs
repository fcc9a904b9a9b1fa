// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: serial ports, sockets, radio modems.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Clock as _, Failure, Outcome};
use embedded_io::{Error, ErrorKind, ErrorType, ReadReady, WriteReady};
use embedded_io_async::{BufRead, Read, Write};

use super::exchange::{Answers, Exchange, listen, note_read, of_device};
use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A stream behind a breaker: for a stack that owns its port. It is itself [`Read`] and [`Write`], blocking or async like the
/// stream. If you can, guard the driver instead, so that a command with its answer is one call: [`Device`](crate::Device).
///
/// # What shows that the peer works
///
/// - **An answer**: data that is read after something was written, and the first data of a connection.
/// - **Not a write or flush that succeeds**: the data went into a buffer, and that also happens when the peer
///   is gone. It neither clears a count of failures nor closes a half-open breaker; it is neutral. If there
///   are only writes, or if a success means that the peer has received the data, use
///   [`trusting_writes`](Guarded::trusting_writes), or the breaker never closes once it has opened.
/// - **Not data that nobody has asked for, nor the end of the stream**, with `Ok(0)`.
/// - **Silence is a failure while an answer is owed**: give the guard of an async stream a
///   [`time_limit`](Guarded::time_limit) that is longer than a working peer needs for the first byte of its answer. It runs
///   from the last write.
///
/// # Reads are not calls
///
/// A read waits for news. It is never rejected, holds no place of a probe, and has no limit while nothing is owed; one that is
/// dropped says nothing, but the next one finds the answer still owed. Its errors count. A device that speaks by itself, such as
/// a GPS receiver, is one whose reads are calls: [`expecting_data`](GuardedIo::expecting_data). A repair runs before a write.
///
/// If the two halves of one stream are in two guards, both are [halves of](GuardedIo::half_of) one [`Exchange`].
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
    type Evidence = Answers;

    const FRESH: Answers = Answers::of_new(false);

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
    /// Treats each read as a call: for a device that speaks by itself. The [limit](Guarded::time_limit) is its longest silence.
    #[must_use]
    pub const fn expecting_data(mut self) -> Self {
        self.evidence.expects_data = true;
        self
    }

    /// Makes this the guard of one half of a stream whose other half is in another guard: what one of them writes, the other
    /// reads the answer to. So does a guard that is made anew for each operation. The silence of the peer is noticed within twice the [limit](Guarded::time_limit).
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Exchange, GuardedIo};
    /// use embassy_time::Duration;
    /// use embedded_io_async::{Read, Write};
    ///
    /// static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
    /// static EXCHANGE: Exchange = Exchange::new();
    ///
    /// fn guarded(from: impl Read, to: impl Write) -> (impl Read, impl Write) {
    ///     let from = GuardedIo::new(from, &MODEM).half_of(&EXCHANGE);
    ///     let to = GuardedIo::new(to, &MODEM).half_of(&EXCHANGE);
    ///     (from.time_limit(Duration::from_secs(1)), to)
    /// }
    /// ```
    #[must_use]
    pub const fn half_of(mut self, exchange: &'static Exchange) -> Self {
        self.evidence.shared = Some(exchange);
        self
    }

    fn now_ms(&self) -> u32 {
        self.device.breaker().as_breaker().clock().now_ms()
    }

    /// Notes how a write has ended.
    fn wrote<V, E>(&self, result: &Result<V, E>) {
        if result.is_ok() && matches!(self.unproved, Outcome::Ignored) {
            self.evidence.exchange().owe(self.now_ms());
        }
    }

    /// Notes how a flush has ended.
    fn flushed<E>(&self, result: &Result<(), E>) {
        if result.is_ok() {
            self.evidence.exchange().flushed(self.now_ms());
        }
    }
}

/// The outcome of a read by the number of its bytes, where a read is a call.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "classifiers take references"
)]
const fn has_come(bytes: &usize) -> Outcome {
    match bytes {
        0 => Outcome::Ignored,
        _ => Outcome::Success,
    }
}

impl<D: ErrorType, B, R> ErrorType for GuardedIo<D, B, R> {
    type Error = GuardedError<D::Error>;
}

impl<D: Read, B: AnyBreaker<Clock: HasTimer>, R: AsyncRepair<D, D::Error>> Read
    for GuardedIo<D, B, R>
{
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if self.evidence.expects_data {
            let read = async |device: &mut D| device.read(buffer).await;
            return self.call_async(Error::kind, has_come, read).await;
        }
        let (limit, size) = (self.device.limit(), buffer.len());
        let (device, breaker) = self.device.parts();
        let result = listen(breaker, &self.evidence, limit, device.read(buffer)).await;
        if let Ok(_) | Err(GuardedError::Device(_)) = &result {
            let bytes = result.as_ref().map(|bytes| *bytes);
            note_read(
                breaker,
                &mut self.evidence,
                self.classify,
                of_device(bytes),
                size,
            );
        }
        result
    }
}

impl<D: Write, B: AnyBreaker<Clock: HasTimer>, R: AsyncRepair<D, D::Error>> Write
    for GuardedIo<D, B, R>
{
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        let unproved = self.unproved;
        let write = async |device: &mut D| device.write(buffer).await;
        let result = self.call_async(Error::kind, |_| unproved, write).await;
        self.wrote(&result);
        result
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let flush = async |device: &mut D| device.flush().await;
        let result = self.call_async(Error::kind, |()| unproved, flush).await;
        self.flushed(&result);
        result
    }
}

impl<D: embedded_io::Read, B: AnyBreaker, R: Repair<D, D::Error>> embedded_io::Read
    for GuardedIo<D, B, R>
{
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if self.evidence.expects_data {
            return self.call(Error::kind, has_come, |device| device.read(buffer));
        }
        self.evidence.exchange().begin_read();
        let (device, breaker) = self.device.parts();
        let result = device.read(buffer);
        let bytes = result.as_ref().map(|bytes| *bytes);
        note_read(
            breaker,
            &mut self.evidence,
            self.classify,
            bytes,
            buffer.len(),
        );
        result.map_err(GuardedError::Device)
    }
}

impl<D: embedded_io::Write, B: AnyBreaker, R: Repair<D, D::Error>> embedded_io::Write
    for GuardedIo<D, B, R>
{
    fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        let unproved = self.unproved;
        let result = self.call(Error::kind, |_| unproved, |device| device.write(buffer));
        self.wrote(&result);
        result
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let result = self.call(Error::kind, |()| unproved, D::flush);
        self.flushed(&result);
        result
    }
}

impl<D, B, R> BufRead for GuardedIo<D, B, R>
where
    D: BufRead,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    async fn fill_buf(&mut self) -> Result<&[u8], Self::Error> {
        let limit = self.device.limit();
        let (device, breaker) = self.device.parts();
        let result = listen(breaker, &self.evidence, limit, device.fill_buf()).await;
        if let Ok(_) | Err(GuardedError::Device(_)) = &result {
            let bytes = result.as_ref().map(|bytes| bytes.len());
            note_read(
                breaker,
                &mut self.evidence,
                self.classify,
                of_device(bytes),
                usize::MAX,
            );
        }
        result
    }

    fn consume(&mut self, amount: usize) {
        self.device.driver().consume(amount);
    }
}

impl<D: embedded_io::BufRead, B: AnyBreaker, R: Repair<D, D::Error>> embedded_io::BufRead
    for GuardedIo<D, B, R>
{
    fn fill_buf(&mut self) -> Result<&[u8], Self::Error> {
        self.evidence.exchange().begin_read();
        let (device, breaker) = self.device.parts();
        let result = device.fill_buf();
        let bytes = result.as_ref().map(|bytes| bytes.len());
        note_read(
            breaker,
            &mut self.evidence,
            self.classify,
            bytes,
            usize::MAX,
        );
        result.map_err(GuardedError::Device)
    }

    fn consume(&mut self, amount: usize) {
        self.device.driver().consume(amount);
    }
}

impl<D: ReadReady, B: AnyBreaker, R> ReadReady for GuardedIo<D, B, R> {
    /// Not a call: it asks the port, not the peer.
    fn read_ready(&mut self) -> Result<bool, Self::Error> {
        self.device
            .driver()
            .read_ready()
            .map_err(GuardedError::Device)
    }
}

impl<D: WriteReady, B: AnyBreaker, R> WriteReady for GuardedIo<D, B, R> {
    /// Not a call: it asks the port, not the peer.
    fn write_ready(&mut self) -> Result<bool, Self::Error> {
        self.device
            .driver()
            .write_ready()
            .map_err(GuardedError::Device)
    }
}
