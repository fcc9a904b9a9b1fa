// SPDX-License-Identifier: MIT OR Apache-2.0
//! tower's hedging around a breaker, as `docs/tower.md` shows it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_tower::{Breaker, BreakerLayer, Config, Rejection, State, TokioClock};
use tokio::time::sleep;
use tower::hedge::{Hedge, Policy};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::fake::SECOND;

const MS: Duration = Duration::from_millis(1);

/// The policy of the page: a probe stays alone.
#[derive(Clone)]
struct WhileClosed(Arc<Breaker<TokioClock>>);

impl Policy<()> for WhileClosed {
    fn clone_request(&self, (): &()) -> Option<()> {
        Some(())
    }
    fn can_retry(&self, (): &()) -> bool {
        self.0.state() == State::Closed
    }
}

#[tokio::test(start_paused = true)]
async fn requests_hedged_while_closed_leave_a_probe_alone() {
    let rules = Config::new().open_for(SECOND).exponential(2, 30 * SECOND);
    let breaker = Arc::new(Breaker::new(rules, TokioClock));
    let sent = Arc::new(AtomicU32::new(0));
    // Well, and slower than usual after its restart.
    let host = service_fn({
        let sent = Arc::clone(&sent);
        move |()| {
            sent.fetch_add(1, Relaxed);
            async {
                sleep(600 * MS).await;
                Ok::<_, io::Error>(())
            }
        }
    });
    let inner = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .service(host);
    let policy = WhileClosed(Arc::clone(&breaker));
    let usual = [300; 50];
    let mut search = Hedge::new_with_mock_latencies(inner, policy, 10, 0.9, 3_600 * SECOND, &usual);
    breaker.trip();
    sleep(2 * SECOND).await;
    let first = search.ready().await.unwrap().call(()).await;
    first.expect("the probe is not rejected after it was sent");
    assert_eq!((breaker.state(), sent.load(Relaxed)), (State::Returning, 1));
    search.ready().await.unwrap().call(()).await.unwrap();
    assert_eq!(sent.load(Relaxed), 2, "not while it returns");
    sleep(2 * SECOND).await;
    search.ready().await.unwrap().call(()).await.unwrap();
    assert_eq!(sent.load(Relaxed), 4, "hedged again");
}

/// The case that the policy prevents: tower returns the first result, which is the rejection, and drops
/// the probe.
#[tokio::test(start_paused = true)]
async fn a_hedge_that_is_rejected_would_drop_the_probe() {
    #[derive(Clone)]
    struct Always;
    impl Policy<()> for Always {
        fn clone_request(&self, (): &()) -> Option<()> {
            Some(())
        }
        fn can_retry(&self, (): &()) -> bool {
            true
        }
    }
    let breaker = Arc::new(Breaker::new(Config::new(), TokioClock));
    let inner = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .service(service_fn(async |()| {
            sleep(600 * MS).await;
            Ok::<_, io::Error>(())
        }));
    let usual = [300; 50];
    let mut search = Hedge::new_with_mock_latencies(inner, Always, 10, 0.9, 3_600 * SECOND, &usual);
    breaker.trip();
    sleep(60 * SECOND).await;
    let error = search.ready().await.unwrap().call(()).await.unwrap_err();
    assert!(Rejection::in_chain(&*error).is_some());
    assert_ne!(breaker.state(), State::Closed);
}
