// SPDX-License-Identifier: MIT OR Apache-2.0
//! The readiness of a process, as load balancers and orchestrators ask for it.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_admin::Readiness;
use atomic_breaker_server::{Breaker, Config, Guard, ManualClock, Registry, Resource};
use axum::Router;
use axum::body::to_bytes;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tower::ServiceExt;

const RULES: Config = Config::new().consecutive_failures(1);

type Database = Resource<Breaker<Arc<ManualClock>>>;

struct World {
    clock: Arc<ManualClock>,
    hosts: Arc<Registry<String, Arc<ManualClock>>>,
    database: Arc<Database>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new());
        let hosts = Registry::builder(RULES).clock(Arc::clone(&clock)).build();
        Self {
            hosts: Arc::new(hosts.unwrap()),
            database: Arc::new(Resource::new(Breaker::new(RULES, Arc::clone(&clock)))),
            clock,
        }
    }

    fn readiness(&self) -> Readiness {
        Readiness::new()
            .registry("hosts", Arc::clone(&self.hosts))
            .resource("database", Arc::clone(&self.database))
    }

    /// Asked anew, as an answer is given again for a while.
    async fn answer(&self, vital: bool) -> (u16, Value) {
        let readiness = self.readiness();
        let readiness = if vital {
            readiness.vital("database")
        } else {
            readiness
        };
        get(&readiness.router().unwrap()).await
    }

    fn fail(&self, host: &str) {
        let _ = self.hosts.of(host.to_owned()).call(|| Err::<(), _>("down"));
    }
}

async fn get(router: &Router) -> (u16, Value) {
    let request = Request::get("/").body(axum::body::Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert_eq!(kind, "application/health+json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_process_whose_breakers_are_closed_passes() {
    let world = World::new();
    let (status, body) = world.answer(true).await;
    let check = json!([{ "componentType": "component", "observedValue": 0, "observedUnit": "open breakers",
        "status": "pass" }]);
    assert_eq!(status, 200);
    assert_eq!(
        body,
        json!({ "status": "pass", "checks": { "database:open": check, "hosts:open": check } })
    );
    let nothing: Router = Readiness::new().router().unwrap();
    assert_eq!(
        get(&nothing).await,
        (200, json!({ "status": "pass", "checks": {} }))
    );
}

#[tokio::test]
async fn an_open_breaker_is_a_warning_and_the_process_stays_ready() {
    let world = World::new();
    for host in 0..1_000 {
        world.fail(&format!("secret-{host}.example"));
    }
    world.database.breaker().trip();
    let (status, body) = world.answer(false).await;
    assert_eq!((status, &body["status"]), (200, &json!("warn")));
    let hosts = &body["checks"]["hosts:open"][0];
    assert_eq!(
        (&hosts["status"], &hosts["observedValue"]),
        (&json!("warn"), &json!(1_000))
    );
    let text = body.to_string();
    assert!(!text.contains("secret") && text.len() < 1_000, "{text}");
}

#[tokio::test]
async fn only_a_vital_breaker_that_rejects_makes_a_process_unready() {
    let world = World::new();
    world.fail("a.example");
    assert_eq!(world.answer(true).await.0, 200);
    world.database.breaker().trip();
    let (status, body) = world.answer(true).await;
    assert_eq!((status, &body["status"]), (503, &json!("fail")));
    assert_eq!(body["checks"]["hosts:open"][0]["status"], "warn");
    world.database.breaker().force_open();
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(world.answer(true).await.0, 503, "held by an operator");
}

/// Without requests nothing would probe, so a process that stays unready would never become ready again.
#[tokio::test]
async fn a_vital_breaker_that_waits_for_a_probe_lets_requests_come() {
    let world = World::new();
    world.database.breaker().trip();
    assert_eq!(world.answer(true).await.0, 503);
    world.clock.advance(Duration::from_secs(6));
    let (status, body) = world.answer(true).await;
    assert_eq!((status, &body["status"]), (200, &json!("warn")));
    assert!(world.database.call(|| Ok::<_, &str>(())).is_ok());
    assert_eq!(world.answer(true).await.1["status"], "pass");
}

#[tokio::test]
async fn a_vital_breaker_in_shadow_mode_rejects_nothing() {
    let world = World::new();
    world.database.enforcement().set_percent(0).unwrap();
    world.database.breaker().trip();
    let (status, body) = world.answer(true).await;
    assert_eq!((status, &body["status"]), (200, &json!("warn")));
}

#[tokio::test]
async fn an_answer_is_given_again_for_half_a_second() {
    let world = World::new();
    let router: Router = world.readiness().vital("database").router().unwrap();
    assert_eq!(get(&router).await.0, 200);
    world.database.breaker().trip();
    assert_eq!(get(&router).await.0, 200);
    tokio::time::sleep(Duration::from_millis(550)).await;
    assert_eq!(get(&router).await.0, 503);
}

#[tokio::test]
async fn only_reads_are_answered() {
    let router: Router = World::new().readiness().router().unwrap();
    for (method, status) in [
        (Method::HEAD, 200),
        (Method::POST, 405),
        (Method::DELETE, 405),
    ] {
        let request = Request::builder().method(&method).uri("/");
        let request = request.body(axum::body::Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), status, "{method}");
    }
}

#[test]
fn names_that_do_not_fit_are_errors_that_say_so() {
    let world = World::new();
    let error = |readiness: Readiness| readiness.router::<()>().unwrap_err().to_string();
    for vital in ["hosts", "databse"] {
        let error = error(world.readiness().vital(vital));
        assert!(
            error.starts_with(&format!("{vital:?} is to be vital, and is no breaker")),
            "{error}"
        );
    }
    let twice = world
        .readiness()
        .breaker("hosts", Breaker::new(RULES, ManualClock::new()));
    assert!(error(twice).contains("given twice"));
}

/// Two instances with one database, and a load balancer that sends requests only to those that are ready: no call is
/// rejected, so only the requests that ask whether it is ready show that a caller is there.
#[cfg(feature = "fleet")]
#[tokio::test(start_paused = true)]
async fn a_fleet_whose_instances_are_all_unready_is_served_again() {
    use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
    use atomic_breaker_server::TokioClock;
    use tokio::time::{Instant, sleep};

    const SECOND: Duration = Duration::from_secs(1);

    let engine = InProcess::new();
    let instances = ["a", "b"].map(|name| {
        let config = FleetConfig::new(2).instance(name);
        let fleet = Joined::new(engine.clone(), config).unwrap();
        let seat = fleet.seat("database").unwrap();
        let breaker = Breaker::builder(RULES.open_for(5 * SECOND), TokioClock);
        let breaker = Arc::new(breaker.observer(seat.clone()).build());
        assert!(seat.take(Arc::clone(&breaker)));
        (fleet, breaker)
    });
    sleep(SECOND).await;
    let begin = Instant::now();
    let is_back = || begin.elapsed() > 7 * SECOND;
    let mut ready = [true; 2];
    for tenth in 0.. {
        for ((_, breaker), is_ready) in instances.iter().zip(&mut ready) {
            if tenth % 50 == 0 {
                let asked = Readiness::new().breaker("database", Arc::clone(breaker));
                let router = asked.vital("database").router().unwrap();
                *is_ready = get(&router).await.0 == 200;
            }
            let call = || if is_back() { Ok(()) } else { Err("down") };
            if *is_ready && breaker.call(call).is_ok() {
                // The period, its grace, a bid, and up to two questions of the load balancer.
                assert!(begin.elapsed() < 25 * SECOND, "{:?}", begin.elapsed());
                return;
            }
        }
        sleep(SECOND / 10).await;
    }
}
