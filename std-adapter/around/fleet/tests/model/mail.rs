// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on their way to an instance, and the fields that distinguish two worlds.

use super::key::Key;
use super::world::World;
use crate::{Answer, Ask, Notice};

#[derive(Clone, Copy)]
pub(super) enum Mail {
    Published(Notice),
    Answer(Ask, u64, Option<Answer>),
    Read(u64, Option<Notice>),
}

impl World {
    pub(super) fn key(&self, rest: &[u8]) -> u128 {
        let mut key = Key::default();
        for &number in rest {
            key.number(number.into());
        }
        let engine_ms = self.engine_ms();
        key.number(self.tick << 2 | u64::from(self.is_up) << 1 | u64::from(self.engine.is_gone));
        key.number(u64::from(self.engine.behind_ms > 0));
        self.engine.ledger.key(engine_ms, &mut key);
        if let Some(older) = &self.engine.older {
            older.key(engine_ms, &mut key);
        }
        if let Some(notice) = self.engine.published {
            notice_key(notice, &mut key);
        }
        key.number(u64::from(self.may_probe_twice));
        for (who, instance) in self.instances.iter().enumerate() {
            key.number(instance.id as u64);
            let flags = [
                instance.is_connected,
                instance.is_dead,
                instance.is_paused,
                instance.is_sick,
                instance.hangs,
                instance.is_hung,
                self.probes.1.contains(&who),
            ];
            for flag in flags {
                key.number(flag.into());
            }
            key.number(instance.word.key(self.now));
            let now_ms = self.clock(who);
            instance.member.key(now_ms, &mut key);
            for mail in &instance.inbox {
                mail.key(now_ms, &mut key);
            }
        }
        key.mark(Some(self.probes.0));
        for (who, at) in &self.trips {
            key.number(*who as u64);
            key.until(self.now, *at);
        }
        key.digest(engine_ms)
    }
}
fn notice_key(notice: Notice, key: &mut Key) {
    key.mark(Some(notice.id().mark));
    key.epoch(notice.id().epoch);
    if let Notice::Open(period) = notice {
        key.number(period.remaining_ms.into());
        key.number(period.leased_ms.into());
        key.number(period.open_ms.into());
    }
}

impl Mail {
    fn key(&self, now_ms: u64, key: &mut Key) {
        let (kind, asked_ms, notice) = match self {
            Self::Published(notice) => (0, now_ms, Some(*notice)),
            Self::Answer(ask, asked_ms, answer) => {
                let kind = match ask {
                    Ask::Vote { .. } => 2,
                    Ask::Bid { .. } => 4,
                    Ask::Finding { .. } => 6,
                };
                let done = answer.is_some_and(|answer| answer.done);
                let notice = answer.and_then(|answer| answer.notice);
                (
                    kind + u64::from(done) + 8 * u64::from(answer.is_none()),
                    *asked_ms,
                    notice,
                )
            }
            Self::Read(asked_ms, notice) => (1, *asked_ms, *notice),
        };
        key.number(kind);
        key.ago(Some(asked_ms), now_ms);
        if let Self::Answer(Ask::Bid { id, .. } | Ask::Finding { id, .. }, ..) = self {
            key.mark(Some(id.mark));
        }
        if let Some(notice) = notice {
            notice_key(notice, key);
        }
    }
}
