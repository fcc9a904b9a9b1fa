// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs what happens to the keys of a registry.

use std::fmt;
use std::hash::Hash;

use atomic_breaker_server::{Clock, FailedCall, KeyedObserver, Present, Rejected, Transition};

use super::Log;
use super::event::{self, FailureSeen, Sampled};
use super::samplers::KeySamplers;
use crate::label::Mode;

impl<C: Clock> Log<C> {
    fn of_keys(&self) -> &KeySamplers {
        self.keys
            .get_or_init(|| KeySamplers::new(Sampled::Rejections))
    }

    #[cold]
    fn log_key_transition<K: Hash + fmt::Display>(
        &self,
        key: &K,
        transition: &Transition,
        last_failure: Option<&str>,
    ) {
        self.of_keys().with_known(key, |sampler| {
            event::transition(&self.name, Some(key), transition, last_failure, sampler);
        });
    }

    #[cold]
    fn log_key_rejection<K: Hash + fmt::Display>(&self, key: &K, rejected: Rejected, mode: Mode) {
        if event::wants_calls() {
            event::rejected_call(&self.name, Some(key), rejected, mode);
        }
        if event::wants_rejections() {
            let times = (self.clock.now_ms(), self.rejections_every_ms);
            self.of_keys()
                .sample(key, &self.name, times, |text, left_out| {
                    event::rejection(&self.name, Some(text), rejected, mode, left_out);
                });
        }
    }
}

impl<K: Hash + fmt::Display, C: Clock> KeyedObserver<K> for Log<C> {
    fn transition(&self, key: &K, transition: &Transition) {
        self.log_key_transition(key, transition, None);
    }

    fn opened(&self, key: &K, transition: &Transition, _: Present<'_>, last_failure: &str) {
        self.log_key_transition(key, transition, Some(last_failure));
    }

    fn rejected(&self, key: &K, rejected: Rejected) {
        self.log_key_rejection(key, rejected, Mode::Enforced);
    }

    fn would_reject(&self, key: &K, rejected: Rejected) {
        self.log_key_rejection(key, rejected, Mode::Shadow);
    }

    #[cold]
    fn failed(&self, key: &K, failed: &FailedCall<'_>) {
        let failed = FailureSeen::Call(failed);
        if event::wants_calls() {
            event::failed_call(&self.name, Some(key), &failed);
        }
        if event::wants_failures() {
            let times = (self.clock.now_ms(), self.failures_every_ms);
            let samplers = self
                .failing_keys
                .get_or_init(|| KeySamplers::new(Sampled::Failures));
            samplers.sample(key, &self.name, times, |text, left_out| {
                event::failure(&self.name, Some(text), &failed, left_out);
            });
        }
    }
}
