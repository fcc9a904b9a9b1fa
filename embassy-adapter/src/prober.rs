//! Finding out whether the device is back before a real call is risked.

use core::future::Future;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Clock, State, Tally};
use embassy_futures::select::select;
use embassy_time::{Duration, Timer};

use crate::changes::{Changes, Listener};

/// A task that pings the device while the breaker is open, and lets it recover as soon as it answers.
///
/// Real calls are refused until the open time is over, whatever the pings say; so give the breaker a
/// long one, and leave the finding out to pings, which cost nothing when they fail: they neither
/// count nor make the open time grow.
///
/// With a [`StateWatch`](crate::StateWatch) as observer it sleeps while the breaker is closed;
/// without one it looks at the state (one load) as often as it would ping.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Prober};
/// use core::time::Duration;
///
/// static RADIO: Breaker =
///     Breaker::new(Config::new().open_for(Duration::from_secs(600)), EmbassyClock);
///
/// # async fn ping() -> Result<(), ()> { Ok(()) }
/// // In a task of its own.
/// async fn keep_probing() -> ! {
///     Prober::every(embassy_time::Duration::from_secs(5)).run(&RADIO, ping).await
/// }
/// # let _ = keep_probing();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Prober {
    pause: Duration,
    answers: u32,
}

impl Prober {
    /// Pings so often, and is convinced by one answer.
    pub const fn every(pause: Duration) -> Self {
        Self { pause, answers: 1 }
    }

    /// Is convinced by so many answers in a row. 0 is taken for 1.
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = answers;
        self
    }

    /// Watches over the breaker, for ever. Once convinced, ends the open time and reports as many
    /// successful probes as the breaker wants in order to close.
    pub async fn run<R, E, F, C: Clock, W: Word, T: Tally, O: Changes>(
        self,
        breaker: &Breaker<C, W, T, O>,
        mut ping: impl FnMut() -> F,
    ) -> !
    where
        F: Future<Output = Result<R, E>>,
    {
        loop {
            self.until_open(breaker).await;
            let mut answered = 0;
            while breaker.state() == State::Open {
                Timer::after(self.pause).await;
                if ping().await.is_err() {
                    answered = 0;
                    continue;
                }
                answered += 1;
                if answered >= self.answers {
                    recover(breaker);
                }
            }
        }
    }

    async fn until_open<C: Clock, W: Word, T: Tally, O: Changes>(
        self,
        breaker: &Breaker<C, W, T, O>,
    ) {
        loop {
            let mut changes = breaker.observer().listen();
            if breaker.state() == State::Open {
                return;
            }
            if changes.hears() {
                changes.change().await;
            } else {
                select(Timer::after(self.pause), changes.change()).await;
            }
        }
    }
}

/// One success for the breaker, as that of a probe. Does nothing if it is not open any more.
fn recover<C: Clock, W: Word, T: Tally, O: Changes>(breaker: &Breaker<C, W, T, O>) {
    breaker.probe_now();
    while breaker.state() == State::HalfOpen {
        match breaker.acquire() {
            Ok(probe) => probe.success(),
            // Real calls are probing already.
            Err(_) => return,
        }
    }
}
