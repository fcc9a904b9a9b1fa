// SPDX-License-Identifier: MIT OR Apache-2.0
//! The users of a breaker, and the manners of their callers.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{BreakerMiddleware, Clock};
use atomic_breaker_server::Prober;
use atomic_breaker_tower::{BreakerLayer, TimeLimitLayer, TryLayer};
use reqwest_middleware::ClientWithMiddleware;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::timeout;
use tower::{Layer, ServiceExt};

use super::through::{Responder, URL, answer_of, host_client, with};
use super::work::{Work, slow};
use super::{Guarded, Shared};
use crate::dice::{Dice, Time};
use crate::host::{Host, LIMIT, LONGEST_ANSWER};
use crate::stack::{Answer, Caller, Leave, call_through};
use crate::stacks::layers::{seen, service, timed};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// `Breaker::call_async`, with the limit inside.
    Bare,
    Layer,
    /// A `TryLayer`, whose tries go on when their callers leave.
    Tries,
    Middleware,
    /// A worker whose jobs are steps of the resource.
    Jobs,
    /// A worker that finds no job. Its store may be slow, or hang, also while the resource is healthy.
    Idle,
    Prober,
    /// An instance of a fleet that makes no calls once the resource is healthy.
    Silent,
}

impl Kind {
    pub(super) fn two(in_fleet: bool, dice: &mut Dice) -> [Self; 2] {
        let beside = [
            Self::Bare,
            Self::Layer,
            Self::Tries,
            Self::Middleware,
            Self::Idle,
            Self::Jobs,
        ];
        let first = match dice.below(9) {
            it @ 0..6 => beside[it as usize],
            6 => Self::Prober,
            _ if in_fleet => Self::Silent,
            _ => Self::Idle,
        };
        // Its calls are to be served.
        [first, dice.pick(&beside[..4])]
    }
}

/// The acts of a user's callers, also while the resource is healthy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// This percentage hangs up after this time.
    leaves: u64,
    patience: Duration,
    /// The time limit that each request carries.
    own_limit: Option<Duration>,
    /// Each request is answered with 429.
    is_over_quota: bool,
}

impl Manners {
    pub(super) const GOOD: Self = Self {
        leaves: 0,
        patience: Duration::ZERO,
        own_limit: None,
        is_over_quota: false,
    };

    /// Of the callers of a guard.
    pub(super) fn of_requests(host: &Host, dice: &mut Dice) -> Self {
        if dice.percent(30) {
            return Self {
                is_over_quota: true,
                ..Self::GOOD
            };
        }
        Self::any(host, dice)
    }

    /// Most of those who do not wait leave shortly before a healthy resource has responded.
    pub(super) fn any(host: &Host, dice: &mut Dice) -> Self {
        let answer = host.answers_after().as_millis() as u32;
        let limit = if answer > 30 && dice.percent(70) {
            dice.ms(answer * 2 / 3..answer)
        } else {
            dice.ms(20..LONGEST_ANSWER.as_millis() as u32)
        };
        match dice.below(5) {
            0 => Self::GOOD,
            1 | 2 => Self {
                leaves: dice.pick(&[50, 100, 100]),
                patience: limit,
                ..Self::GOOD
            },
            _ => Self {
                own_limit: Some(limit),
                ..Self::GOOD
            },
        }
    }

    pub(super) fn leave(&self, dice: &mut Dice) -> Leave {
        if dice.percent(self.leaves) {
            Leave::After(self.patience)
        } else {
            Leave::Never
        }
    }

    /// A call whose caller may hang up.
    pub(super) async fn or_leave(&self, call: impl Future<Output = Answer>) -> Answer {
        if u64::from(Time.random() % 100) >= self.leaves {
            return call.await;
        }
        timeout(self.patience, call).await.unwrap_or(Answer::Other)
    }

    pub(super) const fn is_over_quota(&self) -> bool {
        self.is_over_quota
    }

    pub(super) const fn own_limit(&self) -> Option<Duration> {
        self.own_limit
    }
}

pub(super) struct User {
    kind: Kind,
    pub(super) manners: Manners,
    pub(super) resource: Arc<Guarded>,
    host: Host,
    client: Option<ClientWithMiddleware>,
    work: Option<Work>,
    prober: Option<JoinHandle<()>>,
}

