// SPDX-License-Identifier: MIT OR Apache-2.0
//! CAN.

use core::time::Duration;

use atomic_breaker::device::{BeforeProbe, NoRepair, Repair};
use atomic_breaker::{AnyBreaker, Clock as _, Failure, Outcome};
use embedded_can::{Error, ErrorKind, blocking, nb as polled};

use super::{ClassifyKind, Guarded, GuardedError, KindOf, report};

/// A CAN controller behind a breaker. It is itself a [`blocking::Can`] or [`nb::Can`](embedded_can::nb::Can), like the
/// controller.
///
/// # What shows that the bus works
///
/// - **A frame that is received.**
/// - **Not a frame that is accepted for sending**: it waits in a mailbox, also when nobody is there to acknowledge it. If
///   your driver returns only after the acknowledgement, use [`trusting_sent_frames`](Guarded::trusting_sent_frames), and
///   so does a node that never receives anything, or the breaker never closes once it has opened.
/// - **A frame that cannot be sent for a second is a failure**, or for the guard's [time limit](Guarded::time_limit): nobody
///   acknowledges those before it. Drivers such as `bxcan` report no other error of the bus.
/// - A receive that would block shows nothing, nor does one that waits; neither holds the place of a probe. Each try of a non-blocking operation is a call of its own, so while the breaker is
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

/// The time since which no frame could be sent, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Blocked(Option<u32>);

/// The time for which no frame can be sent before that is a failure, unless the guard has a time limit.
const LONGEST_BLOCKED: Duration = Duration::from_secs(1);

impl ClassifyKind for ErrorKind {
    type Evidence = Blocked;

    const FRESH: Blocked = Blocked(None);

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
    pub const fn trusting_sent_frames(self) -> Self {
        self.trusting_writes()
    }

    /// The outcome of a try to send that would block.
    fn blocks(&mut self) -> Outcome {
        let limit = self.device.limit();
        let limit_ms = limit.duration().unwrap_or(LONGEST_BLOCKED).as_millis();
        let now_ms = self.device.breaker().as_breaker().clock().now_ms();
        let Blocked(since_ms) = self.evidence;
        let blocked_ms = since_ms.map_or(0, |since_ms| now_ms.wrapping_sub(since_ms));
        if u128::from(blocked_ms) < limit_ms {
            return Outcome::Ignored;
        }
        self.evidence = Blocked(Some(now_ms));
        limit.failure().into()
    }

    /// Notes how a try to send has ended.
    fn note<V, E>(&mut self, result: &Result<Option<V>, GuardedError<E>>) {
        if let Ok(None) = result {
            let now_ms = self.device.breaker().as_breaker().clock().now_ms();
            self.evidence.0.get_or_insert(now_ms);
        } else {
            self.evidence = Blocked(None);
        }
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
        let unproved = self.unproved;
        let transmit = |device: &mut D| device.transmit(frame);
        self.call(Error::kind, |()| unproved, transmit)
    }

    fn receive(&mut self) -> Result<D::Frame, Self::Error> {
        // Asks for admission, and repairs; waiting for a frame holds no place that a frame to be sent needs.
        self.call(Error::kind, |()| Outcome::Ignored, |_| Ok(()))?;
        let result = self.device.driver().receive();
        let outcome = match &result {
            Ok(_) => Outcome::Success,
            Err(error) => (self.classify)(error.kind()),
        };
        report(self.device.breaker(), outcome);
        result.map_err(GuardedError::Device)
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
        let (sent, blocks) = (self.unproved, self.blocks());
        let outcome = |replaced: &Option<_>| replaced.as_ref().map_or(blocks, |_| sent);
        let transmit = |device: &mut D| polled(device.transmit(frame));
        let result = self.call(Error::kind, outcome, transmit);
        self.note(&result);
        result?.ok_or(nb::Error::WouldBlock)
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
