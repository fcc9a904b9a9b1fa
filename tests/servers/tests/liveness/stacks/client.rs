// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guarded HTTP client: deadline, retries, a breaker per host, a limit for each try.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{ClientGuard, Config, Origin, RequestError};
use http::{Request, Response, Uri};
use tower::{Layer, ServiceExt, service_fn};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go};
use crate::stack::{Answer, Caller, Calm, Look, Stack, Trips, throw};

struct Client<const PERCENT: u64> {
    host: Host,
    guard: &'static ClientGuard<Time>,
    rules: Config,
    /// Calls of callers who have left count, too.
    successes: Arc<AtomicU16>,
}

const DEADLINE: Duration = Duration::from_secs(8);

fn origin() -> Origin {
    Origin::of(&Uri::from_static("http://a.example/")).unwrap()
}

impl<const PERCENT: u64> Stack for Client<PERCENT> {
    const LEAVE_PERCENT: u64 = PERCENT;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = servers::five_in_a_row();
        let rules = config.get_breaker().max_retry_after(dice.ms(3_000..20_000));
        let rules = rules.probe_lease(LIMIT + dice.ms(0..2_000));
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
        bound_of(&[self.rules], calm) + DEADLINE
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
                match host.answer_without_limit().await {
                    Ok(_) => {
                        successes.fetch_add(1, Relaxed);
                        Ok(Response::new(String::new()))
                    }
                    Err(Trouble {
                        retry_after: Some(time),
                    }) => {
                        let response = Response::builder().status(503);
                        let response = response.header("retry-after", time.as_secs());
                        Ok(response.body(String::new()).unwrap())
                    }
                    Err(trouble) => Err(trouble),
                }
            }
        });
        let request = Request::get("http://a.example/").body(()).unwrap();
        match self.guard.layer().layer(client).oneshot(request).await {
            Ok(response) if response.status().is_success() => Answer::Served,
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
            self.guard.set_breaker(rules).unwrap();
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
    explore::<Client<0>>("stacks::client::a_guarded_client", 30);
}

/// Their tries go on without them, so that a probe is not lost with its caller.
#[test]
fn a_guarded_client_whose_callers_hang_up() {
    let test = "stacks::client::a_guarded_client_whose_callers_hang_up";
    explore::<Client<60>>(test, 30);
}
