// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client that is simulated agrees with the whole one: `ClientLayer` around a service, on tokio's paused clock.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, Clock, RequestError};
use harm::arrivals::Arrivals;
use harm::client::Client;
use harm::clock::{BEGIN, MS, SECOND, Time, draw, scramble, seed};
use harm::figures::Figures;
use harm::ours::Preset;
use harm::reply::{NoResponse, Reply};
use harm::run::run;
use harm::scenario::{Plan, all};
use harm::world::{Ask, Fate, World};
use http::{Request, Response};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tower::{Layer, ServiceExt, service_fn};

/// Reads tokio's clock.
#[derive(Clone, Copy, Debug)]
struct PausedClock(Instant);

impl PausedClock {
    fn now(self) -> Time {
        BEGIN + self.0.elapsed().as_micros() as Time
    }
}

impl Clock for PausedClock {
    fn now_ms(&self) -> u32 {
        (self.now() / MS) as u32
    }

    fn entropy(&self) -> u32 {
        draw() as u32
    }

    fn random(&self) -> u32 {
        draw() as u32
    }
}

/// The number of a call, among the extensions of its requests.
#[derive(Clone, Copy)]
struct Number(u64);

struct Called {
    world: World,
    attempts: HashMap<u64, u32>,
    wasted: HashSet<u64>,
    figures: Figures,
}

/// Plays a plan with the whole client.
async fn whole(plan: Plan, client: Client, number: u64) -> Figures {
    let run_seed = scramble(plan.seed ^ scramble(number));
    seed(run_seed ^ 1);
    let clock = PausedClock(Instant::now());
    let config = ClientConfig::new().capacity(8).tries(match client {
        Client::Once => 1,
        Client::Retries => 3,
    });
    let guard = ClientGuard::by_key(config, clock, ()).expect("settings that fit");
    let guard: &'static ClientGuard<PausedClock, u8> = guard.leak();
    let mut world = (plan.world)(plan.rate);
    let bursts = std::mem::take(&mut world.bursts);
    let leaves = world.leaves_after;
    let called = Arc::new(Mutex::new(Called {
        world,
        attempts: HashMap::new(),
        wasted: HashSet::new(),
        figures: Figures::default(),
    }));
    let plan = Arc::new(plan);
    let mut arrivals = Arrivals::new(&plan, run_seed, bursts);
    let mut calls = Vec::new();
    let mut call = 0;
    while let Some(at) = arrivals.next() {
        sleep_until(clock.0 + Duration::from_micros(at - BEGIN)).await;
        let (plan, called) = (Arc::clone(&plan), Arc::clone(&called));
        let number = call;
        call += 1;
        calls.push(tokio::spawn(async move {
            let (served, by) = (Arc::clone(&called), Arc::clone(&plan));
            let service = service_fn(move |request: Request<()>| {
                let Number(call) = *request.extensions().get().expect("a number");
                let fate = fate(&served, &by, clock.now(), call, run_seed);
                async move {
                    if fate.after == Time::MAX {
                        std::future::pending::<()>().await;
                    }
                    sleep(Duration::from_micros(fate.after)).await;
                    fate.reply.response().map(|it| it.map(|()| String::new()))
                }
            });
            let layer = guard.layer().keyed(|_: &Request<()>| 0_u8);
            let mut request = Request::get("http://host/").body(()).expect("a request");
            request.extensions_mut().insert(Number(number));
            let sent = layer.layer(service).oneshot(request);
            let limit = leaves.map_or(Duration::MAX, Duration::from_micros);
            let result: Result<Result<Response<_>, RequestError<NoResponse>>, _> =
                timeout(limit, sent).await;
            let is_served = matches!(&result, Ok(Ok(response)) if response.status() == 200);
            let is_rejected = matches!(&result, Ok(Err(RequestError::Rejected(_))));
            let mut called = called.lock().unwrap();
            let figures = &mut called.figures;
            figures.note(&plan, at, clock.now(), is_served);
            let is_counted = plan.counted.contains(&at);
            figures.rejected += u64::from(is_rejected && is_counted);
        }));
    }
    for call in calls {
        call.await.expect("no call panics");
    }
    called.lock().unwrap().figures.clone()
}

