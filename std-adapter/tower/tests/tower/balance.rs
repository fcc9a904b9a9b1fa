// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gates below tower's balancer.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_tower::{Breaker, GateLayer, GateService, State, TokioClock};
use tokio::time::{Instant, sleep};
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::{Layer, Service, ServiceExt};

use crate::fake::{Fake, Mood, OnTokio, RULES, SECOND, breaker};

struct Endpoint {
    server: Arc<OnTokio>,
    fake: Fake,
}

type Gated = PendingRequests<GateService<Fake, Arc<OnTokio>>>;

fn endpoints(count: usize) -> Vec<Endpoint> {
    let new = |_| Endpoint {
        server: breaker(),
        fake: Fake::new(Mood::Answers),
    };
    (0..count).map(new).collect()
}

fn balance(endpoints: &[Endpoint]) -> Balance<ServiceList<Vec<Gated>>, u32> {
    let gated = endpoints.iter().map(|endpoint| {
        let gate = GateLayer::new(Arc::clone(&endpoint.server)).layer(endpoint.fake.twin());
        PendingRequests::new(gate, CompleteOnResponse::default())
    });
    Balance::new(ServiceList::new::<u32>(gated.collect::<Vec<_>>()))
}

/// One after the other; how many failed.
async fn send(balance: &mut Balance<ServiceList<Vec<Gated>>, u32>, requests: u32) -> usize {
    let mut failed = 0;
    for request in 0..requests {
        let answer = balance.ready().await.unwrap().call(request).await;
        failed += usize::from(answer.is_err());
    }
    failed
}

#[tokio::test(start_paused = true)]
async fn traffic_leaves_an_endpoint_that_fails_and_comes_back_by_one_probe() {
    let all = endpoints(3);
    let mut balance = balance(&all);
    all[0].fake.set(Mood::Fails);
    assert_eq!(send(&mut balance, 300).await, 2, "two failures trip");
    assert_eq!(all[0].fake.calls(), 2);
    assert!(all[1].fake.calls() > 50 && all[2].fake.calls() > 50);
    // Still down: one probe, which costs one request.
    sleep(10 * SECOND).await;
    assert_eq!(send(&mut balance, 300).await, 1);
    assert_eq!(all[0].server.state(), State::Open);
    // Up: one probe, and all traffic.
    sleep(10 * SECOND).await;
    all[0].fake.set(Mood::Answers);
    assert_eq!(send(&mut balance, 300).await, 0);
    assert_eq!(all[0].server.state(), State::Closed);
    assert!(all[0].fake.calls() > 50);
}

