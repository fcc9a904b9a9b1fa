// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that are no keys, more keys than slots, and two with one name.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{Breaker, Config, Registry, State, TokioClock};

use super::super::support::rules;
use super::{Hosts, Process, count, idle, open_elsewhere, processes};

#[tokio::test(start_paused = true)]
async fn names_that_are_no_keys_here_are_passed_over() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let seats = joined.seats("shards").unwrap();
    let shards = Registry::<u8, _, _, _>::builder(rules())
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let shards = Arc::new(shards.unwrap());
    seats.take(Arc::clone(&shards));
    idle(20).await;
    for name in [
        "shards",
        "shards/",
        "shards/x",
        "shards/256",
        "shards/07",
        "shards/+7",
        "7",
        "hosts/7",
        "/7",
        "shards//7",
        "shards/-1",
        "shards/7 ",
    ] {
        open_elsewhere(&engine, name.as_bytes()).await;
    }
    open_elsewhere(&engine, b"shards/\xFF\xFE").await;
    idle(20_000).await;
    assert_eq!(shards.stats().keys, 0);
    assert_eq!(joined.status().breakers, 0);
    open_elsewhere(&engine, b"shards/7").await;
    idle(20).await;
    assert_eq!(shards.state(&7), State::Open);
}

#[tokio::test(start_paused = true)]
async fn keys_opened_elsewhere_take_no_more_than_the_slots_and_are_counted() {
    let engine = InProcess::new();
    let small = Process::new(&engine, 8);
    idle(20).await;
    for host in 0..20 {
        open_elsewhere(&engine, format!("hosts/{host}").as_bytes()).await;
    }
    idle(20).await;
    let status = small.status();
    assert_eq!((status.breakers, status.open), (8, 8), "{status:?}");
    assert_eq!(status.left_alone, 12, "{status:?}");
    assert!(status.is_connected);
    // The first keys have recovered, and so have those that take their place.
    for _ in 0..4_000 {
        for host in 0..20 {
            small.call(&host.to_string(), true);
        }
        idle(10).await;
    }
    assert_eq!(small.status().breakers, 0, "{:?}", small.status());
    open_elsewhere(&engine, b"hosts/new").await;
    idle(20).await;
    assert_eq!(small.state("new"), State::Open);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_no_more_keys_are_followed_than_have_a_slot_and_none_gets_one() {
    let engine = InProcess::new();
    let small = Process::with(&engine, 8, FleetConfig::new(3).shadow(true));
    idle(20).await;
    for host in 0..20 {
        open_elsewhere(&engine, format!("hosts/{host}").as_bytes()).await;
    }
    idle(20).await;
    let status = small.status();
    assert_eq!((status.breakers, status.withheld), (8, 8), "{status:?}");
    assert_eq!(small.hosts.stats().keys, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_name_is_too_long_goes_on_alone_and_is_counted() {
    let engine = InProcess::new();
    let all = processes(&engine, 4).await;
    let (fits, long) = ("x".repeat(255 - 6), "x".repeat(255 - 5));
    for host in [&fits, &long] {
        for sick in &all[..3] {
            sick.trip(host);
        }
    }
    idle(20).await;
    assert_eq!(count(&all, &fits, State::Open), 4);
    assert_eq!(count(&all, &long, State::Open), 3);
    assert_eq!(all[0].status().left_alone, 1);
}

#[tokio::test(start_paused = true)]
async fn two_thousand_keys_that_open_at_once_open_everywhere() {
    let engine = InProcess::new();
    let all: Vec<_> = (0..3).map(|_| Process::new(&engine, 4_096)).collect();
    idle(20).await;
    for host in 0..2_000 {
        for process in &all {
            process.trip(&host.to_string());
        }
    }
    idle(1_000).await;
    for process in &all {
        let status = process.status();
        assert_eq!((status.open, status.overflows), (2_000, 0), "{status:?}");
        assert_eq!((status.unanswered, status.left_alone), (0, 0), "{status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_requests_that_go_unanswered_at_once_put_the_next_reading_off_as_one_does() {
    let engine = InProcess::new();
    let process = Process::new(&engine, 4_096);
    idle(20).await;
    engine.hang(true);
    for host in 0..100 {
        process.trip(&host.to_string());
    }
    idle(260).await;
    let status = process.status();
    assert!(
        !status.is_connected && status.unanswered >= 50,
        "{status:?}"
    );
    engine.hang(false);
    idle(100).await;
    assert!(process.status().is_connected, "{:?}", process.status());
}

#[tokio::test(start_paused = true)]
async fn another_registry_of_that_name_takes_the_place_of_the_first() {
    let engine = InProcess::new();
    let process = Process::new(&engine, 8);
    idle(20).await;
    open_elsewhere(&engine, b"hosts/a").await;
    idle(20).await;
    let seats = process.joined.seats("hosts").unwrap();
    let second = Registry::builder(rules())
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let second: Arc<Hosts> = Arc::new(second.unwrap());
    seats.take(Arc::clone(&second));
    idle(20).await;
    assert_eq!(second.state(&"a".to_owned()), State::Open);
    let status = process.status();
    assert_eq!((status.breakers, status.open), (1, 1), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_seat_of_the_same_name_is_the_same_to_others_and_goes_before_the_key_here() {
    let engine = InProcess::new();
    let all = processes(&engine, 3).await;
    let seat = all[2].joined.seat("hosts/a").unwrap();
    let single = Breaker::builder(rules(), TokioClock)
        .observer(seat.clone())
        .build();
    let single = Arc::new(single);
    seat.take(Arc::clone(&single));
    idle(20).await;
    all[0].trip("a");
    all[1].trip("a");
    for _ in 0..3 {
        let _ = single.call(|| Err::<(), _>(()));
    }
    idle(20).await;
    assert_eq!(count(&all[..2], "a", State::Open), 2);
    assert_eq!(single.state(), State::Open);
    assert_eq!(all[2].state("a"), State::Closed);
}

#[tokio::test]
async fn a_registry_whose_name_has_a_slash_is_an_error_that_says_so() {
    let joined = Joined::new(InProcess::new(), FleetConfig::new(3)).unwrap();
    for (name, says) in [
        ("a/b", "slash"),
        ("", "1 to 255"),
        (&"x".repeat(256), "256 bytes"),
    ] {
        let error = joined.seats::<String>(name).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_never_called_here_follows_by_the_rules_of_its_class() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let seats = joined.seats("hosts").unwrap();
    // No rules accept more than their own longest open time.
    let open_for = |seconds| {
        let open_for = Duration::from_secs(seconds);
        Config::new().open_for(open_for).max_retry_after(open_for)
    };
    let hosts: Hosts = Registry::builder(open_for(1))
        .rules_by([(true, open_for(8))], |host: &String| match &**host {
            "broken" => panic!("a fault of the user's"),
            host => host.starts_with("slow"),
        })
        .clock(TokioClock)
        .observer(seats.clone())
        .build()
        .unwrap();
    seats.take(Arc::new(hosts));
    idle(20).await;
    for (host, seconds) in [("slow", 8), ("quick", 1), ("broken", 0), ("slower", 8)] {
        open_elsewhere(&engine, format!("hosts/{host}").as_bytes()).await;
        idle(20).await;
        let hold = joined.holds().of(format!("hosts/{host}"));
        let probe_in = hold.map_or(0, |hold| hold.probe_in.as_millis().div_ceil(1_000));
        if host != "broken" {
            assert_eq!(probe_in, seconds, "{host}");
        }
    }
}
