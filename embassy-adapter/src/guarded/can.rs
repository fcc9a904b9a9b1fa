// SPDX-License-Identifier: MIT OR Apache-2.0
//! CAN.

use atomic_breaker::device::{BeforeProbe, NoRepair, Repair};
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_can::{Error, ErrorKind, blocking, nb as polled};

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A CAN controller behind a breaker. It is itself a [`blocking::Can`] or [`nb::Can`](embedded_can::nb::Can), like the
/// controller.
///
/// # What shows that the bus works
///
/// - **A frame that is received.**
/// - **Not a frame that is accepted for sending**: it waits in a mailbox, also when nobody is there to acknowledge it. If
///   your driver returns only after the acknowledgement, use [`trusting_sent_frames`](Guarded::trusting_sent_frames), and
///   so does a node that never receives anything, or the breaker never closes once it has opened.
/// - `WouldBlock` shows nothing either. Each try of a non-blocking operation is a call of its own, so while the breaker is
///   half-open a try that would block gives its place to the next one.
///
/// By default every error is a failure of weight 1, except that an overrun of the receive buffer is ignored: it was
/// emptied too slowly. [`with_classifier`](Guarded::with_classifier) changes that. A controller that is off the bus stays
/// so until it is restarted: do that [before a probe](Guarded::before_probe), or
/// [`before_probe_nb`](Guarded::before_probe_nb) if it only has the non-blocking trait.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedCan};
/// use embedded_can::blocking::Can;
///
/// static BUS: Breaker = Breaker::new(Config::new().consecutive_failures(8), EmbassyClock);
///
/// fn guarded<F: embedded_can::Frame>(controller: impl Can<Frame = F>) -> impl Can<Frame = F> {
///     GuardedCan::new(controller, &BUS)
/// }
/// ```
pub type GuardedCan<D, B, R = NoRepair> = Guarded<D, B, ErrorKind, R>;

impl ClassifyKind for ErrorKind {
    fn classify(self) -> Outcome {
        match self {
            Self::Overrun => Outcome::Ignored,
            _ => Failure::new().into(),
        }
    }
}

impl<D: blocking::Can> KindOf<D> for ErrorKind {
    type Error = D::Error;
}

impl<E: Error> Error for GuardedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected(_) | Self::TimedOut => ErrorKind::Other,
            Self::Device(error) => error.kind(),
        }
    }
}

impl<D, B: AnyBreaker, R> GuardedCan<D, B, R> {
    /// Treats a frame that was sent as a sign that the bus works.
    #[must_use]
    pub const fn trusting_sent_frames(mut self) -> Self {
        self.written = Outcome::Success;
        self
    }
}

impl<D: polled::Can, B: AnyBreaker> GuardedCan<D, B> {
    /// [`before_probe`](Guarded::before_probe) for a controller that is only an [`nb::Can`](embedded_can::nb::Can), as those
    /// of many chips are. A try that would block is followed by others of the same probe, which are not repaired again.
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedCan};
    /// use embedded_can::nb::Can;
    /// # use embedded_can::{ErrorKind, Frame};
    /// # struct Controller<F>(F);
    /// # impl<F> Controller<F> {
    /// #     fn restart(&mut self) {}
    /// # }
    /// # impl<F: Frame> Can for Controller<F> {
    /// #     type Frame = F;
    /// #     type Error = ErrorKind;
    /// #     fn transmit(&mut self, _: &F) -> nb::Result<Option<F>, ErrorKind> { Ok(None) }
    /// #     fn receive(&mut self) -> nb::Result<F, ErrorKind> { Err(nb::Error::WouldBlock) }
    /// # }
    ///
    /// static BUS: Breaker = Breaker::new(Config::new().consecutive_failures(8), EmbassyClock);
    ///
    /// fn guarded<F: Frame>(controller: Controller<F>) -> impl Can<Frame = F> {
    ///     GuardedCan::new(controller, &BUS).before_probe_nb(|controller, _| {
    ///         controller.restart();
    ///         Ok(())
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn before_probe_nb<F>(self, repair: F) -> GuardedCan<D, B, BeforeProbe<F>>
    where
        F: FnMut(&mut D, u8) -> Result<(), D::Error>,
    {
        self.with(|device| device.before_probe(repair))
    }
}

impl<D: blocking::Can, B: AnyBreaker, R: Repair<D, D::Error>> blocking::Can
    for GuardedCan<D, B, R>
{
    type Frame = D::Frame;
    type Error = GuardedError<D::Error>;

    fn transmit(&mut self, frame: &D::Frame) -> Result<(), Self::Error> {
        let written = self.written;
        let transmit = |device: &mut D| device.transmit(frame);
        self.call(Error::kind, |()| written, transmit)
    }

    fn receive(&mut self) -> Result<D::Frame, Self::Error> {
        self.call(Error::kind, |_| Outcome::Success, D::receive)
    }
}

/// `None` if it would block.
fn polled<V, E>(result: nb::Result<V, E>) -> Result<Option<V>, E> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(nb::Error::WouldBlock) => Ok(None),
        Err(nb::Error::Other(error)) => Err(error),
    }
}

impl<D: polled::Can, B: AnyBreaker, R: Repair<D, D::Error>> polled::Can for GuardedCan<D, B, R> {
    type Frame = D::Frame;
    type Error = GuardedError<D::Error>;

    fn transmit(&mut self, frame: &D::Frame) -> nb::Result<Option<D::Frame>, Self::Error> {
        let written = self.written;
        let sent = |replaced: &Option<_>| replaced.as_ref().map_or(Outcome::Ignored, |_| written);
        let transmit = |device: &mut D| polled(device.transmit(frame));
        self.call(Error::kind, sent, transmit)?
            .ok_or(nb::Error::WouldBlock)
    }

    fn receive(&mut self) -> nb::Result<D::Frame, Self::Error> {
        let came = |frame: &Option<_>| match frame {
            Some(_) => Outcome::Success,
            None => Outcome::Ignored,
        };
        self.call(Error::kind, came, |device| polled(device.receive()))?
            .ok_or(nb::Error::WouldBlock)
    }
}