#[tokio::test(start_paused = true)]
async fn when_all_are_open_the_balancer_wakes_without_traffic_and_goes_on() {
    let all = endpoints(3);
    let mut balance = balance(&all);
    for round in 0..3 {
        for endpoint in &all {
            endpoint.server.trip();
        }
        let begin = Instant::now();
        balance.ready().await.unwrap();
        let waited = begin.elapsed();
        assert!(
            waited >= 10 * SECOND && waited <= 11 * SECOND,
            "{round}: {waited:?}"
        );
        assert_eq!(send(&mut balance, 100).await, 0);
        for endpoint in &all {
            assert_eq!(endpoint.server.state(), State::Closed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_probe_hangs_all_other_requests_go_elsewhere() {
    let all = endpoints(2);
    all[0].server.trip();
    all[0].fake.set(Mood::Hangs);
    let buffered = Buffer::new(balance(&all), 200);
    sleep(10 * SECOND).await;
    let requests = (0..200).map(|request| {
        let call = buffered.clone().oneshot(request);
        tokio::time::timeout(SECOND, call)
    });
    let answers = futures_util::future::join_all(requests).await;
    let hung = answers.iter().filter(|answer| answer.is_err()).count();
    assert_eq!((hung, all[0].fake.calls()), (1, 1));
    assert_eq!(all[1].fake.calls(), 199);
    assert_eq!(all[0].server.state(), State::Open, "it hung for a second");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_chosen_after_it_tripped_is_left_for_another() {
    let all = endpoints(2);
    let mut balance = balance(&all);
    balance.ready().await.unwrap();
    // Whichever was chosen.
    all[0].server.trip();
    assert_eq!(send(&mut balance, 50).await, 0);
    assert_eq!((all[0].fake.calls(), all[1].fake.calls()), (0, 50));
}

/// The balancer drops it; the breaker remembers, for whatever takes its place.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_fails_while_it_becomes_ready_is_dropped_and_counted() {
    let all = endpoints(2);
    let mut balance = balance(&all);
    all[0].fake.set(Mood::FailsWhenAskedWhetherReady);
    assert_eq!(send(&mut balance, 20).await, 0);
    assert_eq!(balance.len(), 1);
    assert_eq!(all[0].server.snapshot().failures(), 1);
}

/// Two balancers over the same endpoints: the probe that one of them holds and does not use lapses.
#[tokio::test(start_paused = true)]
async fn a_balancer_that_rests_does_not_keep_an_endpoint_from_the_others() {
    let all = endpoints(1);
    let (mut resting, mut busy) = (balance(&all), balance(&all));
    all[0].server.trip();
    resting.ready().await.unwrap();
    assert_eq!(all[0].server.snapshot().probes_in_flight(), 1);
    let begin = Instant::now();
    assert_eq!(send(&mut busy, 10).await, 0);
    println!("taken over after {:?}", begin.elapsed());
    assert!(begin.elapsed() <= 61 * SECOND);
    assert_eq!(all[0].server.state(), State::Closed);
    assert_eq!(send(&mut resting, 10).await, 0);
}

/// Eight balancers share four endpoints that fail, hang and recover; in the end all answer.
#[tokio::test(start_paused = true)]
async fn nothing_wedges_while_endpoints_come_and_go() {
    let rules = RULES
        .open_for(SECOND)
        .exponential(2, 4 * SECOND)
        .jitter_percent(50)
        .probe_lease(SECOND)
        .gradual_return(20, SECOND);
    let all: Arc<[_]> = (0..4)
        .map(|_| Endpoint {
            server: Arc::new(Breaker::new(rules, TokioClock)),
            fake: Fake::new(Mood::Answers),
        })
        .collect();
    let end = Instant::now() + 300 * SECOND;
    let quiet_from = Instant::now() + 200 * SECOND;
    let clients = (0..8).map(|client| {
        let mut balance = balance(&all);
        async move {
            let (mut answered, mut longest) = (0, Duration::ZERO);
            while Instant::now() < end {
                let begin = Instant::now();
                balance.ready().await.unwrap();
                longest = longest.max(begin.elapsed());
                let call = tokio::time::timeout(SECOND, balance.call(client));
                let is_late = begin > quiet_from + 60 * SECOND;
                match call.await {
                    Ok(Ok(_)) => answered += u32::from(is_late),
                    _ => assert!(!is_late, "all answer by now"),
                }
                // Some rest with a permit in their hands.
                sleep(SECOND / 10 * (client + 1)).await;
            }
            (answered, longest)
        }
    });
    let weather = async {
        let moods = [
            Mood::Fails,
            Mood::Hangs,
            Mood::Answers,
            Mood::AnswersAfter(SECOND / 4),
            Mood::NeverReady,
            Mood::AnswersAfter(2 * SECOND),
        ];
        for turn in 0_usize.. {
            sleep(SECOND * 3 / 2).await;
            if Instant::now() >= quiet_from {
                break;
            }
            all[turn % 4].fake.set(moods[turn * 7 / 4 % moods.len()]);
        }
        for endpoint in &*all {
            endpoint.fake.set(Mood::Answers);
        }
    };
    let everything = async { tokio::join!(futures_util::future::join_all(clients), weather) };
    let everything = tokio::time::timeout(1_000 * SECOND, everything);
    let (seen, ()) = everything.await.expect("nobody is wedged");
    println!("answered in the last 40 s, longest wait: {seen:?}");
    for (answered, longest) in seen {
        assert!(answered > 20 && longest < 60 * SECOND);
    }
    for endpoint in &*all {
        println!("{:?}", endpoint.server.snapshot());
    }
    let closed = |endpoint: &&Endpoint| endpoint.server.state() == State::Closed;
    assert_eq!(all.iter().filter(closed).count(), 4);
}
