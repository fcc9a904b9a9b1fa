//! The state of one request.

use std::time::Duration;

use tokio::time::Instant;

use super::RetryConfig;

/// How far one request has come. tower clones the policy for each request, and this with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    began: Option<Instant>,
    is_going_on: bool,
    /// Tries that were made and failed.
    pub(super) failed: u32,
    /// How often it waited for a breaker that rejected.
    waited: u32,
    /// A token was taken for the last retry. It goes back if that is not made.
    pub(super) holds_token: bool,
}

impl Session {
    pub(super) const fn new() -> Self {
        Self {
            began: None,
            is_going_on: false,
            failed: 0,
            waited: 0,
            holds_token: false,
        }
    }

    /// The request is about to be made, for the first time or again. The policy that tower clones for its
    /// requests is asked first and goes on, so its session begins with each request.
    pub(super) fn begin(&mut self) {
        if !self.is_going_on {
            self.began = Some(Instant::now());
        }
    }

    /// The breaker rejected, for `retry_in`: how long to wait for it, if at all.
    pub(super) fn rejected(
        &mut self,
        config: &RetryConfig,
        retry_in: Option<Duration>,
    ) -> Option<Duration> {
        if self.waited >= config.rejection_waits {
            return None;
        }
        let pause = retry_in?.saturating_add(config.backoff.draw(1));
        let pause = self.in_time(config, pause)?;
        self.waited += 1;
        self.is_going_on = true;
        Some(pause)
    }

    /// A try failed, and the server asks for a time: how long to pause before the next one, if there is one.
    pub(super) fn failed(
        &mut self,
        config: &RetryConfig,
        hint: Option<Duration>,
    ) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        self.is_going_on = true;
        if self.failed >= config.tries {
            return None;
        }
        let pause = config.backoff.draw(self.failed);
        self.in_time(config, pause.saturating_add(hint.unwrap_or_default()))
    }

    /// The pause, if it ends before the deadline.
    fn in_time(&mut self, config: &RetryConfig, pause: Duration) -> Option<Duration> {
        let began = self.began.get_or_insert_with(Instant::now);
        let left = config.within.checked_sub(began.elapsed())?;
        (pause < left).then_some(pause)
    }
}
