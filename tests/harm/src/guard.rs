// SPDX-License-Identifier: MIT OR Apache-2.0
//! The place of a breaker between the retries and the resource.

use std::time::Duration;

use crate::clock::{SECOND, Time};
use crate::reply::Reply;

/// The limit of a try, as in the preset.
pub const TRY_LIMIT: Time = 3 * SECOND;

/// A breaker, called as its users call it.
pub trait Guard {
    /// A try that was admitted.
    type Permit;

    /// Asks for a try.
    ///
    /// # Errors
    /// It is rejected; the time after which to ask again, if it is known.
    fn admit(&mut self) -> Result<Self::Permit, Option<Duration>>;

    /// The longest that a try may take: that of the preset, unless a probe has one of its own.
    fn limit(&self, permit: &Self::Permit) -> Time {
        let _ = permit;
        TRY_LIMIT
    }

    /// The try has ended.
    fn end(&mut self, permit: Self::Permit, reply: Reply);

    /// The caller has left while the try was under way. Returns the permit if the try continues without it.
    fn leave(&mut self, permit: Self::Permit) -> Option<Self::Permit>;
}

/// No breaker.
#[derive(Clone, Copy, Debug)]
pub struct NoBreaker;

impl Guard for NoBreaker {
    type Permit = ();

    fn admit(&mut self) -> Result<(), Option<Duration>> {
        Ok(())
    }

    fn end(&mut self, (): (), _: Reply) {}

    fn leave(&mut self, (): ()) -> Option<()> {
        None
    }
}
