// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks an engine about one breaker.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::engine::{Fleet, Messages};
use crate::message::{Answer, Ask, Finding, Message, Notice, Period, PeriodId};
use crate::name::{InstanceId, Name};

/// The open time that a [`vote`] proposes.
pub const OPEN_MS: u32 = 5_000;

/// The breaker that is asked about.
pub fn name() -> Name {
    Name::new("payments").expect("a short name")
}

/// An instance.
pub const fn instance(id: u128) -> InstanceId {
    InstanceId::new(id)
}

/// A vote of an instance that has just tripped for [`OPEN_MS`].
pub const fn vote(quorum: u32) -> Ask {
    vote_of(quorum, 0, OPEN_MS, 0)
}

pub(super) const fn vote_of(quorum: u32, age_ms: u32, open_ms: u32, known: u64) -> Ask {
    Ask::Vote {
        quorum,
        window_ms: 60_000,
        age_ms,
        open_ms,
        known,
    }
}

/// A probe has failed: open for so long, and another instance should wait for 500 ms.
pub const fn failed(open_ms: u32) -> Finding {
    Finding::Failed {
        open_ms,
        pause_ms: 500,
    }
}

/// Asks, and must get an answer.
pub async fn ask(engine: &impl Fleet, from: u128, ask: Ask) -> Answer {
    let answer = engine.ask(instance(from), &name(), ask).await;
    answer.expect("the engine answers")
}

/// The period in an answer, which must have one.
pub fn opened(answer: Answer) -> Period {
    match answer.notice {
        Some(Notice::Open(period)) => period,
        _ => panic!("no period: {answer:?}"),
    }
}

/// Opens with one vote.
pub async fn open(engine: &impl Fleet) -> Period {
    let answer = ask(engine, 1, vote(1)).await;
    assert!(answer.done, "{answer:?}");
    opened(answer)
}

/// Asks for the right to probe.
pub async fn bid(engine: &impl Fleet, from: u128, id: PeriodId, lease_ms: u32) -> Answer {
    ask(engine, from, Ask::Bid { id, lease_ms }).await
}

/// Reports what a probe found.
pub async fn judge(engine: &impl Fleet, from: u128, id: PeriodId, finding: Finding) -> Answer {
    ask(engine, from, Ask::Finding { id, finding }).await
}

/// The next message, which must come within ten seconds.
pub async fn next(messages: &mut impl Messages) -> Message {
    let next = timeout(Duration::from_secs(10), messages.next()).await;
    next.expect("a message within 10 s").expect("a message")
}

pub(super) async fn pause(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}