impl User {
    pub(super) fn new(
        kind: Kind,
        manners: Manners,
        host: &Host,
        resource: Arc<Guarded>,
        dice: &mut Dice,
    ) -> Self {
        let client = (kind == Kind::Middleware).then(|| {
            let client = host_client(Responder::Host(host.clone()));
            let middleware = BreakerMiddleware::new(Arc::clone(&resource), client);
            with(middleware.time_limit(LIMIT))
        });
        let work = match kind {
            Kind::Idle => Some(Work::new(&resource, host, Some(slow(dice)), dice)),
            Kind::Jobs => Some(Work::new(&resource, host, None, dice)),
            _ => None,
        };
        let prober = (kind == Kind::Prober).then(|| probe(resource.breaker(), host, dice));
        Self {
            kind,
            manners,
            resource,
            host: host.clone(),
            client,
            work,
            prober,
        }
    }

    pub(super) fn calls_when_well(&self) -> bool {
        !matches!(self.kind, Kind::Idle | Kind::Prober | Kind::Silent)
    }

    /// Callers that have left, or have a limit below the answer of a healthy resource, are not served; and jobs are done
    /// by workers.
    pub(super) fn is_served(&self) -> bool {
        let is_good = self.manners.leaves == 0 && self.manners.own_limit.is_none();
        is_good
            && matches!(
                self.kind,
                Kind::Bare | Kind::Layer | Kind::Tries | Kind::Middleware
            )
    }

    /// Returns whether callers see all its failures and successes.
    pub(super) fn is_seen(&self) -> bool {
        !matches!(self.kind, Kind::Jobs | Kind::Prober) && self.manners.own_limit.is_none()
    }

    pub(super) async fn call(&self, caller: Caller) -> Answer {
        match self.kind {
            // Many of its calls hang for good.
            Kind::Silent if Time.random().is_multiple_of(2) => {
                std::mem::forget(self.resource.breaker().acquire());
                Answer::Other
            }
            Kind::Bare | Kind::Silent => self.call_bare(caller).await,
            Kind::Layer => {
                let service = TimeLimitLayer::new(LIMIT).layer(service(&self.host, caller));
                let layer = BreakerLayer::new(Arc::clone(&self.resource)).classify(timed);
                seen(&layer.layer(service).oneshot(()).await)
            }
            Kind::Tries => {
                let layer = TryLayer::new(Arc::clone(&self.resource), LIMIT).classify(timed);
                let service = layer.layer(service(&self.host, caller));
                seen(&service.oneshot(()).await)
            }
            Kind::Middleware => {
                let client = self.client.as_ref().expect("one of a middleware");
                let mut request = client.get(URL).with_extension(caller);
                if let Some(limit) = self.manners.own_limit {
                    request = request.timeout(limit);
                }
                answer_of(&request.send().await)
            }
            Kind::Jobs => self.work.as_ref().expect("one of jobs").run().await,
            Kind::Idle | Kind::Prober => Answer::Other,
        }
    }

    /// With a limit of its own, as some write it: around the call.
    async fn call_bare(&self, caller: Caller) -> Answer {
        let call = call_through(self.resource.breaker(), &self.host, caller);
        match self.manners.own_limit {
            Some(limit) => timeout(limit, call).await.unwrap_or(Answer::Other),
            None => call.await,
        }
    }

    pub(super) fn disturb(&self, dice: &mut Dice) {
        if let Some(work) = &self.work {
            work.disturb(dice);
        }
    }

    pub(super) fn settle(&self) {
        if let Some(work) = &self.work {
            work.settle();
        }
    }

    pub(super) fn describe(&self) -> String {
        let fault = self.work.as_ref().and_then(Work::fault);
        format!("{:?} {:?} {fault:?}", self.kind, self.manners)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(prober) = &self.prober {
            prober.abort();
        }
    }
}

/// Pings, also after an observer has panicked.
fn probe(breaker: &Shared, host: &Host, dice: &mut Dice) -> JoinHandle<()> {
    let prober = Prober::every(Duration::from_secs(1))
        .time_limit(LIMIT)
        .answers(dice.within(1..4));
    let (breaker, host) = (Arc::clone(breaker), host.clone());
    spawn_local(async move {
        loop {
            let pings = breaker.run_prober(prober, || host.answer_without_limit());
            let pings = std::panic::AssertUnwindSafe(pings);
            let _ = futures_util::FutureExt::catch_unwind(pings)
                .await
                .map(|_| ());
        }
    })
}
