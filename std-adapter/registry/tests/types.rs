//! Each part of this package has a type that a user can write: here they are the fields of a service.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use atomic_breaker_registry::{
    Admit, AnyPermit, ByKey, Config, Entry, InFlightByKey, KeyedObserver, KeyedPermit,
    ObservedRegistry, OnKeyTransition, Outcome, Ratio, Registry, RegistryBuilder, RegistryError,
    RegistryStats, StdClock, Transition,
};
use atomic_breaker_sliding::SlidingRatio;

struct Request {
    tenant: u32,
}

type ByTenant = ByKey<&'static Registry<u32>, fn(&Request) -> u32>;
type Notify = Box<dyn KeyedObserver<u32> + Send + Sync>;
type OnChange = OnKeyTransition<fn(&u32, &Transition)>;

struct Service {
    hosts: Registry<String>,
    shards: Arc<Registry<SocketAddr>>,
    tenants: &'static Registry<u32>,
    /// Rules with a failure ratio need a tally per key.
    ratios: Registry<u32, StdClock, SlidingRatio<StdClock, 1>>,
    observed: ObservedRegistry<u32, Notify>,
    closure: ObservedRegistry<u32, OnChange>,
    by_tenant: ByTenant,
    limited: &'static InFlightByKey<ByTenant>,
    built: Result<Registry<u32>, RegistryError>,
    /// Until all settings are known.
    builder: RegistryBuilder<u32>,
}

/// What a call in progress keeps, and a page that shows the keys.
struct Calls {
    borrowed: KeyedPermit<&'static Registry<u32>>,
    owned: KeyedPermit<Arc<Registry<SocketAddr>>>,
    limited: <&'static InFlightByKey<ByTenant> as Admit<Request>>::Permit,
    entries: Vec<Entry<u32>>,
    stats: RegistryStats,
}

static TENANTS: LazyLock<Registry<u32>> =
    LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
static LIMITED: LazyLock<InFlightByKey<ByTenant>> =
    LazyLock::new(|| InFlightByKey::new(by_tenant(), 2));

fn by_tenant() -> ByTenant {
    ByKey::new(&*TENANTS, |request: &Request| request.tenant)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "as observers are notified"
)]
fn log(key: &u32, transition: &Transition) {
    eprintln!("{key}: {transition}");
}

fn service() -> Result<Service, RegistryError> {
    let config = Config::new();
    let ratio = Ratio::percent(50).within(Duration::from_secs(10));
    let notify: Notify = Box::new(());
    Ok(Service {
        hosts: Registry::new(config)?,
        shards: Arc::new(Registry::new(config)?),
        tenants: &TENANTS,
        ratios: Registry::builder(config.failure_ratio(ratio))
            .tally(SlidingRatio::default)
            .build()?,
        observed: Registry::builder(config).observer(notify).build()?,
        closure: Registry::builder(config)
            .on_transition(log as fn(&u32, &Transition))
            .build()?,
        by_tenant: by_tenant(),
        limited: &LIMITED,
        built: Registry::new(config),
        builder: Registry::builder(config),
    })
}

#[test]
fn every_part_can_be_a_field() {
    let service = service().unwrap();
    let shard: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let calls = Calls {
        borrowed: service.by_tenant.admit(&Request { tenant: 1 }).unwrap(),
        owned: KeyedPermit::acquire(Arc::clone(&service.shards), shard).unwrap(),
        limited: service.limited.admit(&Request { tenant: 2 }).unwrap(),
        entries: service.tenants.entries().collect(),
        stats: service.tenants.stats(),
    };
    calls.borrowed.report(Outcome::Success);
    calls.owned.cancel();
    assert_eq!(service.limited.in_flight(&2), 1);
    calls.limited.report(Outcome::Success);
    assert_eq!((calls.entries.len(), calls.stats.keys), (0, 0));
    assert!(service.hosts.acquire("a.example".to_owned()).is_ok());
    assert!(service.observed.acquire(7).is_ok() && service.closure.acquire(7).is_ok());
    assert!(service.ratios.acquire(7).is_ok());
    assert_eq!(
        service.built.unwrap().capacity(),
        service.builder.build().unwrap().capacity()
    );
}
