// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress of one request, and the next step after each try.

use std::mem;
use std::time::Duration;

use atomic_breaker::Outcome;
use atomic_breaker_server::{EnforcementDraw, RetryEvent};
use tokio::time::Instant;
use tower_service::Service;

use super::observed::{FailedTry, ObserveRetries};
use super::{BudgetOf, RetryBudget, RetryConfig, RetryLayer, RetryPolicy};
use crate::ServiceError;
use crate::asked::ask;

/// The next step after a try.
pub(super) enum Next<R> {
    Return(R),
    Pause(Duration),
}

/// The progress of one request.
pub(super) struct Course<Q, B: BudgetOf<Q>, P, R, O: ObserveRetries<Q>> {
    /// The request to send again; `None` if it will not be.
    request: Option<Q>,
    layer: RetryLayer<B, P, O>,
    /// The place of its budget.
    place: usize,
    /// Kept for the observer of the layer.
    observed: O::Memory,
    began: Instant,
    /// No pause ends later than this after `began`.
    within: Duration,
    may_repeat: bool,
    /// Tries that were made and failed.
    failed: u32,
    /// The number of times that it waited for a breaker that rejected it.
    waited: u32,
    /// The server asked for the last pause: if the same hint opened the breaker, wait for that, too.
    follows_hint: bool,
    /// A token was taken for the last retry. It is given back if the retry is not made.
    holds_token: bool,
    stage: Stage,
    /// Decides for all tries whether a rejection is enforced.
    draw: EnforcementDraw,
    /// The result of the last try, until it is known whether another one is made.
    last: Option<R>,
}

/// The state of the try in hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not called yet.
    Pausing,
    /// Called, and perhaps made: the breaker is asked later, or has rejected it.
    Called,
    /// The breaker has admitted it.
    Made,
}

