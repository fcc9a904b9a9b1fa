// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contract finds an engine that breaks any of its promises.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use atomic_breaker_fleet::contract::{self, OPEN_MS, instance};
use atomic_breaker_fleet::{
    Answer, Ask, Finding, Fleet, FleetError, InProcess, InProcessMessages, InstanceId, Message,
    Messages, Name, Notice, PeriodId, Reading,
};
use futures_util::FutureExt;
use tokio::time::Instant;

macro_rules! faults {
    ($($fault:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Fault { $($fault,)* }

        use Fault::*;

        const FAULTS: &[Fault] = &[$($fault),*];
    };
}

// In the order of the promises.
faults! {
    OneVoteLess
    EachVoteIsAnInstance
    VotesDoNotLapse
    VotesDoNotAge
    // Some instances vote on another server.
    SplitBrain
    LongVotesOnly
    VotesRenumber
    VotersKnowNothing
    ForgedEpochsAreCapped
    FailuresKeepTheEpoch
    NamesAreCutOff
    AllMayProbe
    NobodyMayAskAgain
    RightsDoNotLapse
    EndsHaveOtherMarks
    OneWitnessIsTwo
    TheSecondWitnessDecides
    WitnessesConfirmThemselves
    AnyPeriodWillDo
    LostRightsCount
    SuccessNeedsTheRight
    SuccessIsNeverLate
    UnknownIsClosed
    LeasesAreNotPublished
    EndsAreNotRead
    ReadersLiveLong
    LongRightsAreLost
}

/// An engine with a fault, around one without.
struct Faulty {
    fault: Option<Fault>,
    engine: InProcess,
    other: InProcess,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: u128,
    last: Option<PeriodId>,
    marks: HashSet<u64>,
    /// The instance that won the right to probe last, and the end of that.
    holder: Option<(InstanceId, Instant)>,
    /// The instance whose probe failed last.
    failed: Option<InstanceId>,
}

impl Faulty {
    fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            engine: InProcess::new(),
            other: InProcess::new(),
            seen: Mutex::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Changes the question.
    fn changed(&self, from: &mut InstanceId, ask: &mut Ask) {
        let mut seen = self.seen();
        seen.requests += 1;
        let fresh = instance(1_000 + seen.requests);
        match (self.fault, ask) {
            (Some(OneVoteLess), Ask::Vote { quorum, .. }) => *quorum = (*quorum - 1).max(1),
            (Some(VotesDoNotLapse), Ask::Vote { window_ms, .. }) => *window_ms = u32::MAX,
            (Some(VotesDoNotAge), Ask::Vote { age_ms, .. }) => *age_ms = 0,
            (Some(LongVotesOnly), Ask::Vote { open_ms, .. }) => *open_ms = OPEN_MS.max(*open_ms),
            (Some(VotersKnowNothing), Ask::Vote { known, .. }) => *known = 0,
            (Some(ForgedEpochsAreCapped), Ask::Vote { known, .. }) => {
                let now = seen.last.map_or(0, |id| id.epoch);
                *known = (*known).min(now + 364 * 24 * 60 * 60 * 1_000);
            }
            (Some(EachVoteIsAnInstance), Ask::Vote { .. })
            | (Some(NobodyMayAskAgain), Ask::Bid { .. }) => *from = fresh,
            (Some(AllMayProbe), Ask::Bid { .. }) => *from = instance(99),
            (Some(RightsDoNotLapse), Ask::Bid { lease_ms, .. }) => *lease_ms = u32::MAX,
            (Some(LongRightsAreLost), Ask::Bid { lease_ms, .. }) if *lease_ms > 60_000 => {
                *lease_ms = 0;
            }
            (Some(AnyPeriodWillDo), Ask::Bid { id, .. } | Ask::Finding { id, .. }) => {
                *id = seen.last.unwrap_or(*id);
            }
            (Some(TheSecondWitnessDecides), Ask::Finding { finding, .. }) => {
                if let (Finding::Failed { open_ms, .. }, true) = (finding, *from == instance(1)) {
                    *open_ms = u32::MAX;
                }
            }
            _ => {}
        }
    }

    /// Returns whether it does nothing about it.
    fn refuses(&self, from: InstanceId, ask: Ask) -> bool {
        let holder = self.seen().holder;
        let is_success = matches!(
            ask,
            Ask::Finding {
                finding: Finding::Healthy,
                ..
            }
        );
        let (Some(fault), Some((holder, until)), true) = (self.fault, holder, is_success) else {
            return false;
        };
        match fault {
            SuccessNeedsTheRight => holder != from,
            SuccessIsNeverLate => holder == from && Instant::now() >= until,
            _ => false,
        }
    }

    /// Another instance that is claimed to have found this.
    fn repeats(&self, from: InstanceId, ask: Ask, is_done: bool) -> Option<InstanceId> {
        let mut seen = self.seen();
        let before = match ask {
            Ask::Finding {
                finding: Finding::Healthy,
                ..
            } => {
                seen.failed.take();
                return None;
            }
            Ask::Finding { .. } => seen.failed.replace(from),
            _ => return None,
        };
        match self.fault? {
            OneWitnessIsTwo => Some(instance(99)),
            WitnessesConfirmThemselves => (before == Some(from)).then_some(instance(99)),
            LostRightsCount if !is_done => seen.holder.map(|(holder, _)| holder),
            _ => None,
        }
    }

    fn note(&self, from: InstanceId, ask: Ask, answer: Answer) {
        let mut seen = self.seen();
        seen.last = answer.notice.map(|notice| notice.id());
        match ask {
            Ask::Bid { lease_ms, .. } if answer.done => {
                let until = Instant::now() + Duration::from_millis(lease_ms.into());
                seen.holder = Some((from, until));
            }
            Ask::Finding { .. } if answer.done => seen.holder = None,
            _ => {}
        }
    }

    /// Changes the answer.
    fn distort(&self, ask: Ask, answer: &mut Answer) {
        let is_vote = matches!(ask, Ask::Vote { .. });
        match (self.fault, &mut answer.notice) {
            (Some(VotesRenumber), Some(Notice::Open(period))) if is_vote => {
                let is_new = self.seen().marks.insert(period.id.mark);
                period.id.epoch += u64::from(!is_new);
            }
            (Some(FailuresKeepTheEpoch), Some(Notice::Open(period))) => {
                if let Ask::Finding { id, .. } = ask {
                    period.id.epoch = id.epoch;
                }
            }
            (Some(EndsHaveOtherMarks), Some(Notice::Closed(id))) => id.mark ^= 1,
            (Some(UnknownIsClosed), notice @ None) if !is_vote => {
                *notice = Some(Notice::Closed(PeriodId { epoch: 1, mark: 1 }));
            }
            _ => {}
        }
    }
}

impl Fleet for Faulty {
    type Messages = FaultyMessages;

    async fn ask(
        &self,
        mut from: InstanceId,
        name: &Name,
        mut ask: Ask,
    ) -> Result<Answer, FleetError> {
        let is_far = self.fault == Some(SplitBrain) && from.get() >= 500;
        let engine = if is_far { &self.other } else { &self.engine };
        let bytes = name.as_bytes();
        let most = if self.fault == Some(NamesAreCutOff) {
            8
        } else {
            255
        };
        let name = Name::new(&bytes[..bytes.len().min(most)])?;
        self.changed(&mut from, &mut ask);
        if self.refuses(from, ask) {
            let id = PeriodId { epoch: 0, mark: 0 };
            return engine.ask(from, &name, Ask::Bid { id, lease_ms: 1 }).await;
        }
        let mut answer = engine.ask(from, &name, ask).await?;
        let also = self.repeats(from, ask, answer.done);
        if let (Some(other), Ask::Finding { finding, .. }) = (also, ask) {
            let id = answer.notice.unwrap().id();
            answer = engine
                .ask(other, &name, Ask::Finding { id, finding })
                .await?;
        }
        self.note(from, ask, answer);
        self.distort(ask, &mut answer);
        Ok(answer)
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        let longer = if self.fault == Some(ReadersLiveLong) {
            10
        } else {
            1
        };
        let mut reading = self.engine.read(from, every_ms * longer).await?;
        if self.fault == Some(EndsAreNotRead) {
            let is_open = |message: &Message| matches!(message.notice, Notice::Open(_));
            reading.messages.retain(is_open);
        }
        Ok(reading)
    }

    async fn subscribe(&self) -> Result<FaultyMessages, FleetError> {
        Ok(FaultyMessages {
            fault: self.fault,
            messages: self.engine.subscribe().await?,
        })
    }
}

struct FaultyMessages {
    fault: Option<Fault>,
    messages: InProcessMessages,
}

impl Messages for FaultyMessages {
    async fn next(&mut self) -> Result<Message, FleetError> {
        loop {
            let message = self.messages.next().await?;
            let is_lease = matches!(message.notice, Notice::Open(period) if period.leased_ms > 0);
            if !(is_lease && self.fault == Some(LeasesAreNotPublished)) {
                return Ok(message);
            }
        }
    }
}

/// The number of promises that were checked, and whether the last one of them was broken.
async fn checked(fault: Option<Fault>) -> (usize, bool) {
    let made = Mutex::new(0);
    let check = contract::check(async || {
        *made.lock().unwrap() += 1;
        Faulty::new(fault)
    });
    let is_broken = AssertUnwindSafe(check).catch_unwind().await.is_err();
    let made = *made.lock().unwrap();
    (made, is_broken)
}

#[tokio::test(start_paused = true)]
async fn each_promise_finds_a_fault_that_those_before_it_do_not_find() {
    assert_eq!(checked(None).await, (FAULTS.len(), false));
    for (promise, fault) in (1..).zip(FAULTS.iter().copied()) {
        assert_eq!(checked(Some(fault)).await, (promise, true), "{fault:?}");
    }
}
