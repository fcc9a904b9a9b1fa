// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers of this project.

use std::time::Duration;

use atomic_breaker_http::{
    AtHead, Breaker, ClientConfig, ClientGuard, Config, Failure, GrpcClassifier, Hosts,
    HttpClassifier, Outcome,
};
use atomic_breaker_server::{AnyPermit, Guard as _, GuardPermit, KeyGuard, Permit, Report};

use crate::clock::{MS, Time, VirtualClock};
use crate::guard::{Guard, TRY_LIMIT};
use crate::reply::Reply;

/// The breakers of a guard of the HTTP preset, as [`ClientGuard`] builds them.
type OfGuard = Hosts<VirtualClock, u8>;

/// The breaker of one host in a [`ClientGuard`], with the classifiers of HTTP and gRPC.
#[derive(Debug)]
pub struct Preset {
    hosts: &'static OfGuard,
    is_grpc: bool,
    /// Tries that continue without their callers.
    outliving: usize,
    /// The limit of a probe.
    probe_limit: Time,
}

/// As many tries as a guard lets continue without their callers, unless set.
const OUTLIVING: usize = 32;

/// The only host.
const HOST: u8 = 0;

impl Preset {
    /// With these settings; the guard is leaked, and has room for a few hosts.
    ///
    /// # Panics
    /// If the settings are wrong.
    pub fn new(config: ClientConfig, is_grpc: bool) -> Self {
        let guard = ClientGuard::by_key(config.capacity(8), VirtualClock, ());
        let guard: &'static ClientGuard<VirtualClock, u8> =
            guard.expect("settings that fit").leak();
        Self {
            hosts: guard.hosts(),
            is_grpc,
            outliving: 0,
            probe_limit: probe_limit(config),
        }
    }
}

/// A probe ends when its answer would be slow, but not before half of a try.
fn probe_limit(config: ClientConfig) -> Time {
    let slow = config.effective_breaker_config().slow_call_ms;
    let slow = slow.map_or(TRY_LIMIT, |ms| Time::from(ms) * MS);
    slow.clamp(TRY_LIMIT / 2, TRY_LIMIT)
}

/// A try of the preset.
#[derive(Debug)]
pub struct PresetPermit {
    permit: GuardPermit<KeyGuard<&'static OfGuard>>,
    outlives: bool,
}

impl Guard for Preset {
    type Permit = PresetPermit;

    fn admit(&mut self) -> Result<PresetPermit, Option<Duration>> {
        match self.hosts.of(HOST).acquire() {
            Ok(permit) => Ok(PresetPermit {
                permit,
                outlives: false,
            }),
            Err(rejection) => Err(rejection.retry_in()),
        }
    }

    fn limit(&self, permit: &PresetPermit) -> Time {
        if permit.permit.is_probe() {
            self.probe_limit
        } else {
            TRY_LIMIT
        }
    }

    fn end(&mut self, permit: PresetPermit, reply: Reply) {
        self.outliving -= usize::from(permit.outlives);
        let result = reply.response();
        let _ = if self.is_grpc {
            AtHead(GrpcClassifier::new()).report(permit.permit, result)
        } else {
            HttpClassifier::new().report(permit.permit, result)
        };
    }

    fn leave(&mut self, mut permit: PresetPermit) -> Option<PresetPermit> {
        if self.outliving < OUTLIVING || permit.permit.is_probe() {
            self.outliving += 1;
            permit.outlives = true;
            return Some(permit);
        }
        permit.permit.cancel();
        None
    }
}

/// A breaker of the core, which knows nothing of HTTP.
#[derive(Debug)]
pub struct Core(&'static Breaker<VirtualClock>);

impl Core {
    /// With these settings; leaked.
    ///
    /// # Panics
    /// If the settings are wrong.
    pub fn new(config: Config) -> Self {
        let breaker = Breaker::try_new(config, VirtualClock);
        Self(Box::leak(Box::new(breaker.expect("settings that fit"))))
    }
}

impl Guard for Core {
    type Permit = Permit<&'static Breaker<VirtualClock>>;

    fn admit(&mut self) -> Result<Self::Permit, Option<Duration>> {
        self.0.acquire().map_err(|rejected| rejected.retry_in())
    }

    fn end(&mut self, permit: Self::Permit, reply: Reply) {
        let outcome = if reply.is_error() {
            Failure::new().into()
        } else {
            Outcome::Success
        };
        permit.report(outcome);
    }

    fn leave(&mut self, permit: Self::Permit) -> Option<Self::Permit> {
        drop(permit);
        None
    }
}
