// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two stores, whose jobs have the same numbers; responses that come when another job is shown.

use std::ops::Deref;
use std::time::Duration;

use atomic_breaker_admin::Operator;
use atomic_breaker_steps::{JobId, Lane, Status, Steps, Store};
use tokio::runtime::Runtime;

use super::{Shop, orders, row};
use crate::browser::Browser;
use test_support::faulty_store::{Fault, FaultyStore};

/// The first job of each store, of the same number.
const FIRST: JobId = JobId::new(1);

/// A site with two stores, of a job each.
struct Stores {
    ours: Shop,
    store: FaultyStore,
    runtime: Runtime,
}

impl Stores {
    fn open() -> Self {
        let browser = Browser::start(false);
        let (store, runtime) = (FaultyStore::default(), Runtime::new().unwrap());
        let others = runtime.block_on(async {
            let others = Steps::builder(store.clone()).lane(Lane::new("billing"));
            let others = others.workflow(&orders()).build().unwrap();
            others
                .enqueue(&orders(), "other", &String::new())
                .await
                .unwrap();
            others
        });
        let ours = Shop::with(browser, Operator::new("alice"), |admin, steps| {
            admin.steps("shop", steps).steps("others", &others)
        });
        assert_eq!(ours.order("ours"), FIRST);
        ours.open();
        ours.wait_for(&row("ours"));
        Self {
            ours,
            store,
            runtime,
        }
    }

    /// The statuses: ours, and the other one.
    fn statuses(&self) -> (Status, Status) {
        let other = self.runtime.block_on(self.store.jobs.job(FIRST));
        let other = other.unwrap().unwrap();
        assert_eq!(other.key, "other");
        (self.ours.status(FIRST), other.status)
    }
}

impl Deref for Stores {
    type Target = Shop;

    fn deref(&self) -> &Shop {
        &self.ours
    }
}

fn look_at_others(shop: &Shop) {
    shop.run("$('#jobs-of').value = 'others'; $('#jobs-of').dispatchEvent(new Event('change'));");
}

/// Until the page has had a response from there.
fn wait_for_response(shop: &Shop, path: &str) {
    shop.wait_for(&format!(
        "performance.getEntriesByType('resource').some((it) => it.name.includes({path:?}))"
    ));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn each_store_shows_its_own_jobs_and_a_command_reaches_the_job_that_is_shown() {
    let stores = Stores::open();
    stores.store.set(Some(Fault::Silence));
    look_at_others(&stores);
    let rows = "return document.querySelectorAll('#jobs-rows tr, #lanes li').length;";
    assert_eq!(stores.run(rows), 0, "nothing of the first stays");
    stores.wait_for_text("#jobs-notice", "others");
    stores.store.set(None);
    stores.manage("other");
    assert!(stores.command("Cancel job").starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Waiting, Status::Cancelled));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_late_response_about_a_job_is_not_shown_for_another() {
    let stores = Stores::open();
    // It is asked for the job and for its history.
    let slowly = Fault::Late(Duration::from_secs(2));
    stores.ours.store.set(Some(slowly));
    stores.manage("ours");
    stores.press("#job", "Close");
    look_at_others(&stores);
    stores.manage("other");
    wait_for_response(&stores, "/job?of=shop");
    assert!(stores.command("Cancel job").starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Waiting, Status::Cancelled));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_result_of_a_command_is_not_shown_for_another_job() {
    let stores = Stores::open();
    stores.manage("ours");
    let slowly = Fault::Late(Duration::from_secs(1));
    stores.ours.store.set(Some(slowly));
    stores.press("#job-commands", "Cancel job");
    stores.press("#job-confirm", "Cancel job");
    stores.press("#job", "Close");
    look_at_others(&stores);
    stores.manage("other");
    stores.press("#job-commands", "Cancel job");
    wait_for_response(&stores, "/jobs/control");
    let question = stores.text_of("#job-question");
    assert!(question.contains("other"), "it is still asked: {question}");
    assert_eq!(stores.text_of("#job-result"), "");
    assert!(stores.confirm("Cancel job").starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Cancelled, Status::Cancelled));
}
