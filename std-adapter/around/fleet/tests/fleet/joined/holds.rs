// SPDX-License-Identifier: MIT OR Apache-2.0
//! The status of the breakers that the fleet holds open.

use std::sync::Arc;

use atomic_breaker_fleet::{FleetConfig, FleetStage, InProcess, Joined};
use atomic_breaker_server::{Registry, State, TokioClock};

use super::faulty::seated;
use super::keys::{Hosts, idle, open_elsewhere};
use super::support::{Process, World, rules};

/// Of each process: whether its calls have failed, too.
fn tripped_here(world: &World) -> Vec<bool> {
    let of = |process: &Process| {
        let holds = process.joined.as_ref().unwrap().holds();
        holds.of("payments").expect("it is held").is_tripped_here
    };
    world.processes.iter().map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn whose_calls_have_failed_is_shown_for_the_whole_period() {
    let mut world = World::new(4, FleetConfig::new(3)).await;
    for sick in &world.processes[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    world.settle().await;
    assert_eq!(tripped_here(&world), [true, true, true, false]);
    world.idle(10_200).await;
    assert_eq!(tripped_here(&world), [true, true, true, false]);
    // Only the last one is called: its probe fails.
    assert!(!world.processes[3].call(false));
    world.idle(200).await;
    assert!(world.processes[3].call(false));
    world.settle().await;
    assert_eq!(tripped_here(&world), [true; 4]);
}

/// All in the first millisecond of its clock.
#[tokio::test(start_paused = true)]
async fn a_newcomer_has_not_tripped() {
    let engine = InProcess::new();
    open_elsewhere(&engine, b"payments").await;
    let joined = Joined::new(engine, FleetConfig::new(3)).unwrap();
    let payments = seated(&joined, "payments");
    let mut status = joined.watch();
    status.wait_for(|status| status.open == 1).await.unwrap();
    assert_eq!(payments.state(), State::Open);
    let hold = joined.holds().of("payments").expect("it is held");
    assert_eq!(hold.stage, FleetStage::Waiting);
    assert!(!hold.is_tripped_here);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_has_left_holds_nothing() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let _payments = seated(&joined, "payments");
    idle(20).await;
    open_elsewhere(&engine, b"payments").await;
    idle(20).await;
    let holds = joined.holds();
    assert!(holds.of("payments").is_some());
    drop(joined);
    idle(20).await;
    assert_eq!(holds.of("payments"), None);
}

#[tokio::test(start_paused = true)]
async fn a_key_for_which_there_is_no_slot_is_left_alone_and_not_held() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let seats = joined.seats("hosts").unwrap();
    let hosts = Registry::builder(rules())
        .capacity(8)
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let hosts: Arc<Hosts> = Arc::new(hosts.unwrap());
    // An operator's commands keep their slots.
    let forced = (0..64).filter(|host: &u32| {
        let forced = hosts.command(&host.to_string(), |key| key.force_open());
        forced.is_ok()
    });
    assert!(forced.count() < 64);
    seats.take(Arc::clone(&hosts));
    idle(20).await;
    for number in 1..=3 {
        open_elsewhere(&engine, b"hosts/a.example").await;
        idle(6_000).await;
        let status = joined.status();
        assert_eq!((status.breakers, status.open), (0, 0), "{status:?}");
        assert!(status.left_alone >= number, "{status:?}");
        assert_eq!(joined.holds().of("hosts/a.example"), None);
    }
}
