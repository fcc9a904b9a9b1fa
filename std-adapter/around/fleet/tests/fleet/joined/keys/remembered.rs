// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that are no longer followed: the ends of their outages are remembered for a while.

use atomic_breaker_fleet::{
    Ask, Finding, Fleet, FleetConfig, InProcess, InstanceId, Name, PeriodId,
};
use atomic_breaker_server::State;

use super::{Process, idle};

const ELSEWHERE: InstanceId = InstanceId::new(1);

async fn open(engine: &InProcess, name: &Name) -> PeriodId {
    let vote = Ask::Vote {
        quorum: 1,
        window_ms: 10_000,
        age_ms: 0,
        open_ms: 1_000,
        known: 0,
    };
    let opened = engine.ask(ELSEWHERE, name, vote).await.unwrap();
    opened.notice.expect("a period").id()
}

async fn close(engine: &InProcess, name: &Name, id: PeriodId) {
    let finding = Finding::Healthy;
    let closed = engine.ask(ELSEWHERE, name, Ask::Finding { id, finding });
    assert!(closed.await.unwrap().done);
}

/// As many as are remembered, and one more.
#[tokio::test(start_paused = true)]
async fn the_ends_of_the_last_4096_outages_are_remembered() {
    for (others, is_remembered) in [(4_095, true), (4_096, false)] {
        let engine = InProcess::new();
        let process = Process::with(&engine, 8_192, FleetConfig::new(1));
        idle(20).await;
        let first = Name::new("hosts/first").unwrap();
        let period = open(&engine, &first).await;
        let still_open = engine.replica();
        close(&engine, &first, period).await;
        // Forgotten with the next reading, and before the others.
        idle(12_000).await;
        assert_eq!(process.status().breakers, 0);
        for other in 0..others {
            let name = Name::new(format!("hosts/{other}")).unwrap();
            let period = open(&engine, &name).await;
            close(&engine, &name, period).await;
            if other % 1_000 == 999 {
                // Before it lags too far behind.
                idle(20).await;
            }
        }
        idle(12_000).await;
        assert_eq!(process.status().breakers, 0);
        engine.fail_over(still_open);
        idle(6_000).await;
        let is_closed = process.state("first") == State::Closed;
        assert_eq!(is_closed, is_remembered, "{others} others");
    }
}
