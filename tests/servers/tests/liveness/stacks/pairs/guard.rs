// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two users of one [`ClientGuard`]: its layer, its middleware, calls by key. Some callers hang up, some have time limits
//! of their own, some are over their quota; neither may shut out the others, nor hide a dead host.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{
    Bytes, ClientGuard, Config, Guard as _, Origin, RequestError, ServiceError, repeatable,
};
use atomic_breaker_server::AtOnce;
use http::{Request, Response, Uri};
use reqwest_middleware::ClientWithMiddleware;
use tokio::time::timeout;
use tower::{Layer, ServiceExt, service_fn};

use super::noticed::Noticed;
use super::through::{Responder, URL, answer_of, host_client, timed_out, with};
use super::users::Manners;
use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, LONGEST_ANSWER, Trouble};
use crate::rules::{bound_of, command, let_go};
use crate::stack::{Answer, Caller, Calm, Leave, Look, Stack, Trips, outcome, throw};

const DEADLINE: Duration = Duration::from_secs(8);

type Guard = &'static ClientGuard<Time>;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Layer,
    Middleware,
    Key,
}

/// The parts that all users of a guard share.
#[derive(Clone)]
pub(super) struct Guarded {
    host: Host,
    guard: Guard,
    noticed: Noticed,
}

impl Guarded {
    fn look(&self) -> Look {
        let entry = self.guard.hosts().entry(&origin());
        entry.map_or(Look::NONE, |entry| Look::of(&entry.snapshot))
    }

    /// One try, which must count whether or not a caller waits for it.
    pub(super) async fn answer(&self) -> Result<u32, Trouble> {
        if self.host.health().fails_always() {
            self.noticed.reached(self.look());
        }
        self.answer_to_caller().await
    }

    /// One try that ends with its caller.
    async fn answer_to_caller(&self) -> Result<u32, Trouble> {
        let answer = self.host.answer_without_limit().await;
        if answer.is_ok() {
            self.noticed.clear();
        }
        answer
    }
}

struct User {
    kind: Kind,
    manners: Manners,
    client: ClientWithMiddleware,
}

struct Pair {
    of: Guarded,
    rules: Config,
    users: [User; 2],
    is_well: Cell<bool>,
    /// The percentage of calls that the first user makes.
    share: u64,
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static(URL)).unwrap()
}

/// The error of a client.
#[derive(Debug)]
enum Failed {
    Trouble(Trouble),
    Limit(reqwest::Error),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Trouble(trouble) => Some(trouble),
            Self::Limit(error) => Some(error),
        }
    }
}

impl Pair {
    /// While the host is unhealthy, all callers have the same manners, so that none of them waits for a host that hangs.
    fn manners(&self, place: usize) -> Manners {
        let place = if self.is_well.get() { place } else { 0 };
        self.users[place].manners
    }

    async fn call_layer(&self, user: &User, caller: Caller) -> Answer {
        let manners = self.manners(caller.place);
        let (of, over_quota) = (self.of.clone(), user.manners.is_over_quota());
        let client = service_fn(move |request: Request<Bytes>| {
            let of = of.clone();
            async move {
                if caller.ending.panics() {
                    throw();
                }
                let request = reqwest::Request::try_from(request).unwrap();
                let answer = match request.timeout() {
                    Some(limit) => timeout(*limit, of.answer())
                        .await
                        .map_err(|_| Failed::Limit(timed_out()))?,
                    None => of.answer().await,
                };
                response(answer, over_quota)
            }
        });
        let mut request = user.client.get(URL);
        if let Some(limit) = manners.own_limit() {
            request = request.timeout(limit);
        }
        let request = repeatable(&request.build().unwrap()).unwrap();
        match self.of.guard.layer().layer(client).oneshot(request).await {
            Ok(response) if response.status().is_success() => Answer::Served,
            Ok(response) if response.status() == 429 => Answer::Other,
            Ok(_) | Err(RequestError::TryTimedOut | RequestError::Failed(_)) => Answer::Failed,
            Err(RequestError::Rejected(_)) => Answer::Rejected,
            Err(_) => Answer::Other,
        }
    }

    async fn call_middleware(&self, user: &User, caller: Caller) -> Answer {
        let mut request = user.client.get(URL).with_extension(caller);
        if let Some(limit) = self.manners(caller.place).own_limit() {
            request = request.timeout(limit);
        }
        answer_of(&request.send().await)
    }

    /// With the limit inside, as the guide says.
    async fn call_key(&self, caller: Caller) -> Answer {
        let of = self.of.clone();
        let hosts = self.of.guard.hosts();
        let call = hosts
            .of(origin())
            .call_async_with(AtOnce(outcome), || async {
                if caller.ending.panics() {
                    throw();
                }
                let answer = timeout(LIMIT, of.answer_to_caller()).await;
                answer.unwrap_or(Err(Trouble { retry_after: None }))
            });
        match call.await {
            Ok(_) => Answer::Served,
            Err(ServiceError::Failed(_)) => Answer::Failed,
            Err(ServiceError::Rejected(_)) => Answer::Rejected,
        }
    }
}

