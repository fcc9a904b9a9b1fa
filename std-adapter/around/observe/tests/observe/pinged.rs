// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each call is counted once, by how it ended, and nothing else is: no ping that ends an outage, even if callers leave
//! meanwhile.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_observe::{Metrics, OfKeys};
use atomic_breaker_server::{
    AnyPermit, Breaker, Config, Failure, Guard, Outcome, Prober, Registry, TokioClock,
    word::NativeWord,
};
use fastrand::Rng;
use tokio::time::sleep;

use crate::support::Page;

const ENDS: [&str; 4] = ["success", "failure", "ignored", "cancelled"];
const MS: Duration = Duration::from_millis(1);

type Payments = Breaker<TokioClock, NativeWord, (), Metrics>;
type Hosts = Registry<u64, TokioClock, (), Metrics<OfKeys>>;

/// The calls that ended, in the order of `ENDS`, and those that were rejected.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    ended: [u64; 4],
    rejected: u64,
}

impl Counts {
    fn of(page: &Page, name: &str) -> Self {
        let rejections = page.get("rejections", name, &[("enforcement", "enforced")]);
        Self {
            ended: ENDS.map(|end| page.calls(name, end).unwrap()),
            rejected: rejections.unwrap(),
        }
    }

    /// Ends a call in one of the ways.
    fn end(&mut self, random: &mut Rng, is_up: bool, permit: impl AnyPermit) {
        let end = match random.u32(0..10) {
            0 => 2,
            1 => 3,
            _ => usize::from(!is_up),
        };
        match end {
            0 => drop(permit.report(Outcome::Success)),
            1 => drop(permit.report(Failure::new().into())),
            2 => drop(permit.report(Outcome::Ignored)),
            _ => drop(permit),
        }
        self.ended[end] += 1;
    }
}

/// A call whose caller leaves while it is under way, unless it is rejected: its future is dropped.
async fn leave<T>(counts: &mut Counts, call: impl Future<Output = T>) {
    match tokio::time::timeout(MS, call).await {
        Ok(_) => counts.rejected += 1,
        Err(_) => counts.ended[3] += 1,
    }
}

async fn call_one(payments: &Payments, random: &mut Rng, is_up: bool, counts: &mut Counts) {
    if random.u32(0..10) == 0 {
        let hangs = payments.call_async(async || {
            sleep(10 * MS).await;
            Ok::<_, &str>(())
        });
        leave(counts, hangs).await;
        return;
    }
    match payments.acquire() {
        Ok(permit) => counts.end(random, is_up, permit),
        Err(_) => counts.rejected += 1,
    }
}

async fn call_key(hosts: &Hosts, random: &mut Rng, is_up: bool, counts: &mut Counts) {
    let key = hosts.of(random.u64(0..5));
    if random.u32(0..10) == 0 {
        let hangs = key.call_async(async || {
            sleep(10 * MS).await;
            Ok::<_, &str>(())
        });
        leave(counts, hangs).await;
        return;
    }
    match key.acquire() {
        Ok(permit) => counts.end(random, is_up, permit),
        Err(_) => counts.rejected += 1,
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_random_rounds_are_counted_once_and_no_ping_is() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rules = Config::new()
        .consecutive_failures(2)
        .open_for(50 * MS)
        .close_after(2);
    let payments = Breaker::builder(rules, TokioClock).observer(Metrics::new("pinged"));
    let payments: Payments = payments.build();
    let hosts = Registry::builder(rules).clock(TokioClock);
    let hosts = hosts.observer(Metrics::new("pinged-keys")).build();
    let hosts: Arc<Hosts> = Arc::new(hosts.unwrap());
    let (is_up, pings) = (Cell::new(true), Cell::new(0_u64));
    let ping = || {
        pings.set(pings.get() + 1);
        is_up.get().then_some(()).ok_or("down")
    };
    let prober = || Prober::every(7 * MS);
    let (mut one, mut of_keys) = (Counts::default(), Counts::default());
    let rounds = async {
        for _ in 0..5_000 {
            if random.u32(0..40) == 0 {
                is_up.set(!is_up.get());
            }
            call_one(&payments, &mut random, is_up.get(), &mut one).await;
            call_key(&hosts, &mut random, is_up.get(), &mut of_keys).await;
            sleep(MS).await;
        }
    };
    tokio::select! {
        () = rounds => {}
        _ = payments.run_prober(prober(), async || ping()) => {}
        _ = hosts.run_prober(prober(), 3, |_, _| async { ping() }) => {}
    }
    assert!(pings.get() > 100, "{pings:?}");
    let page = Page::now();
    assert_eq!(Counts::of(&page, "pinged"), one);
    assert_eq!(Counts::of(&page, "pinged-keys"), of_keys);
}
