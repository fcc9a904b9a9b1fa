// SPDX-License-Identifier: MIT OR Apache-2.0
//! The id under which a process that was given no name votes.

use std::sync::{Arc, Mutex};

use atomic_breaker_fleet::{
    Answer, Ask, Fleet, FleetConfig, FleetError, InProcess, InProcessMessages, InstanceId, Joined,
    Name, Reading,
};

use super::keys::idle;

/// Keeps the ids that it is told.
#[derive(Clone)]
struct Listening(InProcess, Arc<Mutex<Vec<InstanceId>>>);

impl Fleet for Listening {
    type Messages = InProcessMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        self.0.ask(from, name, ask).await
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        self.1.lock().unwrap().push(from);
        self.0.read(from, every_ms).await
    }

    async fn subscribe(&self) -> Result<InProcessMessages, FleetError> {
        self.0.subscribe().await
    }
}

/// The ids of two processes on this machine.
async fn ids() -> Vec<InstanceId> {
    let engine = Listening(InProcess::new(), Arc::default());
    let first = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
    idle(20).await;
    let second = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
    idle(20).await;
    drop((first, second));
    engine.1.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn two_processes_on_one_machine_have_different_ids() {
    let ids = ids().await;
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

/// machine-id(5): it is confidential, and leaves the machine in a keyed cryptographic hash only. An id that can be
/// computed from it without a key can be inverted step by step.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn the_engine_is_not_told_an_id_that_leads_back_to_the_machine() {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let (host, installation) = (read("/proc/sys/kernel/hostname"), read("/etc/machine-id"));
    let (host, installation) = (host.trim(), installation.trim());
    for id in ids().await {
        for number in 0..1_024 {
            let unkeyed = InstanceId::named(&format!("{host}/{installation}#{number}"));
            assert_ne!(id, unkeyed, "number {number}");
        }
    }
}
