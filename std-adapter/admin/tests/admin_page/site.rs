//! A service whose admin is on loopback.

use std::sync::Arc;

use atomic_breaker_admin::{Admin, Operator, Recorder, Timeline};
use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_std::registry::Registry;
use atomic_breaker_std::word::NativeWord;
use atomic_breaker_std::{
    AdjustableBreaker, AnyPermit, Breaker, Config, Failure, KeptRules, Outcome, Resource, StdClock,
};
use axum::{Extension, Router};
use std::time::Duration;
use tokio::runtime::Runtime;

pub(crate) struct Site {
    pub(crate) hosts: Arc<Registry<String, StdClock, (), Recorder>>,
    pub(crate) payments: Arc<Resource<AdjustableBreaker<StdClock, NativeWord, (), Recorder>>>,
    /// With a slash at its end.
    pub(crate) url: String,
    _joined: Joined,
    _runtime: Runtime,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(Operator::new("alice"), |admin| admin)
    }

    pub(crate) fn with(operator: Operator, settings: impl FnOnce(Admin) -> Admin) -> Self {
        let rules = Config::new()
            .consecutive_failures(2)
            .open_for(Duration::from_secs(3_600));
        let timeline = Timeline::new();
        let hosts = Registry::builder(rules)
            .capacity(10_000)
            .observer(timeline.of("hosts"))
            .build()
            .unwrap();
        let payments = Breaker::builder(rules, StdClock)
            .observer(timeline.of("payments"))
            .build_adjustable(KeptRules::new());
        let (hosts, payments) = (Arc::new(hosts), Arc::new(Resource::new(payments)));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let joined =
            runtime.block_on(async { Joined::new(InProcess::new(), FleetConfig::new(3)).unwrap() });
        let admin = Admin::new(&timeline)
            .title("shop <production>")
            .registry("hosts", Arc::clone(&hosts))
            .breaker("payments", Arc::clone(&payments))
            .fleet("shop", &joined);
        let admin = settings(admin).router().unwrap().layer(Extension(operator));
        let app = Router::new().nest_service("/deep/breakers", admin);
        let url = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/deep/breakers/", listener.local_addr().unwrap());
            tokio::spawn(async move { axum::serve(listener, app).await });
            url
        });
        Self {
            hosts,
            payments,
            url,
            _joined: joined,
            _runtime: runtime,
        }
    }

    pub(crate) fn fail(&self, key: &str) {
        if let Ok(permit) = self.hosts.acquire(key.to_owned()) {
            let _ = permit.report_because(Outcome::Failure(Failure::new()), || {
                "503 Service Unavailable".to_owned()
            });
        }
    }

    pub(crate) fn trip(&self, key: &str) {
        self.fail(key);
        self.fail(key);
    }
}

/// The row of a key.
pub(crate) fn row(key: &str) -> String {
    format!(
        "[...document.querySelectorAll('#rows tr')].find((row) => row.querySelector('.name').textContent === {})",
        serde_json::json!(key)
    )
}
