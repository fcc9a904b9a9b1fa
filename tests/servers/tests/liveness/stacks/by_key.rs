// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker per key below the layers of tower: retries, breaker, time limit. A response is reported at the end of its
//! body, which hangs, is cut off, or is dropped in the middle, as heads are.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, BudgetConfig, Clock, Config, Failure, HttpClassifier, Outcome, Registry, ServiceError,
};
use atomic_breaker_server::ByKey;
use atomic_breaker_tower::{
    BreakerLayer, BudgetByKey, RetryBudgets, RetryConfig, RetryLayer, TimeLimitLayer,
};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::sleep;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Ending, Look, Nervous, Stack, Trips, throw};

const PLACES: usize = 2;
/// Requests are tried for this long.
const DEADLINE: Duration = Duration::from_secs(10);

type Keys = &'static Registry<u64, Time, (), Nervous>;

struct Layers {
    host: Host,
    keys: Keys,
    budgets: &'static RetryBudgets,
    config: Config,
    retries: RetryConfig,
}

/// Five bytes, which arrive when the host has responded.
struct Hello {
    last: Pin<Box<dyn Future<Output = Result<u32, Trouble>> + Send>>,
    is_over: bool,
    is_known: bool,
}

impl Body for Hello {
    type Data = &'static [u8];
    type Error = Trouble;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Trouble>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.last.as_mut().poll(context).map(|answer| {
            self.is_over = true;
            Some(answer.map(|_| Frame::data(&b"hello"[..])))
        })
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_known {
            SizeHint::with_exact(5)
        } else {
            SizeHint::new()
        }
    }
}

/// The host responds before the head, or before the end of the body.
fn service(
    host: &Host,
    caller: Caller,
) -> impl Service<Request<u64>, Response = Response<Hello>, Error = Trouble, Future: Send> + Clone + use<>
{
    let host = host.clone();
    service_fn(move |_: Request<u64>| {
        let host = host.clone();
        async move {
            if caller.ending.panics() {
                throw();
            }
            let (in_head, is_known) = (
                Time.random().is_multiple_of(2),
                Time.random().is_multiple_of(2),
            );
            let head = if in_head {
                host.answer_without_limit().await
            } else {
                Ok(7)
            };
            let last = Box::pin(async move { if in_head { Ok(7) } else { host.answer().await } });
            let status = match head {
                Ok(_) => Response::builder(),
                Err(Trouble {
                    retry_after: Some(time),
                }) => Response::builder()
                    .status(503)
                    .header("retry-after", time.as_secs()),
                Err(trouble) => return Err(trouble),
            };
            let body = Hello {
                last,
                is_over: false,
                is_known,
            };
            Ok(status.body(body).unwrap())
        }
    })
}

impl Layers {
    async fn ask(&self, caller: Caller) -> Answer {
        let http = HttpClassifier::new().at_end_of_body().probes_at_end();
        let http = http.body_errors(|error: &Trouble| -> Outcome {
            let failure = error
                .retry_after
                .map_or(Failure::new(), Failure::retry_after);
            failure.into()
        });
        let budgets =
            BudgetByKey::new(self.budgets, |request: &Request<u64>| Some(*request.body()));
        let stack = ServiceBuilder::new()
            .layer(RetryLayer::new(
                self.retries,
                budgets,
                HttpClassifier::new(),
            ))
            .layer(
                BreakerLayer::new(ByKey::new(self.keys, |request: &Request<u64>| {
                    *request.body()
                }))
                .report(http),
            )
            .layer(TimeLimitLayer::new(LIMIT))
            .service(service(&self.host, caller));
        let request = Request::get("/").body(caller.place as u64).unwrap();
        let response = match stack.oneshot(request).await {
            Ok(response) => response,
            Err(ServiceError::Rejected(_)) => return Answer::Rejected,
            Err(ServiceError::Failed(_)) => return Answer::Failed,
        };
        if !response.status().is_success() {
            return Answer::Failed;
        }
        match caller.ending {
            // The reader keeps the body and hangs for good.
            Ending::Forgotten => {
                std::mem::forget(response);
                return Answer::Other;
            }
            // The body is dropped unread, so the head decided the outcome.
            Ending::Dropped(time) => {
                sleep(time).await;
                return Answer::Served;
            }
            _ => {}
        }
        match response.into_body().collect().await {
            Ok(_) => Answer::Served,
            Err(_) => Answer::Failed,
        }
    }
}

impl Stack for Layers {
    const PLACES: usize = PLACES;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let keys = Registry::builder(config)
            .capacity(8)
            .clock(Time)
            .observer(Nervous::draw(dice));
        let budgets = RetryBudgets::new(BudgetConfig::new(), 8).unwrap();
        Self {
            host: host.clone(),
            keys: keys.build().unwrap().leak(),
            budgets: Box::leak(Box::new(budgets)),
            config,
            retries: RetryConfig::new()
                .tries(dice.within(1..4))
                .within(DEADLINE)
                .backoff(Backoff::new().longest(Duration::from_secs(1)))
                .rejection_waits(dice.within(0..3)),
        }
    }

    /// A request that began earlier may still be tried, and its body read.
    fn bound(&self, calm: &Calm) -> Duration {
        bound_of(&[self.config], calm) + DEADLINE + 2 * LIMIT
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        self.ask(caller).await
    }

    fn look(&self, place: usize) -> Look {
        let entry = self.keys.entry(&(place as u64));
        entry.map_or(Look::NONE, |entry| Look::of(&entry.snapshot))
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let key = dice.below(PLACES as u64);
        // The observer may panic.
        let command = || self.keys.command(&key, |breaker| command(breaker, dice));
        let command = std::panic::AssertUnwindSafe(command);
        let _ = std::panic::catch_unwind(command).map(drop);
        true
    }

    fn settle(&self) {
        for key in 0..PLACES as u64 {
            let _ = self
                .keys
                .command_if_present(&key, |breaker| let_go(breaker));
        }
    }

    fn describe(&self) -> String {
        let keys: Vec<_> = self.keys.entries().collect();
        format!("{keys:?} by {:?}", self.config)
    }
}

#[test]
fn keys_below_retries_whose_bodies_are_reported_at_their_end() {
    let test = "stacks::by_key::keys_below_retries_whose_bodies_are_reported_at_their_end";
    explore::<Layers>(test, 30);
}
