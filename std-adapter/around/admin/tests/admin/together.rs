// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories in virtual time of two instances whose registries are small, share a fleet and are commanded through
//! their pages: each page shows what its registry says, and keys that are well are served again everywhere.
//!
//! `BREAKER_SEED` repeats the histories of a run.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_admin::{Admin, Recorder, Timeline};
use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seats};
use atomic_breaker_server::{Clock, Config, Guard, Registry};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::App;

const KEYS: u64 = 9;
const CAPACITY: usize = 5;
const HISTORIES: u64 = 12;
const STEPS: u32 = 150;

const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(2))
    .exponential(2, Duration::from_secs(8))
    .probe_lease(Duration::from_secs(3));

/// Keys that are well are served within this time. A fleet holds a key for its open time and a grace, and takes over
/// from a prober that is lost; then each instance has its own.
const BOUND: Duration = Duration::from_secs(60);

struct Virtual(Instant);

impl Clock for Virtual {
    fn now_ms(&self) -> u32 {
        self.0.elapsed().as_millis() as u32 + 3_600_000
    }
}

type Hosts = Registry<String, Virtual, (), (Recorder, Seats<String>)>;

struct Instance {
    hosts: Arc<Hosts>,
    app: App,
    _joined: Joined,
}

impl Instance {
    fn new(engine: &InProcess, began: Instant) -> Self {
        let joined = Joined::new(engine.clone(), FleetConfig::new(2)).unwrap();
        let (timeline, seats) = (Timeline::new(), joined.seats("hosts").unwrap());
        let hosts = Registry::builder(RULES)
            .capacity(CAPACITY)
            .clock(Virtual(began))
            .observer((timeline.recorder("hosts"), seats.clone()))
            .build()
            .unwrap();
        let hosts = Arc::new(hosts);
        assert!(seats.take(Arc::clone(&hosts)));
        let admin = Admin::new(&timeline)
            .registry("hosts", Arc::clone(&hosts))
            .fleet("shop", &joined);
        Self {
            hosts,
            app: App::of(admin),
            _joined: joined,
        }
    }

    fn is_served(&self, key: &str) -> bool {
        self.hosts
            .of(key.to_owned())
            .call(|| Ok::<_, &str>(()))
            .is_ok()
    }

    async fn shown(&self) -> Vec<Value> {
        let status = self.app.get("/status?order=key").await.json();
        status["entries"].as_array().unwrap().clone()
    }

    /// The page shows each key that has a slot, once, in the state that it is in, unless the fleet has just changed it.
    async fn check(&self, history: &str) {
        let shown = self.shown().await;
        assert!(shown.len() <= CAPACITY, "{history}: {shown:?}");
        for entry in shown {
            let key = entry["key"].as_str().unwrap().to_owned();
            let now = self.hosts.entry(&key).map(|entry| entry.snapshot);
            if let Some(now) = now.filter(|now| entry["epoch"] == now.epoch()) {
                assert_eq!(entry["state"], json!(now.state()), "{history}: {entry}");
            }
        }
    }

    async fn command(&self, key: &str, command: &str, history: &str) {
        let change = match command {
            "trip for" => json!({ "of": "hosts", "key": key, "do": "trip", "for_ms": 5_000 }),
            "set-rules" => {
                json!({ "of": "hosts", "key": key, "do": command, "rules": RULES.consecutive_failures(1) })
            }
            _ => json!({ "of": "hosts", "key": key, "do": command }),
        };
        // The fleet may open another key meanwhile, and so make or take a slot.
        let is_there = || self.hosts.entry(&key.to_owned()).is_some();
        let was_there = is_there();
        let answer = self.app.change(&change).await;
        match answer.status.as_u16() {
            200 => {
                let done = answer.json();
                assert!(was_there || is_there(), "{history}: {done}");
                // The entry is of a moment later: the fleet may have changed it again by then.
                let (made, now) = (&done["transition"], &done["entry"]);
                let is_latest = made["epoch"] == now["epoch"];
                assert!(
                    !is_latest || made["to"] == now["state"],
                    "{history}: {done}"
                );
            }
            404 => assert!(!was_there || !is_there(), "{history}: {}", answer.body),
            other => panic!("{history}: {other} {}", answer.body),
        }
    }
}

const COMMANDS: [&str; 10] = [
    "trip",
    "trip for",
    "force-open",
    "release",
    "reset",
    "disable",
    "enable",
    "probe-now",
    "set-rules",
    "clear-rules",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

/// Returns how many keys lost their slots.
async fn history(random: &mut Random, history: &str) -> u64 {
    let engine = InProcess::new();
    let began = Instant::now();
    let instances = [Instance::new(&engine, began), Instance::new(&engine, began)];
    let mut held = Vec::new();
    for _ in 0..STEPS {
        let instance = &instances[random.below(2) as usize];
        let key = format!("h{}", random.below(KEYS));
        let fails = random.below(3) == 0;
        match random.below(20) {
            0..10 => {
                for _ in 0..2 {
                    let result = if fails { Err("no answer") } else { Ok(()) };
                    let _ = instance.hosts.of(key.clone()).call(|| result);
                }
            }
            10 => held.extend(instance.hosts.of(key).acquire()),
            11 if !held.is_empty() => {
                drop(held.swap_remove(random.below(held.len() as u64) as usize));
            }
            12..15 => {
                let command = COMMANDS[random.below(COMMANDS.len() as u64) as usize];
                instance.command(&key, command, history).await;
            }
            15 => match random.below(4) {
                0 => engine.flush(),
                1 => engine.cut(),
                _ => engine.mend(),
            },
            16 => instance.check(history).await,
            _ => sleep(Duration::from_millis(1 << random.below(13))).await,
        }
    }
    drop(held);
    engine.mend();
    for instance in &instances {
        for entry in instance.shown().await {
            let key = entry["key"].as_str().unwrap();
            for command in ["release", "enable", "clear-rules"] {
                instance.command(key, command, history).await;
            }
        }
    }
    recovers(&instances, history).await;
    let evicted = instances.iter().map(|it| it.hosts.stats().evicted);
    evicted.sum()
}

/// All keys are well, and called now and then.
async fn recovers(instances: &[Instance; 2], history: &str) {
    let began = Instant::now();
    loop {
        let mut rejected = Vec::new();
        for (number, instance) in instances.iter().enumerate() {
            for key in 0..KEYS {
                let key = format!("h{key}");
                if !instance.is_served(&key) {
                    rejected.push((number, key));
                }
            }
            instance.check(history).await;
        }
        if rejected.is_empty() {
            return;
        }
        assert!(began.elapsed() < BOUND, "{history}: {rejected:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn pages_fleet_and_small_registries_agree_and_recover() {
    let given = std::env::var("BREAKER_SEED").ok();
    let seed = given.map_or_else(
        || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64
        },
        |seed| seed.parse().expect("BREAKER_SEED is a number"),
    );
    let mut evicted = 0;
    for number in 0..HISTORIES {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1;
        let name = format!("BREAKER_SEED={seed}");
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
        evicted += runtime.block_on(history(&mut Random(seed), &name));
    }
    assert!(evicted > HISTORIES, "{evicted}");
}