/// The host's answer as one of HTTP.
fn response(answer: Result<u32, Trouble>, over_quota: bool) -> Result<Response<String>, Failed> {
    let response = Response::builder();
    let response = match answer {
        Ok(_) if over_quota => response.status(429),
        Ok(_) => response,
        Err(Trouble {
            retry_after: Some(time),
        }) => response.status(503).header("retry-after", time.as_secs()),
        Err(trouble) => return Err(Failed::Trouble(trouble)),
    };
    Ok(response.body(String::new()).unwrap())
}

impl Stack for Pair {
    const PLACES: usize = 2;
    /// A request through all of this takes a third of a millisecond in a test build.
    const GAPS_MS: [u32; 3] = [100, 300, 1_000];

    /// Long enough for callers to leave before it.
    fn answers_after(dice: &mut Dice) -> Duration {
        dice.ms(1..LONGEST_ANSWER.as_millis() as u32)
    }

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = servers::five_in_a_row();
        let rules = config
            .breaker_config()
            .max_retry_after(dice.ms(3_000..20_000));
        let rules = rules.probe_lease(LIMIT + dice.ms(0..2_000));
        let config = config
            .deadline(DEADLINE)
            .try_limit(LIMIT)
            .tries(dice.within(1..4))
            .rejection_waits(dice.within(0..3))
            .breaker(rules);
        let of = Guarded {
            host: host.clone(),
            guard: ClientGuard::with(config, Time, ()).unwrap().leak(),
            noticed: Noticed::default(),
        };
        let user = |kind: Kind, manners: Manners| {
            let client = host_client(Responder::OfGuard(of.clone(), manners));
            User {
                kind,
                manners,
                client: with(of.guard.middleware(client)),
            }
        };
        // Calls by key end with their callers.
        let unruly = dice.pick(&[Kind::Layer, Kind::Middleware]);
        let good = dice.pick(&[Kind::Layer, Kind::Middleware, Kind::Key]);
        let users = [
            user(unruly, Manners::of_requests(host, dice)),
            user(good, Manners::GOOD),
        ];
        Self {
            of,
            rules,
            users,
            is_well: Cell::new(false),
            share: dice.pick(&[50, 95, 95]),
        }
    }

    fn watch(&self, _: usize) -> usize {
        0
    }

    /// Those who do not wait may make nearly all calls: their tries end without them.
    fn next(&self, _: usize, dice: &mut Dice) -> usize {
        let first = if self.users[0].manners.is_over_quota() {
            50
        } else {
            self.share
        };
        usize::from(!dice.percent(first))
    }

    fn is_served(&self, place: usize) -> bool {
        place == 1
    }

    fn leave(&self, place: usize, dice: &mut Dice) -> Leave {
        self.users[place].manners.leave(dice)
    }

    /// A request that was made earlier may be tried until its deadline. Requests over their quota say nothing, and may be
    /// probes first.
    fn bound(&self, calm: &Calm) -> Duration {
        let lost_to_others = if self.users[0].manners.is_over_quota() {
            24 * (LONGEST_ANSWER + calm.gap)
        } else {
            Duration::ZERO
        };
        bound_of(&[self.rules], calm) + DEADLINE + lost_to_others
    }

    /// `Noticed` counts the tries, including those of callers that have left.
    fn trips(&self) -> Option<Trips> {
        None
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        let user = &self.users[caller.place];
        let call = async {
            match user.kind {
                Kind::Layer => self.call_layer(user, caller).await,
                Kind::Middleware => self.call_middleware(user, caller).await,
                Kind::Key => self.call_key(caller).await,
            }
        };
        if self.is_well.get() {
            return call.await;
        }
        self.manners(caller.place).or_leave(call).await
    }

    fn look(&self, _: usize) -> Look {
        self.of.look()
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        self.of.noticed.clear();
        let hosts = self.of.guard.hosts();
        let _ = hosts.command(&origin(), |breaker| command(breaker, dice));
        true
    }

    fn settle(&self) {
        self.is_well.set(true);
        let hosts = self.of.guard.hosts();
        let _ = hosts.command(&origin(), |breaker| let_go(breaker));
    }

    fn describe(&self) -> String {
        let users = self.users.each_ref().map(|user| (user.kind, user.manners));
        format!("{users:?} {:?}", self.of.guard.hosts().entry(&origin()))
    }
}

#[test]
fn two_users_of_one_guard() {
    explore::<Pair>("stacks::pairs::guard::two_users_of_one_guard", 60);
}
