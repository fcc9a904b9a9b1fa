// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each part of an admin has a type that a user can write: here they are the fields of a service.

use std::sync::Arc;

use atomic_breaker_admin::{Admin, AdminError, Operator, Recorder, Timeline};
use atomic_breaker_server::{
    AdjustableBreaker, Breaker, Config, Guard, KeptRules, Registry, Resource, StdClock,
    word::NativeWord,
};
use axum::{Extension, Router};

struct Service {
    timeline: Timeline,
    hosts: Arc<Registry<String, StdClock, (), Recorder>>,
    payments: Arc<Resource<Breaker<StdClock, NativeWord, (), Recorder>>>,
    search: Arc<AdjustableBreaker<StdClock, NativeWord, (), Recorder>>,
    /// Each goes to an observer of its own.
    recorder: Recorder,
    operator: Operator,
    admin: Result<Router, AdminError>,
}

/// The parts that the service is built from, until it has its router.
struct Parts {
    admin: Admin,
}

fn service() -> Service {
    let timeline = Timeline::new();
    let hosts = Registry::builder(Config::new()).observer(timeline.recorder("hosts"));
    let hosts = Arc::new(hosts.build().unwrap());
    let payments =
        Breaker::builder(Config::new(), StdClock).observer(timeline.recorder("payments"));
    let payments = Arc::new(Resource::new(payments.build()));
    let search = Breaker::builder(Config::new(), StdClock).observer(timeline.recorder("search"));
    let search = Arc::new(search.build_adjustable(KeptRules::new()));
    let Parts { admin } = Parts {
        admin: Admin::new(&timeline)
            .registry("hosts", Arc::clone(&hosts))
            .resource("payments", Arc::clone(&payments))
            .breaker("search", Arc::clone(&search)),
    };
    let operator = Operator::new("alice");
    Service {
        recorder: timeline.recorder("hosts"),
        timeline,
        hosts,
        payments,
        search,
        admin: admin
            .router()
            .map(|it| it.layer(Extension(operator.clone()))),
        operator,
    }
}

#[test]
fn each_part_is_the_field_of_a_service() {
    let service = service();
    assert!(service.admin.is_ok());
    assert_eq!(service.operator.name(), "alice");
    assert!(service.payments.acquire().is_ok() && service.search.acquire().is_ok());
    assert!(service.hosts.of("a.example".to_owned()).acquire().is_ok());
    assert_eq!(format!("{:?}", service.recorder), "Recorder(\"hosts\")");
    assert!(format!("{:?}", service.timeline).starts_with("Timeline"));
}
