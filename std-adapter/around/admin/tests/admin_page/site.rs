// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service whose admin is on loopback, and a browser that looks at it.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_admin::{Admin, Operator, Recorder, Timeline};
use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{
    AdjustableBreaker, AnyPermit, Breaker, Config, Control, Failure, Guard, KeptRules, Outcome,
    Registry, Resource, State, StdClock, Transition, word::NativeWord,
};
use axum::{Extension, Router};
use tokio::runtime::Runtime;

use crate::browser::Browser;
use crate::operator;

/// A browser, and the site that it is to look at. It is the browser, too.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) site: Site,
}

impl Page {
    pub(crate) fn new() -> Self {
        let browser = Browser::start(false);
        Self::with(browser, Operator::new("alice"), |admin| admin)
    }

    /// Without another browser beside it.
    pub(crate) fn alone() -> Self {
        let browser = Browser::start(true);
        Self::with(browser, Operator::new("alice"), |admin| admin)
    }

    pub(crate) fn with(
        browser: Browser,
        operator: Operator,
        settings: impl FnOnce(Admin) -> Admin,
    ) -> Self {
        let site = Site::new(operator, settings);
        Self { browser, site }
    }

    pub(crate) fn open(&self) {
        self.browser.open(&self.site.url);
    }

    /// Opens the dialog of a key.
    pub(crate) fn manage(&self, key: &str) {
        operator::manage(self, &row(key), "#dialog");
    }

    /// Gives a command, and confirms it.
    pub(crate) fn command(&self, words: &str) {
        self.press("#commands", words);
        self.confirm(words);
    }

    /// Confirms a command, until it is done.
    pub(crate) fn confirm(&self, words: &str) {
        self.press("#confirm", words);
        self.wait_for("$('#result').textContent.startsWith('Done')");
    }

    /// Waits until the row of a key contains this text.
    pub(crate) fn wait_for_row(&self, key: &str, text: &str) -> Duration {
        let text = serde_json::json!(text);
        self.wait_for(&format!("{}?.innerText.includes({text})", row(key)))
    }
}

impl Deref for Page {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}

pub(crate) struct Site {
    pub(crate) hosts: Arc<Registry<String, StdClock, (), Recorder>>,
    pub(crate) payments: Arc<Resource<AdjustableBreaker<StdClock, NativeWord, (), Recorder>>>,
    /// With a slash at its end.
    pub(crate) url: String,
    _joined: Joined,
    _runtime: Runtime,
}

impl Site {
    fn new(operator: Operator, settings: impl FnOnce(Admin) -> Admin) -> Self {
        let rules = Config::new()
            .consecutive_failures(2)
            .open_for(Duration::from_secs(3_600));
        let timeline = Timeline::new();
        let hosts = Registry::builder(rules)
            .capacity(10_000)
            .observer(timeline.recorder("hosts"))
            .build()
            .unwrap();
        let payments = Breaker::builder(rules, StdClock)
            .observer(timeline.recorder("payments"))
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
            .resource("payments", Arc::clone(&payments))
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
        if let Ok(permit) = self.hosts.of(key.to_owned()).acquire() {
            let _ = permit.report_because(Outcome::Failure(Failure::new()), || {
                "503 Service Unavailable".to_owned()
            });
        }
    }

    pub(crate) fn trip(&self, key: &str) {
        self.fail(key);
        self.fail(key);
    }

    pub(crate) fn state(&self, key: &str) -> State {
        self.hosts.state(&key.to_owned())
    }

    /// Acts as an operator elsewhere does.
    pub(crate) fn command(&self, key: &str, command: fn(&dyn Control) -> Option<Transition>) {
        let done = self.hosts.command(&key.to_owned(), |host| command(host));
        done.unwrap();
    }
}

/// The row of a key.
pub(crate) fn row(key: &str) -> String {
    format!(
        "[...document.querySelectorAll('#rows tr')].find((row) => row.querySelector('.name').textContent === {})",
        serde_json::json!(key)
    )
}