fn fate(called: &Mutex<Called>, plan: &Plan, now: Time, call: u64, seed: u64) -> Fate {
    let called = &mut *called.lock().unwrap();
    let attempt = called.attempts.entry(call).or_default();
    let ask = Ask {
        since: now.cast_signed() - plan.trouble.start.cast_signed(),
        call,
        attempt: *attempt,
        seed,
        is_peek: false,
    };
    *attempt += 1;
    let fate = (called.world.answer)(&ask);
    if plan.is_down(now) && fate.reply != Reply::Served {
        let is_first = called.wasted.insert(call);
        called.figures.wasted += u64::from(is_first);
    }
    fate
}

/// Runs that are added up, each with calls of its own: how many calls are wasted in one depends on its draws, by a twentieth.
const RUNS: u64 = 4;

fn agree(name: &str, rate: u32, client: Client) {
    let scenarios = all();
    let scenario = scenarios.iter().find(|it| it.name == name).expect(name);
    let (plan, _) = scenario.plan(rate);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("tokio starts");
    let (mut real, mut virtually) = (Figures::default(), Figures::default());
    for number in 0..RUNS {
        real.add(&runtime.block_on(whole(plan.clone(), client, number)));
        virtually.add(&run(&plan, client, number, || {
            Preset::new(ClientConfig::new(), scenario.is_grpc)
        }));
    }
    let pairs = [
        ("calls", real.calls, virtually.calls),
        ("served", real.served, virtually.served),
        ("rejected", real.rejected, virtually.rejected),
        ("down", real.down, virtually.down),
        ("wasted", real.wasted, virtually.wasted),
    ];
    println!(
        "{name}, {client:?}, {rate}/s: {pairs:?}, back {} {}",
        real.back / MS,
        virtually.back / MS
    );
    for (what, real, virtually) in pairs {
        // The pauses of retries are drawn by another generator; timers have milliseconds. So the last open time may end
        // earlier or later, by half of it.
        let open = match what {
            "served" | "rejected" if plan.is_down(plan.trouble.start) => 5 * u64::from(rate) / 2,
            _ => 0,
        } * RUNS;
        let most = 10 * RUNS + virtually.max(real) / 20 + open;
        assert!(
            real.abs_diff(virtually) <= most,
            "{name}, {client:?}, {rate}/s: {what}: {real} with the whole client, {virtually} simulated"
        );
    }
    // The last open time before it is served again, of at most 4 s, a fifth, and a probe.
    let most = 7 * SECOND;
    assert!(
        real.back.abs_diff(virtually.back) <= most,
        "{name}: back after {} us, simulated {}",
        real.back,
        virtually.back
    );
}

macro_rules! agree {
    ($($test:ident: $name:literal, $rate:literal;)*) => {$(
        #[test]
        fn $test() {
            for client in Client::ALL {
                agree($name, $rate, client);
            }
        }
    )*};
}

agree! {
    a_quarter_fails: "fails by chance: 25 %", 100;
    half_fails: "fails by chance: 50 %", 10;
    a_replica_hangs: "1 of 4 replicas hangs", 100;
    a_replica_sheds: "1 of 4 replicas sheds", 100;
    all_shed: "all shed for 10 s, Retry-After 10", 10;
    a_tenant_is_over_its_quota: "a tenant of 10: 429, Retry-After 10", 10;
    calls_are_lost: "50 calls at once are lost, each 10 s", 100;
    it_is_down: "down for 60 s: refuses", 100;
    it_hangs: "down for 60 s: hangs", 100;
    callers_leave: "callers leave after 200 ms, hangs 60 s", 100;
    it_flaps: "answers the first call after 900 ms of rest", 10;
}
