// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults put into the protocol on purpose: the model must find each.

use crate::{Ask, Finding};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// The engine's responses count by their epoch only, like its messages.
    AnswersAreMessages,
    /// Periods that ended are not remembered.
    EndsAreForgotten,
    /// The absence of the engine goes unnoticed.
    SilenceIsNotNoticed,
    /// A process that is restarted has another id.
    NewIdAtEachStart,
    /// A vote is as recent as its last repetition.
    VotesDoNotAge,
    /// One vote less is enough.
    OneVoteLess,
    /// A right to probe does not keep others away.
    AllMayProbe,
    /// A right to probe has no end.
    RightsDoNotLapse,
    /// A failure that one instance has found counts as confirmed.
    OneWitnessIsTwo,
    /// A successful probe is not reported.
    SuccessIsNotTold,
    /// A right to probe is kept for as long as a probe is under way, even if that hangs.
    HungProbesKeepTheRight,
    /// An instance whose probe failed bids again at once.
    WhoFailedDoesNotRest,
    /// Only a rejected call leads to a bid.
    NobodyBidsUnasked,
    /// An instance whose probe failed in a period bids unasked no more in it.
    OneTurnIsEnough,
}

impl Mutation {
    /// The changed message to the engine.
    pub(super) fn change(self, ask: &mut Ask, from: &mut u128) {
        match (self, ask) {
            (Self::VotesDoNotAge, Ask::Vote { age_ms, .. }) => *age_ms = 0,
            (Self::OneVoteLess, Ask::Vote { quorum, .. }) => *quorum -= 1,
            (Self::AllMayProbe, Ask::Bid { .. }) => *from = 99,
            (Self::RightsDoNotLapse, Ask::Bid { lease_ms, .. }) => *lease_ms = u32::MAX,
            (
                Self::SuccessIsNotTold,
                Ask::Finding {
                    id,
                    finding: Finding::Healthy,
                },
            ) => id.mark = 0,
            _ => {}
        }
    }
}
