// SPDX-License-Identifier: MIT OR Apache-2.0
//! The resource that is called.

use crate::clock::{MS, Time, scramble};
use crate::reply::Reply;

/// The fate of a try, decided when it begins.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// The reply comes after this time; [`Time::MAX`] if it never comes.
    pub after: Time,
    /// The reply.
    pub reply: Reply,
}

impl Fate {
    /// This reply, after that time.
    pub fn of(reply: Reply, after: Time) -> Self {
        Self { after, reply }
    }

    /// Refused at once.
    pub fn refused() -> Self {
        Self::of(Reply::Refused, MS)
    }

    /// No reply, ever.
    pub fn hung() -> Self {
        Self::of(Reply::TimedOut, Time::MAX)
    }
}

/// A try that begins.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The time since the trouble began; negative before.
    pub since: i64,
    /// The number of the call.
    pub call: u64,
    /// The number of the try, from 0.
    pub attempt: u32,
    /// The seed of the run.
    pub seed: u64,
    /// It is only looked what would come of it: nothing may change.
    pub is_peek: bool,
}

impl Ask {
    /// A random number, the same for the same try of the same call whatever the breaker.
    pub fn draw(&self, salt: u64) -> u64 {
        let try_of_call = (self.call << 8) | u64::from(self.attempt & 0xff);
        scramble(scramble(self.seed ^ scramble(salt)) ^ try_of_call)
    }

    /// One that is the same for all tries of a call.
    pub fn draw_of_call(&self, salt: u64) -> u64 {
        Self {
            attempt: 0xff,
            ..*self
        }
        .draw(salt)
    }

    /// Returns whether this try is among so many of a hundred.
    pub fn percent(&self, percent: u64, salt: u64) -> bool {
        self.draw(salt) % 1_000_000 < percent * 10_000
    }

    /// Between these times.
    pub fn within(&self, from: Time, until: Time, salt: u64) -> Time {
        from + self.draw(salt) % (until - from)
    }

    /// As a healthy resource answers: within 10 to 30 ms, one in a hundred within 150.
    pub fn healthy(&self) -> Fate {
        let after = if self.percent(1, 1) {
            self.within(30 * MS, 150 * MS, 2)
        } else {
            self.within(10 * MS, 30 * MS, 3)
        };
        Fate::of(Reply::Served, after)
    }
}

/// A resource, and how it is called.
pub struct World {
    /// Decides the fate of a try.
    pub answer: Box<dyn FnMut(&Ask) -> Fate + Send>,
    /// After that time callers leave.
    pub leaves_after: Option<Time>,
    /// Calls that arrive at once in addition, and when, from the beginning of the trouble.
    pub bursts: Vec<(Time, u32)>,
    /// Of ten calls so many may not be sent twice.
    pub unrepeatable: u64,
}

impl World {
    /// One to whose callers nothing is special.
    pub fn new(answer: impl FnMut(&Ask) -> Fate + Send + 'static) -> Self {
        Self {
            answer: Box::new(answer),
            leaves_after: None,
            bursts: Vec::new(),
            unrepeatable: 0,
        }
    }

    /// Callers leave after that time.
    #[must_use]
    pub fn leaving(mut self, after: Time) -> Self {
        self.leaves_after = Some(after);
        self
    }

    /// So many of ten calls are writes, `is_one_of_ten` with salt 0, which are not sent twice.
    #[must_use]
    pub fn writing(mut self, of_ten: u64) -> Self {
        self.unrepeatable = of_ten;
        self
    }

    /// So many calls more arrive at that time.
    #[must_use]
    pub fn burst(mut self, at: Time, calls: u32) -> Self {
        self.bursts.push((at, calls));
        self
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

/// Returns whether a call is among so many of ten, for all of its tries.
pub fn is_of_ten(ask: &Ask, of_ten: u64) -> bool {
    ask.draw_of_call(77) % 10 < of_ten
}
