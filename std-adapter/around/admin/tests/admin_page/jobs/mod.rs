// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tab of durable steps.
//!
//! | file | what |
//! |---|---|
//! | `commands` | tried again and cancelled, by mouse and by keyboard |
//! | `two_stores` | jobs of the same number; answers that come late |
//! | `held_up` | jobs that a breaker rejects, or that no worker knows |
//! | `hostile` | keys and errors that would like to be more than text |
//! | `many` | ten thousand jobs |
//! | `gone` | a store that is gone |
//! | `access` | names, roles, contrast, narrow windows |

mod access;
mod commands;
mod gone;
mod held_up;
mod hostile;
mod many;
mod two_stores;

use std::ops::Deref;
use std::time::Duration;

use atomic_breaker_admin::{Admin, Operator};
use atomic_breaker_steps::{
    Change, JobId, Lane, Put, Save, Status, StepError, Steps, Store, Workflow,
};
use tokio::runtime::Runtime;

use crate::browser::Browser;
use crate::operator;
use crate::site::Page;
use test_support::faulty_store::FaultyStore;

const LEASE: Duration = Duration::from_secs(600);

fn orders() -> Workflow<String> {
    Workflow::new("order").step("invoice", "billing", async |state: String| {
        Ok::<_, StepError>(state)
    })
}

/// A site that shows jobs, without a worker.
struct Shop {
    page: Page,
    store: FaultyStore,
    runtime: Runtime,
}

impl Shop {
    fn new() -> Self {
        Self::of(Browser::start(false))
    }

    fn of(browser: Browser) -> Self {
        Self::with(browser, Operator::new("alice"), |admin, steps| {
            admin.steps("shop", steps)
        })
    }

    fn with(
        browser: Browser,
        operator: Operator,
        show: impl FnOnce(Admin, &Steps<FaultyStore>) -> Admin,
    ) -> Self {
        let runtime = Runtime::new().unwrap();
        let store = FaultyStore::default();
        let steps = runtime.block_on(async {
            Steps::builder(store.clone())
                .lane(Lane::new("billing"))
                .workflow(&orders())
                .build()
                .unwrap()
        });
        Self {
            page: Page::with(browser, operator, |admin| show(admin, &steps)),
            store,
            runtime,
        }
    }

    fn order(&self, key: &str) -> JobId {
        let job = orders().job(key, &"secret".to_owned()).unwrap();
        let put = self.runtime.block_on(self.store.jobs.put(&job, None));
        match put.unwrap() {
            Put::New(id, _) => id,
            exists @ Put::Exists(_) => panic!("{exists:?}"),
        }
    }

    /// One that ended so, by this error.
    fn ended(&self, key: &str, status: Status, error: &str) -> JobId {
        let job = orders().job(key, &"secret".to_owned()).unwrap();
        self.runtime.block_on(async {
            let put = self.store.jobs.put(&job, Some(LEASE)).await.unwrap();
            let Put::New(id, Some(right)) = put else {
                panic!("{put:?}");
            };
            let change = match status {
                Status::Parked => Change::parked(error.to_owned()),
                _ => Change::dead(error.to_owned()),
            };
            let change = change.tell(true);
            self.store
                .jobs
                .save(&[Save { right, change }])
                .await
                .unwrap();
            id
        })
    }

    /// Claimed and given back without a try, so often: by a breaker within its step, or by workers that do not know it.
    fn held_up(&self, times: usize, is_known: bool) {
        self.runtime.block_on(async {
            for _ in 0..times {
                let claimed = self.store.jobs.claim("billing", 1, LEASE).await.unwrap();
                let right = claimed.jobs[0].right;
                let change = Change::held_up(Duration::ZERO, is_known, "not admitted".to_owned());
                let saves = [Save { right, change }];
                assert!(self.store.jobs.save(&saves).await.unwrap()[0].is_held);
            }
        });
    }

    fn status(&self, id: JobId) -> Status {
        let job = self.runtime.block_on(self.store.jobs.job(id));
        job.unwrap().unwrap().status
    }

    /// The tab, with what it shows first.
    fn open(&self) {
        self.page.open();
        self.click("#tab-jobs");
        self.wait_for("$('#jobs-caption').textContent");
    }

    fn manage(&self, key: &str) {
        operator::manage(self, &row(key), "#job");
    }

    /// Gives a command, confirms it, and returns the result.
    fn command(&self, words: &str) -> String {
        self.press("#job-commands", words);
        self.confirm(words)
    }

    fn confirm(&self, words: &str) -> String {
        self.press("#job-confirm", words);
        self.wait_for("$('#job-result').textContent");
        self.text_of("#job-result")
    }
}

impl Deref for Shop {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

/// The row of a job.
fn row(key: &str) -> String {
    format!(
        "[...document.querySelectorAll('#jobs-rows tr')].find((row) => row.querySelector('.name').textContent === {})",
        serde_json::json!(key)
    )
}