impl<Q, B, P, T, E, O> Course<Q, B, P, Result<T, ServiceError<E>>, O>
where
    Q: Clone,
    B: BudgetOf<Q>,
    P: RetryPolicy<Q, T, E>,
    O: ObserveRetries<Q>,
{
    pub(super) fn begin(layer: RetryLayer<B, P, O>, request: &Q) -> Self {
        let config = layer.config;
        let may_repeat = config.tries > 1 && layer.policy.may_repeat(request);
        let is_kept = may_repeat || config.rejection_waits > 0;
        let own = layer.policy.deadline(request);
        Self {
            request: is_kept.then(|| request.clone()),
            place: layer.budget.place_of(request),
            observed: layer.observer.begin(request),
            began: Instant::now(),
            within: own.map_or(config.within, |own| own.min(config.within)),
            may_repeat,
            failed: 0,
            waited: 0,
            follows_hint: false,
            holds_token: false,
            stage: Stage::Pausing,
            draw: EnforcementDraw::default(),
            last: None,
            layer,
        }
    }

    /// The request to send again, or for the first time after it was rejected.
    pub(super) fn request(&self) -> Q {
        let request = self.request.clone();
        let mut request = request.expect("kept where there may be a pause");
        if self.failed > 0 {
            self.layer.policy.before_retry(&mut request, self.failed);
        }
        request
    }

    /// Calls the service below, and asks whether its breaker has admitted the try.
    pub(super) fn call<S: Service<Q>>(&mut self, service: &mut S, request: Q) -> S::Future {
        let (call, is_admitted) = ask::<S, _>(|| self.draw.hold(|| service.call(request)));
        self.stage = Stage::Called;
        if is_admitted {
            self.is_made();
        }
        call
    }

    /// Polls the try. A breaker that is not asked yet may be asked in it.
    pub(super) fn poll<V>(&mut self, poll: impl FnOnce() -> V) -> V {
        if self.stage == Stage::Made {
            poll()
        } else {
            self.draw.hold(poll)
        }
    }

    /// The breaker has admitted the try.
    fn is_made(&mut self) {
        self.stage = Stage::Made;
        if mem::take(&mut self.holds_token) {
            self.tell(RetryEvent::Sent);
        }
        self.last = None;
    }

    /// The pause, if it ends in time.
    fn in_time(&self, pause: Duration) -> Option<Duration> {
        let left = self.within.checked_sub(self.began.elapsed())?;
        (pause < left).then_some(pause)
    }

    /// The time to wait for a breaker that rejects for `retry_in`, if at all.
    fn wait(&mut self, retry_in: Option<Duration>) -> Option<Duration> {
        let RetryConfig {
            backoff,
            rejection_waits,
            ..
        } = self.layer.config;
        let is_hinted = mem::take(&mut self.follows_hint);
        if !is_hinted && self.waited >= rejection_waits {
            return None;
        }
        let pause = self.in_time(retry_in?.saturating_add(backoff.draw(1)))?;
        self.waited += u32::from(!is_hinted);
        self.layer.observer.waits(&mut self.observed, pause);
        Some(pause)
    }

    /// A try failed; `hint` is the time that the server asks for: how long to pause before the next one, if there is
    /// one.
    fn failed(&mut self, outcome: Outcome, hint: Option<Duration>) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        if self.layer.config.tries <= 1 {
            return None;
        }
        let next = self.pause_after_failure(hint);
        let failed = FailedTry {
            number: self.failed,
            outcome,
            hint,
            pause: next.unwrap_or_default(),
        };
        self.layer.observer.failed(&mut self.observed, failed);
        match next {
            Ok(pause) => Some(pause),
            Err(why) => {
                self.tell(why);
                None
            }
        }
    }

    /// The pause before the next try, or why there is none.
    fn pause_after_failure(&mut self, hint: Option<Duration>) -> Result<Duration, RetryEvent> {
        let RetryConfig { tries, backoff, .. } = self.layer.config;
        if !self.may_repeat {
            return Err(RetryEvent::NotRepeatable);
        }
        if self.failed >= tries {
            return Err(RetryEvent::NoTryLeft);
        }
        let pause = backoff.draw(self.failed);
        let pause = self.in_time(pause.saturating_add(hint.unwrap_or_default()));
        let pause = pause.ok_or(RetryEvent::NoTime)?;
        // The token last, so that none is wasted.
        self.holds_token = self.budget().withdraw_uncounted();
        self.follows_hint = hint.is_some();
        let paid = self.holds_token.then_some(pause);
        paid.ok_or(RetryEvent::NoToken)
    }

    pub(super) fn after(
        &mut self,
        result: Result<T, ServiceError<E>>,
    ) -> Next<Result<T, ServiceError<E>>> {
        let result = match result {
            Ok(response) => Ok(response),
            Err(ServiceError::Failed(error)) => Err(error),
            Err(ServiceError::Rejected(rejection)) => {
                self.stage = Stage::Pausing;
                return match self.wait(rejection.retry_in()) {
                    Some(pause) => Next::Pause(pause),
                    None => Next::Return(self.rejected(Err(ServiceError::Rejected(rejection)))),
                };
            }
        };
        self.is_made();
        self.stage = Stage::Pausing;
        let policy = &self.layer.policy;
        let outcome = policy.classify(&result);
        let pause = match outcome {
            Outcome::Failure(_) => self.failed(outcome, policy.retry_after(&result)),
            // It says nothing about the server, but the caller may try again then.
            Outcome::Ignored => match policy.retry_after(&result) {
                Some(hint) => self.failed(outcome, Some(hint)),
                None => None,
            },
            Outcome::Success => {
                self.budget().deposit();
                if self.failed > 0 {
                    self.recovered();
                }
                None
            }
        };
        let result = result.map_err(ServiceError::Failed);
        match pause {
            Some(pause) => {
                self.last = Some(result);
                Next::Pause(pause)
            }
            None => Next::Return(result),
        }
    }
}

impl<Q, B: BudgetOf<Q>, P, R, O: ObserveRetries<Q>> Course<Q, B, P, R, O> {
    /// A retry has succeeded.
    fn recovered(&mut self) {
        let failed = FailedTry {
            number: self.failed.saturating_add(1),
            outcome: Outcome::Success,
            hint: None,
            pause: Duration::ZERO,
        };
        self.layer.observer.failed(&mut self.observed, failed);
        self.tell(RetryEvent::Recovered);
    }

    /// Counts what followed the last try that failed, and notifies the observer.
    fn tell(&self, event: RetryEvent) {
        let observer = &self.layer.observer;
        observer.event(&self.observed, event, self.budget());
    }

    /// The breaker rejects for good. Returns the result of the previous try, or the rejection if there was none.
    fn rejected(&mut self, rejection: R) -> R {
        self.give_back(RetryEvent::Rejected);
        self.last.take().unwrap_or(rejection)
    }

    fn budget(&self) -> &RetryBudget {
        self.layer.budget.at(self.place)
    }

    /// The retry for which a token was taken is not made, for that reason.
    fn give_back(&mut self, why: RetryEvent) {
        if mem::take(&mut self.holds_token) {
            self.budget().give_back();
            self.tell(why);
        }
    }
}

impl<Q, B: BudgetOf<Q>, P, R, O: ObserveRetries<Q>> Drop for Course<Q, B, P, R, O> {
    fn drop(&mut self) {
        if self.stage == Stage::Pausing {
            self.give_back(RetryEvent::Cancelled);
        } else if self.holds_token {
            // Perhaps it was made. If callers that leave paid for none of their retries, nothing would bound these.
            self.tell(RetryEvent::Sent);
        }
    }
}
