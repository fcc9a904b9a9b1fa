// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guarded HTTP client: deadline, retries, a breaker per host, a limit for each try. Its verdict is that of the head, or comes
//! at the end of the body.

use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{ClientGuard, Config, Origin, RequestError};
use futures_util::stream;
use http::{Request, Response, Uri};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use tokio::task::spawn_local;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go};
use crate::stack::{Answer, Caller, Calm, Look, Stack, Trips, throw};

struct Client<const PERCENT: u64, const BODIES: bool> {
    host: Host,
    guard: &'static ClientGuard<Time>,
    rules: Config,
    /// Calls of callers who have left count, too.
    successes: Arc<AtomicU16>,
}

const DEADLINE: Duration = Duration::from_secs(8);
/// Until the head, where the rest of the answer comes later: longer than the `cancel_limit` of the rules.
const HEAD: Duration = Duration::from_millis(400);

type Body = UnsyncBoxBody<&'static [u8], Trouble>;

/// A body with one part, or the error that cuts it off.
fn body(part: impl Future<Output = Result<(), Trouble>> + Send + 'static) -> Body {
    let part = async { part.await.map(|()| Frame::data(&b"an answer"[..])) };
    StreamBody::new(stream::once(part)).boxed_unsync()
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

impl<const PERCENT: u64, const BODIES: bool> Stack for Client<PERCENT, BODIES> {
    const LEAVE_PERCENT: u64 = PERCENT;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = servers::five_in_a_row();
        let rules = config
            .breaker_config()
            .max_retry_after(dice.ms(3_000..20_000));
        let rules = rules.probe_lease(LIMIT + dice.ms(0..2_000));
        let config = if BODIES {
            config.at_end_of_body()
        } else {
            config
        };
        let config = config
            .deadline(DEADLINE)
            .try_limit(LIMIT)
            .tries(dice.within(1..4))
            .rejection_waits(dice.within(0..3))
            .outliving(dice.pick(&[1, 32]))
            .breaker(rules);
        Self {
            host: host.clone(),
            guard: ClientGuard::with(config, Time, ()).unwrap().leak(),
            rules,
            successes: Arc::default(),
        }
    }

    /// A request that was made earlier may be tried until its deadline.
    fn bound(&self, calm: &Calm) -> Duration {
        let head = if BODIES { HEAD } else { Duration::ZERO };
        let calm = Calm {
            answers_after: calm.answers_after + head,
            ..*calm
        };
        bound_of(&[self.rules], &calm) + DEADLINE
    }

    fn trips(&self) -> Option<Trips> {
        Some(Trips {
            after: 5,
            outweighing: Duration::ZERO,
        })
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        let (host, successes) = (self.host.clone(), Arc::clone(&self.successes));
        let client = service_fn(move |_: Request<()>| {
            let (host, successes) = (host.clone(), Arc::clone(&successes));
            async move {
                if caller.ending.panics() {
                    throw();
                }
                if BODIES {
                    sleep(HEAD).await;
                    return Ok(Response::new(body(async move {
                        host.answer().await?;
                        successes.fetch_add(1, Relaxed);
                        Ok(())
                    })));
                }
                match host.answer_without_limit().await {
                    Ok(_) => {
                        successes.fetch_add(1, Relaxed);
                        Ok(Response::new(body(ready(Ok(())))))
                    }
                    Err(Trouble {
                        retry_after: Some(time),
                    }) => {
                        let response = Response::builder().status(503);
                        let response = response.header("retry-after", time.as_secs());
                        Ok(response.body(body(ready(Ok(())))).unwrap())
                    }
                    Err(trouble) => Err(trouble),
                }
            }
        });
        let request = Request::get("http://a.example/").body(()).unwrap();
        match self.guard.layer().layer(client).oneshot(request).await {
            // Whoever has the head reads on to the end.
            Ok(response) if response.status().is_success() => {
                let read = spawn_local(response.into_body().collect());
                match read.await.expect("no body panics") {
                    Ok(_) => Answer::Served,
                    Err(_) => Answer::Failed,
                }
            }
            Ok(_) | Err(RequestError::TryTimedOut | RequestError::Failed(_)) => Answer::Failed,
            Err(RequestError::Rejected(_)) => Answer::Rejected,
            Err(_) => Answer::Other,
        }
    }

    /// If the success changes the state, it also starts another epoch.
    fn look(&self, _: usize) -> Look {
        let entry = self.guard.hosts().entry(&origin());
        let look = entry.map_or(Look::NONE, |entry| Look::of(&entry.snapshot));
        let successes = self.successes.load(Relaxed);
        Look {
            epoch: look.epoch.wrapping_add(successes.wrapping_mul(4_999)),
            ..look
        }
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        if dice.percent(20) {
            let rules = if dice.percent(50) {
                self.rules
            } else {
                self.rules.consecutive_failures(dice.within(1..6))
            };
            self.guard.set_breaker_config(rules).unwrap();
        } else {
            let _ = self
                .guard
                .hosts()
                .command(&origin(), |breaker| command(breaker, dice));
        }
        true
    }

    fn settle(&self) {
        let _ = self
            .guard
            .hosts()
            .command(&origin(), |breaker| let_go(breaker));
    }

    fn describe(&self) -> String {
        format!("{:?}", self.guard.hosts().entry(&origin()))
    }
}

#[test]
fn a_guarded_client() {
    explore::<Client<0, false>>("stacks::client::a_guarded_client", 30);
}

/// Their tries go on without them, so that a probe is not lost with its caller.
#[test]
fn a_guarded_client_whose_callers_hang_up() {
    let test = "stacks::client::a_guarded_client_whose_callers_hang_up";
    explore::<Client<60, false>>(test, 30);
}

/// The head says nothing: whether it went well is known at the end of the body.
#[test]
fn a_guarded_client_whose_answers_fail_in_their_bodies() {
    let test = "stacks::client::a_guarded_client_whose_answers_fail_in_their_bodies";
    explore::<Client<0, true>>(test, 30);
}

/// Before the head: what goes on reads to the verdict.
#[test]
fn a_guarded_client_whose_callers_hang_up_before_bodies_that_fail() {
    let test = "stacks::client::a_guarded_client_whose_callers_hang_up_before_bodies_that_fail";
    explore::<Client<60, true>>(test, 30);
}
