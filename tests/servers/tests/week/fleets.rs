// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that have joined a fleet and use the hosts of a guarded client or the keys of a registry.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_http::{
    ClientBody, ClientGuard, ClientService, Guard, Registry, RequestError, State, TokioClock,
};
use futures_util::future::join_all;
use http::{Request, Response};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt, service_fn};

use super::SECOND;
use test_support::week::{Host, config, protects, week};

type Client = ClientService<(), Response<Guarded>, io::Error>;
type Guarded = ClientBody<String, &'static ClientGuard<TokioClock>>;

/// The configuration shown on the page on fleets.
fn client(fleet: &Joined, host: Host) -> Client {
    let seats = fleet.seats("hosts").unwrap();
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(servers::five_in_a_row(), TokioClock, seats.clone())
            .unwrap()
            .leak();
    assert!(seats.take(guard.hosts()));
    guard.layer().layer(service_fn(move |_: Request<()>| {
        let host = host.clone();
        async move { host.answer().await.map(|_| Response::new(String::new())) }
    }))
}

fn request() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

/// Each sends a request; returns whether all were answered.
async fn all_are_answered<C>(clients: impl IntoIterator<Item = C>) -> bool
where
    C: Service<Request<()>, Response = Response<Guarded>, Error = RequestError<io::Error>>,
{
    let asked = clients.into_iter().map(|client| client.oneshot(request()));
    join_all(asked).await.iter().all(Result::is_ok)
}

/// Processes of which some are replaced, with their clients.
type Changing<C> = Mutex<[(Joined, C); 3]>;

fn clients<C: Clone>(fleet: &Changing<C>) -> [C; 3] {
    let fleet = fleet.lock().unwrap();
    fleet.each_ref().map(|(_, client)| client.clone())
}

fn join(engine: &InProcess) -> Joined {
    Joined::new(engine.clone(), FleetConfig::new(2)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn hosts_of_guarded_clients() {
    let (engine, host) = (InProcess::new(), Host::default());
    let fleet: Vec<Joined> = (0..3).map(|_| join(&engine)).collect();
    let clients: Vec<_> = fleet
        .iter()
        .map(|fleet| client(fleet, host.clone()))
        .collect();
    sleep(SECOND).await;
    let ask = || all_are_answered(clients.clone());
    let seen = week(&host, ask).await;
    // Three instances without a fleet would waste 390. Here there are two probes per period, because a longer period
    // takes two witnesses.
    protects(&seen, 230);
    for fleet in &fleet {
        let status = fleet.status();
        assert_eq!(
            (status.open, status.overflows, status.left_alone),
            (0, 0, 0),
            "{status:?}"
        );
        assert_eq!((status.breakers, status.unanswered), (0, 0), "{status:?}");
    }
}

/// Every 1,000 requests a process leaves and another one joins.
#[tokio::test(start_paused = true)]
async fn processes_that_come_and_go() {
    let (engine, host) = (InProcess::new(), Host::default());
    let process = || {
        let fleet = join(&engine);
        let client = client(&fleet, host.clone());
        (fleet, client)
    };
    let fleet = Mutex::new([process(), process(), process()]);
    let number = AtomicU32::new(0);
    let ask = || {
        let number = number.fetch_add(1, Relaxed);
        if number % 1_000 == 999 {
            let mut fleet = fleet.lock().unwrap();
            fleet[number as usize / 1_000 % 3] = process();
        }
        all_are_answered(clients(&fleet))
    };
    let seen = week(&host, ask).await;
    protects(&seen, 260);
}

/// Every 700 requests a process restarts; every 900 the engine falls back to its state of 300 requests ago.
#[tokio::test(start_paused = true)]
async fn processes_that_start_again_while_their_engine_falls_back() {
    let (engine, host) = (InProcess::new(), Host::default());
    let process = |name| {
        let fleet = FleetConfig::new(2).instance(["a", "b", "c"][name]);
        let fleet = Joined::new(engine.clone(), fleet).unwrap();
        let client = client(&fleet, host.clone());
        (fleet, client)
    };
    let fleet = Mutex::new([0, 1, 2].map(process));
    let (number, older) = (AtomicU32::new(0), Mutex::new(engine.replica()));
    let ask = || {
        let number = number.fetch_add(1, Relaxed);
        if number % 700 == 699 {
            let name = number as usize / 700 % 3;
            // The old process leaves before the new one joins.
            let mut fleet = fleet.lock().unwrap();
            fleet[name] = process(name);
        }
        match number % 900 {
            500 => *older.lock().unwrap() = engine.replica(),
            800 => engine.fail_over(older.lock().unwrap().clone()),
            _ => {}
        }
        all_are_answered(clients(&fleet))
    };
    let seen = week(&host, ask).await;
    protects(&seen, 260);
}

#[tokio::test(start_paused = true)]
async fn keys_of_registries_with_many_healthy_hosts() {
    let (engine, host) = (InProcess::new(), Host::default());
    let process = || {
        let fleet = join(&engine);
        let seats = fleet.seats("hosts").unwrap();
        let hosts = Registry::<String>::builder(config())
            .capacity(64)
            .clock(TokioClock)
            .observer(seats.clone())
            .build();
        let hosts = Arc::new(hosts.unwrap());
        assert!(seats.take(Arc::clone(&hosts)));
        (fleet, hosts)
    };
    let fleet = [process(), process(), process()];
    sleep(SECOND).await;
    let number = AtomicU32::new(0);
    let ask = || async {
        let number = number.fetch_add(1, Relaxed);
        let mut is_ok = true;
        for (_, hosts) in &fleet {
            // Each key fails once in a while: no two failures in 50 calls are of the same one.
            let well = format!("{}.example", number % 199);
            let answer = if number.is_multiple_of(50) {
                Err("down")
            } else {
                Ok(())
            };
            let _ = hosts.of(well).call(|| answer);
            let answer = hosts
                .of("a.example".to_owned())
                .call_async(|| host.answer());
            is_ok &= answer.await.is_ok();
        }
        is_ok
    };
    let seen = week(&host, ask).await;
    protects(&seen, 150);
    for (fleet, hosts) in &fleet {
        let status = fleet.status();
        assert_eq!(
            (status.open, status.breakers, status.left_alone),
            (0, 0, 0),
            "{status:?}"
        );
        assert_eq!(hosts.state(&"a.example".to_owned()), State::Closed);
    }
}

/// Each of three processes is called once every ten seconds while the host is down, and once every ten minutes
/// otherwise. The process that holds the right to probe is therefore often not called in time.
#[tokio::test(start_paused = true)]
async fn processes_that_are_rarely_called() {
    let (engine, host) = (InProcess::new(), Host::default());
    let fleet: Vec<Joined> = (0..3).map(|_| join(&engine)).collect();
    let clients: Vec<_> = fleet
        .iter()
        .map(|fleet| client(fleet, host.clone()))
        .collect();
    sleep(SECOND).await;
    let (number, was_ok) = (AtomicU32::new(0), AtomicBool::new(true));
    let ask = || async {
        let number = number.fetch_add(1, Relaxed) as usize % 10;
        if let Some(client) = clients.get(number / 3).filter(|_| number.is_multiple_of(3)) {
            let answer = client.clone().oneshot(request()).await;
            was_ok.store(answer.is_ok(), Relaxed);
        }
        was_ok.load(Relaxed)
    };
    let seen = week(&host, ask).await;
    protects(&seen, 260);
    for fleet in &fleet {
        let status = fleet.status();
        let left = (status.open, status.overflows, status.breakers);
        assert_eq!(left, (0, 0, 0), "{status:?}");
    }
}
