//! Allocations of requests that succeed, counted on this thread.

use atomic_breaker_std::registry::ByKey;
use atomic_breaker_std::tower::BreakerLayer;
use rustc_hash::FxBuildHasher;
use tower::{Layer, Service};

use crate::services::{Answers, BARE, BY_KEY, ONE, Request, STATIC, hosts, next_request, request};

/// Of a thousand requests by each.
pub(crate) fn per_request() -> Vec<(&'static str, u64)> {
    let by_key = ByKey::new(hosts::<FxBuildHasher>().leak(), |request: &Request| {
        request.host
    });
    vec![
        (BARE, of(Answers)),
        (STATIC, of(BreakerLayer::new(&ONE).layer(Answers))),
        (BY_KEY, of(BreakerLayer::new(by_key).layer(Answers))),
    ]
}

fn of<S: Service<Request>>(mut service: S) -> u64 {
    next_request();
    let counted = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            request(&mut service);
        }
    });
    counted.count_total
}
