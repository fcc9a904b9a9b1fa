// SPDX-License-Identifier: MIT OR Apache-2.0
//! A week: quiet hours, incidents of several faults, and what holds after each.

use std::time::Duration;

use atomic_breaker_http::State;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, sleep_until};

use crate::faults::Fault;
use crate::host::Health;
use crate::net::HOSTS;
use crate::plan::{DEADLINE, GAP, SECOND};
use crate::trace::{self, holds, note};
use crate::work::check_done;
use crate::world::World;

const DAY: Duration = Duration::from_secs(86_400);
/// Six days with incidents, and a quiet one.
const TROUBLED_DAYS: u32 = 6;
/// The pause between two calls while everything is closed: around incidents, and in quiet hours.
const CALM_GAP: Duration = Duration::from_secs(90);
const QUIET_GAP: Duration = Duration::from_secs(3_600);

/// The time for which a dependency is down while nothing else is wrong.
const OUTAGE: Duration = Duration::from_secs(900);

/// The figures of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) incidents: u32,
    pub(crate) faults: u32,
}

/// Lives through a week.
pub(crate) async fn week(world: &'static World) -> Figures {
    let mut figures = Figures::default();
    let incidents = world.draw(|dice| dice.within(5..9));
    sleep(30 * SECOND).await;
    for number in 0..incidents {
        let turn = DAY * TROUBLED_DAYS / incidents;
        let at = turn * number + world.draw(|dice| dice.ms(600_000..turn.as_millis() as u32 / 2));
        quiet_until(world, at).await;
        figures.faults += incident(world).await;
        figures.incidents += 1;
        recover(world).await;
        settled(world).await;
    }
    quiet_until(world, DAY * TROUBLED_DAYS).await;
    figures.faults += outage(world).await;
    figures.incidents += 1;
    recover(world).await;
    settled(world).await;
    quiet_until(world, DAY * (TROUBLED_DAYS + 1)).await;
    settled(world).await;
    figures
}

/// One dependency is down for long, and nothing else is wrong: its prober is the only one.
async fn outage(world: &'static World) -> u32 {
    let (host, health) = world.draw(|dice| (dice.below(HOSTS as u64) as usize, Health::ill(dice)));
    let down = tokio::spawn(Fault::Host(host, health).happen(world, SECOND, OUTAGE));
    while !down.is_finished() {
        world.call_all();
        let gap = world.draw(|dice| dice.ms(500..1_500));
        sleep(gap).await;
    }
    1
}

/// Few calls, and some work.
async fn quiet_until(world: &'static World, at: Duration) {
    while trace::time() < at {
        world.call_all();
        world.bring_work();
        let gap = QUIET_GAP + world.draw(|dice| dice.ms(0..900_000));
        sleep(gap.min(at.saturating_sub(trace::time()).max(SECOND))).await;
    }
    world.call_shops();
    sleep(DEADLINE).await;
}

/// Several faults at a time, while callers call.
async fn incident(world: &'static World) -> u32 {
    let lasts_ms = world.draw(|dice| dice.within(20_000..200_000));
    let faults = world.draw(|dice| dice.within(1..7));
    note!("an incident of {faults} faults, {lasts_ms} ms");
    let happening = (0..faults).map(|_| {
        let fault = world.draw(Fault::draw);
        let (after, lasts) = world.draw(|dice| {
            let after = dice.ms(0..lasts_ms);
            (after, dice.ms(100..lasts_ms))
        });
        tokio::spawn(fault.happen(world, after, lasts))
    });
    let happening = tokio::spawn(join_all(happening.collect::<Vec<_>>()));
    let mut turn = 0_u32;
    while !happening.is_finished() {
        world.call_all();
        if turn.is_multiple_of(15) {
            world.bring_work();
        }
        turn += 1;
        let gap = world.draw(|dice| dice.ms(500..1_500));
        sleep(gap).await;
    }
    faults
}

/// Calls go on until every bound has passed.
async fn recover(world: &'static World) {
    let began = Instant::now();
    let ends = began + world.plan.webs_bound();
    while Instant::now() < ends {
        world.call_all();
        world.call_shops();
        let gap = if world.is_open_somewhere() {
            GAP
        } else {
            CALM_GAP
        };
        sleep_until((Instant::now() + gap).min(ends)).await;
    }
    // From now on everything must be served: three times.
    for _ in 0..3 {
        world.call_all();
        world.call_shops();
        sleep(GAP).await;
    }
    note!("jobs have time until they must be done");
    let ends = began + world.plan.jobs_bound();
    while Instant::now() < ends {
        world.call_all();
        sleep_until((Instant::now() + 2 * CALM_GAP).min(ends)).await;
    }
    sleep(DEADLINE + SECOND).await;
}

/// Nothing is left of what was wrong.
async fn settled(world: &'static World) {
    sleep(DEADLINE + SECOND).await;
    let in_flight = world.in_flight.load(std::sync::atomic::Ordering::Relaxed);
    holds!(
        "no call hangs",
        in_flight == 0,
        "{in_flight} calls are still under way"
    );
    check_done(world).await;
    for (_, instance) in world.instances() {
        let name = instance.life.node;
        for entry in instance.client.guard().hosts().entries() {
            let snapshot = entry.snapshot;
            holds!(
                "closed in the end",
                snapshot.state() == State::Closed,
                "{name}: {} is {snapshot:?}",
                entry.key
            );
        }
        if let Some(shop) = &instance.shop {
            let fleet = shop.fleet();
            let is_fine = fleet.as_ref().is_some_and(|(status, _)| {
                status.is_connected
                    && status.open == 0
                    && status.living == 3
                    && status.overflows == 0
            });
            let (callers, gate) = (shop.waiting.callers(), shop.waiting.snapshot());
            holds!(
                "those who wait are served in time",
                callers == 0,
                "{name}: {callers} callers wait; {gate:?}"
            );
            holds!(
                "closed in the end",
                gate.state() == State::Closed,
                "{name}: the gate is {gate:?}"
            );
            holds!(
                "the fleet is whole in the end",
                is_fine,
                "{name}: {fleet:?}"
            );
        }
        for tries in instance.client.tries() {
            tries.check_settled(instance.client.guard());
        }
        instance.client.shown().check().await;
    }
}
