//! The pause before the next try.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::AnyBudget;

pin_project! {
    /// The pause before the next try. If it is dropped before its end, the token of the retry that is not
    /// made then goes back to the budget.
    #[must_use = "futures do nothing unless polled"]
    pub struct Pause<B: AnyBudget> {
        #[pin]
        sleep: Sleep,
        token: HeldToken<B>,
    }
}

impl<B: AnyBudget> Pause<B> {
    /// `budget` is where a token was taken for the retry, if it was.
    pub(super) fn new(time: Duration, budget: Option<B>) -> Self {
        // First, so that it goes back if there is no timer, where tokio panics.
        let token = HeldToken(budget);
        Self {
            sleep: sleep(time),
            token,
        }
    }
}

impl<B: AnyBudget> Future for Pause<B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        ready!(this.sleep.poll(context));
        this.token.0 = None;
        Poll::Ready(())
    }
}

impl<B: AnyBudget> fmt::Debug for Pause<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pause").finish_non_exhaustive()
    }
}

/// A token that goes back when it is dropped; disarmed by taking what is in it.
struct HeldToken<B: AnyBudget>(Option<B>);

impl<B: AnyBudget> Drop for HeldToken<B> {
    fn drop(&mut self) {
        if let Some(budget) = &self.0 {
            budget.as_budget().give_back();
        }
    }
}
