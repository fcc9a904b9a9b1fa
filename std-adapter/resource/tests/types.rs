//! Each part of this package has a type that a user can write: here they are the fields of a service.

use std::sync::{Arc, LazyLock};

use atomic_breaker_resource::{
    AdjustableBreaker, Admit, AnyPermit, Breaker, Config, Enforcement, InFlightLimit,
    LastFailureCell, Outcome, Rejection, Resource, ResourcePermit, ServiceError, StdClock,
    adjustable_breaker, breaker, word::NativeWord,
};

type Limited = InFlightLimit<&'static Resource>;

struct Service {
    payments: Resource,
    search: Arc<Resource>,
    adjustable: Resource<AdjustableBreaker>,
    observed: Resource<Breaker<StdClock, NativeWord, (), Arc<()>>>,
    limited: &'static Limited,
    limited_here: Arc<InFlightLimit<Arc<Resource>>>,
}

/// What a call in progress keeps.
struct Calls {
    borrowed: ResourcePermit<&'static Resource>,
    owned: ResourcePermit<Arc<Resource>>,
    limited: <&'static Limited as Admit<()>>::Permit,
    rejected: Option<Rejection>,
    result: Result<u8, ServiceError<std::io::Error>>,
}

static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
static LIMITED: Limited = InFlightLimit::new(&PAYMENTS, 2);
static LAZY: LazyLock<Resource> = LazyLock::new(|| Resource::new(breaker(Config::new())));

fn parts(service: &Service) -> (&Enforcement, &LastFailureCell) {
    (
        service.payments.enforcement(),
        service.adjustable.last_failure(),
    )
}

#[test]
fn every_part_can_be_a_field() {
    let search = Arc::new(Resource::new(breaker(Config::new())));
    let observed = Breaker::builder(Config::new(), StdClock).observer(Arc::new(()));
    let service = Service {
        payments: Resource::new(breaker(Config::new())),
        search: Arc::clone(&search),
        adjustable: Resource::new(adjustable_breaker(Config::new())),
        observed: Resource::new(observed.build()),
        limited: &LIMITED,
        limited_here: Arc::new(InFlightLimit::new(search, 2)),
    };
    let calls = Calls {
        borrowed: LAZY.acquire().unwrap(),
        owned: ResourcePermit::acquire(Arc::clone(&service.search)).unwrap(),
        limited: service.limited.admit(&()).unwrap(),
        rejected: service.observed.acquire().err(),
        result: service.search.call(|| Ok(7)),
    };
    assert_eq!(
        (
            service.limited.in_flight(),
            service.limited_here.in_flight()
        ),
        (1, 0)
    );
    calls.borrowed.report(Outcome::Success);
    calls.owned.cancel();
    calls.limited.report(Outcome::Success);
    assert_eq!((calls.rejected, calls.result.ok()), (None, Some(7)));
    let (enforcement, last_failure) = parts(&service);
    assert_eq!((enforcement.percent(), last_failure.get()), (100, None));
}
