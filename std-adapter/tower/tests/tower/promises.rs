// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises of the types: auto traits, sizes, allocations.

use std::fmt;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use atomic_breaker_server::Resource;
use atomic_breaker_tower::{
    Breaker, BreakerLayer, BreakerService, Config, GateLayer, GateService, TimeLimitLayer,
    TimeLimitService, breaker,
};
use tower::util::Oneshot;
use tower::{Layer, Service, service_fn};

use crate::fake::Fake;

fn is_usable<T: Clone + Send + Sync + 'static>() {}

#[test]
fn layers_and_services_are_clone_send_sync_and_static() {
    is_usable::<BreakerLayer<&'static Breaker>>();
    is_usable::<BreakerService<Fake, Arc<Breaker>>>();
    is_usable::<BreakerService<Fake, &'static Resource>>();
    is_usable::<GateLayer<Arc<Resource>>>();
    is_usable::<GateService<Fake, &'static Breaker>>();
    is_usable::<GateService<Fake, Arc<Resource>>>();
    is_usable::<TimeLimitLayer>();
    is_usable::<TimeLimitService<Fake>>();
}

fn size_of_call<S: Service<u32>>(_: &S) -> usize {
    size_of::<S::Future>()
}

fn size_of_oneshot<S: Service<u32>>(_: &S) -> usize {
    size_of::<Oneshot<S, u32>>()
}

fn answer(request: u32) -> Ready<Result<u32, fmt::Error>> {
    ready(Ok(request))
}

#[test]
fn a_call_is_little_larger_than_the_call_inside() {
    static SERVER: Breaker = breaker(Config::new());
    static KEPT: Resource = Resource::new(breaker(Config::new()));
    let inner = service_fn(answer);
    let inside = size_of_oneshot(&inner);
    let by_reference = size_of_call(&BreakerLayer::new(&SERVER).layer(inner));
    let resource = size_of_call(&BreakerLayer::new(&KEPT).layer(inner));
    println!("inside {inside}, breaker {by_reference}, resource {resource} bytes");
    assert!(by_reference <= inside + 44, "{by_reference}");
    assert!(resource <= inside + 60, "{resource}");
}

#[test]
fn a_closed_call_allocates_nothing() {
    static SERVER: Resource = Resource::new(breaker(Config::new()));
    let mut guarded = BreakerLayer::new(&SERVER).layer(service_fn(answer));
    let mut gated = GateLayer::new(&SERVER).layer(service_fn(answer));
    let mut context = Context::from_waker(Waker::noop());
    let allocated = allocation_counter::measure(|| {
        for request in 0..100 {
            assert!(pin!(guarded.call(request)).poll(&mut context).is_ready());
            assert!(gated.poll_ready(&mut context).is_ready());
            assert!(pin!(gated.call(request)).poll(&mut context).is_ready());
        }
    });
    assert_eq!(allocated.count_total, 0);
}
